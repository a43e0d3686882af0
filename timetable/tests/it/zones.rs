//! Zones: their clocks compared with a second
//! implementation, and changes that count as corrections.

use chrono::{Offset, TimeZone};
use timetable::{Definition, DstPolicy, Fire, FireKind, Gap, Overlap, Timetable, zone_names};

use crate::support::{definition, instant, timetable};

/// The data of chrono-tz is older, so only years before its release are compared.
#[test]
fn chrono_tz_reads_the_same_clocks() {
    let (from, until) = (instant("2000-01-01T00:00:00Z"), instant("2024-01-01T00:00:00Z"));
    let mut differing = Vec::new();
    for name in zone_names() {
        let zone: chrono_tz::Tz = name.parse().expect("a name of its own list");
        let same =
            |fire: Fire| zone.offset_from_utc_datetime(&fire.at.naive_utc()).fix() == fire.offset;
        if !timetable("@every 47h", name).fires(from, until).all(same) {
            differing.push(name);
        }
    }
    assert_eq!(differing, [""; 0]);
}

/// The search ends after four hundred years, in which every case of a yearly rule occurs.
#[test]
fn a_time_that_exists_in_no_year_is_answered_with_none() {
    let from = instant("2026-01-01T00:00:00Z");
    for (expression, zone) in [
        ("* 2 * 3 0#2", "America/New_York"),
        ("*/30 2 8-14 3 */7", "America/New_York"),
        ("* 2 * 3 7L", "Europe/Berlin"),
    ] {
        assert_eq!(timetable(expression, zone).next(from), None, "{expression}");
    }
    // On every other day in March, the time exists.
    let next = timetable("* 2 * 3 0#3", "America/New_York").next(from).expect("it fires");
    assert_eq!(next.at.to_rfc3339(), "2026-03-15T06:00:00+00:00");
}

fn fires(
    expression: &str,
    zone: &str,
    dst: DstPolicy,
    from: &str,
    until: &str,
) -> Vec<(String, FireKind)> {
    let asked = Definition { dst, ..definition(expression, zone) };
    let timetable = Timetable::new(&asked).expect("valid");
    timetable
        .fires(instant(from), instant(until))
        .map(|fire| (fire.local.to_string(), fire.kind))
        .collect()
}

const POLICIES: [DstPolicy; 3] = [
    DstPolicy { gap: Gap::Shift, overlap: Overlap::First },
    DstPolicy { gap: Gap::Shift, overlap: Overlap::Last },
    DstPolicy { gap: Gap::Skip, overlap: Overlap::Both },
];

#[test]
fn a_day_that_a_zone_leaves_out_is_not_invented() {
    for dst in POLICIES {
        let fires = fires(
            "0 12 * * *",
            "Pacific/Apia",
            dst,
            "2011-12-29T00:00:00Z",
            "2011-12-31T12:00:00Z",
        );
        let expected = ["2011-12-29 12:00:00", "2011-12-31 12:00:00"]
            .map(|local| (local.to_owned(), FireKind::Normal));
        assert_eq!(fires, expected, "{dst:?}");
    }
}

#[test]
fn a_day_that_a_zone_repeats_fires_again_whatever_the_policy() {
    for dst in POLICIES {
        let fires = fires(
            "0 12 * * *",
            "America/Juneau",
            dst,
            "1867-10-17T12:00:00Z",
            "1867-10-20T00:00:00Z",
        );
        let on = |local: &str, kind| (local.to_owned(), kind);
        let expected = [
            on("1867-10-18 12:00:00", FireKind::Normal),
            on("1867-10-19 12:00:00", FireKind::FirstOfTwo),
            on("1867-10-19 12:00:00", FireKind::SecondOfTwo),
        ];
        assert_eq!(fires, expected, "{dst:?}");
    }
}
