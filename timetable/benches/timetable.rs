//! Benchmarks of the calculator, with croner's own figures beside them in the same run.
//!
//! `cargo bench -p timetable`. Group `next` measures the next fire of a parsed expression. Group
//! `hostile` measures how long the worst known texts take, from text to next fire or to refusal.
//! The other groups measure the other queries of the console's pages and of the planner.

#![expect(missing_docs, reason = "criterion's macros make the entry points")]
#![expect(clippy::expect_used, reason = "a benchmark of what does not exist measures nothing")]

use std::{hint::black_box, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use croner::parser::CronParser;
use jiff::{Timestamp, tz::TimeZone};
use timetable::{
    Cache, Calendar, CalendarEntries, CalendarMode, Definition, TimeWindow, Timetable, Weekday,
    misfire,
};

const COMMON: [&str; 6] =
    ["* * * * *", "*/15 * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 1 * *", "*/10 * * * * *"];
const ZONES: [&str; 3] = ["UTC", "Europe/Berlin", "America/New_York"];

fn definition(expressions: &[&str], zone: &str) -> Definition {
    Definition {
        seed: [7; 16],
        ..Definition::new(expressions.iter().map(|&text| text.to_owned()).collect(), zone)
    }
}

fn timetable(expressions: &[&str], zone: &str) -> Timetable {
    Timetable::new(&definition(expressions, zone)).expect("valid")
}

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().expect("an instant")
}

fn next(c: &mut Criterion) {
    let mut group = c.benchmark_group("next");
    let after = instant("2026-06-10T12:34:56Z");
    for zone in ZONES {
        let chrono_tz: chrono_tz::Tz = zone.parse().expect("a zone");
        let with_chrono = after.with_timezone(&chrono_tz);
        let jiff = TimeZone::get(zone).expect("a zone");
        let with_jiff = Timestamp::from_second(after.timestamp()).expect("near").to_zoned(jiff);
        for expression in COMMON {
            let name = format!("{expression}, {zone}");
            let ours = timetable(&[expression], zone);
            let croner = CronParser::new().parse(expression).expect("valid");
            group.bench_function(BenchmarkId::new("timetable", &name), |b| {
                b.iter(|| ours.next(black_box(after)));
            });
            group.bench_function(BenchmarkId::new("croner on jiff", &name), |b| {
                b.iter(|| croner.find_next_occurrence(black_box(&with_jiff), false));
            });
            group.bench_function(BenchmarkId::new("croner on chrono-tz", &name), |b| {
                b.iter(|| croner.find_next_occurrence(black_box(&with_chrono), false));
            });
        }
    }
    group.finish();
}

/// Fires on the night of a clock change.
fn night(c: &mut Criterion) {
    let mut group = c.benchmark_group("next on the night of a clock change");
    let zone = "Europe/Berlin";
    let jiff = TimeZone::get(zone).expect("a zone");
    for night in ["2026-03-29T00:59:59Z", "2026-10-25T00:59:59Z"] {
        let after = instant(night);
        let start = Timestamp::from_second(after.timestamp()).expect("near").to_zoned(jiff.clone());
        for expression in ["30 2 * * *", "*/15 * * * *"] {
            let name = format!("{expression}, {night}");
            let ours = timetable(&[expression], zone);
            let croner = CronParser::new().parse(expression).expect("valid");
            group.bench_function(BenchmarkId::new("timetable", &name), |b| {
                b.iter(|| ours.next(black_box(after)));
            });
            group.bench_function(BenchmarkId::new("croner on jiff", &name), |b| {
                b.iter(|| croner.find_next_occurrence(black_box(&start), false));
            });
        }
    }
    group.finish();
}

fn parse(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
    for expression in ["30 2 * * *", "0 0 12 29 2 ? 2024/4"] {
        let asked = definition(&[expression], "Europe/Berlin");
        group.bench_function(BenchmarkId::new("timetable", expression), |b| {
            b.iter(|| Timetable::new(black_box(&asked)));
        });
        let cache = Cache::new(100);
        group.bench_function(BenchmarkId::new("timetable, cached", expression), |b| {
            b.iter(|| cache.timetable(black_box(&asked)));
        });
        let parser = CronParser::builder().sloppy_ranges(true).build();
        group.bench_function(BenchmarkId::new("croner", expression), |b| {
            b.iter(|| parser.parse(black_box(expression)));
        });
    }
    group.finish();
}

fn whole_years(c: &mut Criterion) {
    let mut group = c.benchmark_group("a year");
    let (from, until) = (instant("2026-01-01T00:00:00Z"), instant("2027-01-01T00:00:00Z"));
    for (name, expressions) in [
        ("every second", &["* * * * * *"][..]),
        ("fixed", &["0,30 2 * * *"]),
        ("a union of three", &["*/15 9-17 * * 1-5", "0 9 1 * *", "5/7 * * * *"]),
    ] {
        let ours = timetable(expressions, "Europe/Berlin");
        group.bench_function(BenchmarkId::new("count", name), |b| {
            b.iter(|| ours.count(black_box(from), black_box(until)));
        });
        group.bench_function(BenchmarkId::new("last", name), |b| {
            b.iter(|| ours.last(black_box(until), black_box(from)));
        });
        group.bench_function(BenchmarkId::new("describe", name), |b| {
            b.iter(|| ours.describe());
        });
        group.bench_function(BenchmarkId::new("lint", name), |b| {
            b.iter(|| ours.lint(black_box(from)));
        });
    }
    group.finish();
}

/// The cost of accounting for an outage of one year: goal P18.
fn outages(c: &mut Criterion) {
    let mut group = c.benchmark_group("a year of missed fires");
    let (from, now) = (instant("2026-01-01T00:00:00Z"), instant("2027-01-01T00:00:00Z"));
    let policy = misfire::Policy {
        catch_up: misfire::CatchUp::Latest,
        grace: chrono::TimeDelta::minutes(5),
        max: 100,
        spacing: chrono::TimeDelta::zero(),
        window: chrono::TimeDelta::days(1),
    };
    let calendar = |entries: CalendarEntries| {
        let calendar = Calendar::new("bench", CalendarMode::Exclude, &entries).expect("valid");
        [Arc::new(calendar)]
    };
    let seconds = timetable(&["* * * * * *"], "Europe/Berlin");
    let weekends = CalendarEntries {
        weekdays: vec![Weekday::Sat, Weekday::Sun],
        ..CalendarEntries::default()
    };
    let nights = CalendarEntries {
        windows: vec![TimeWindow {
            from: "22:00".to_owned(),
            to: "06:00".to_owned(),
            weekdays: vec![],
        }],
        ..weekends.clone()
    };
    for (name, timetable) in [
        ("every second", seconds.clone()),
        ("every second, without weekends", {
            seconds.with_calendars(calendar(weekends)).expect("one calendar")
        }),
        ("every second, without weekends and nights", {
            seconds.with_calendars(calendar(nights)).expect("one calendar")
        }),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| misfire::plan(black_box(&timetable), from, now, &policy));
        });
    }
    group.finish();
}

/// The worst known texts: rare, distant and impossible times, long texts, and many at once.
fn hostile(c: &mut Criterion) {
    let mut group = c.benchmark_group("hostile");
    let after = instant("2026-06-10T12:34:56Z");
    let long = format!("0 0 {} * *", vec!["1-31/2"; 35].join(","));
    let commas = ",".repeat(100_000);
    let wide = "59 59 23 31 12 * 4999";
    let years = "0 0 0 29 2 */7 1-4999";
    let texts: [(&str, Vec<&str>); 20] = [
        ("a leap day on a Sunday", vec!["0 0 29 2 */7"]),
        ("the far future", vec!["0 0 0 1 1 * 4999"]),
        ("the last second of all", vec![wide]),
        ("the far past", vec!["0 0 0 1 1 * 1"]),
        ("every even year", vec!["0 0 0 29 2 * */2"]),
        ("30 February", vec!["0 0 30 2 *"]),
        ("31st of short months", vec!["0 0 31 2,4,6,9,11 *"]),
        ("both days never meet", vec!["0 0 30 2 */7"]),
        ("a leap day in common years", vec!["0 0 0 29 2 * 2025-2027"]),
        ("a leap day in centuries", vec!["0 0 0 29 2 * 2100,2200,2300,2500,4900"]),
        ("256 bytes", vec![&long]),
        ("commas", vec![", * * * *"]),
        ("100,000 commas", vec![&commas]),
        ("sixteen far futures", vec![wide; 16]),
        ("sixteen wide years", vec![years; 16]),
        ("intervals and seconds", vec!["@every 1s", "@every 7s", "* * * * * *", "*/7 * * * *"]),
        ("a time that exists in no year", vec!["* 2 * 3 0#2"]),
        ("sixteen every seconds", vec!["* * * * * *"; 16]),
        ("sixteen fixed hours", vec!["0/7 0-59/7 0-23 29-31 */5 1 */3"; 16]),
        ("sixteen either days", vec!["5/7 5/7 0/5 13W,L 2/5 5#3,1L"; 16]),
    ];
    for (name, expressions) in &texts {
        for zone in ["UTC", "America/New_York"] {
            let asked = definition(expressions, zone);
            group.bench_function(BenchmarkId::new(zone, name), |b| {
                b.iter(|| Timetable::new(black_box(&asked)).map(|ours| ours.next(after)));
            });
            if let Ok(ours) = Timetable::new(&asked) {
                group.bench_function(BenchmarkId::new(format!("{zone}, lint"), name), |b| {
                    b.iter(|| ours.lint(black_box(after)));
                });
            }
        }
    }
    for zone in ["Europe/Lodnon", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"] {
        let asked = definition(&["* * * * *"], zone);
        group.bench_function(BenchmarkId::new("an unknown zone", zone), |b| {
            b.iter(|| Timetable::new(black_box(&asked)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .without_plots();
    targets = next, night, parse, whole_years, outages, hostile
}
criterion_main!(benches);
