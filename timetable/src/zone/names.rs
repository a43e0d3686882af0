use std::sync::OnceLock;

use chrono_tz::TZ_VARIANTS;

use crate::error::{Fault, cut};

/// The longest typed text that is compared with the known names, in bytes.
const LONGEST: usize = 40;

/// Maximum number of wrong letters in a name for which a suggestion is made.
const SLIPS: usize = 2;

/// The canonical IANA names that a zone may have, in alphabetical order.
pub fn zone_names() -> impl Iterator<Item = &'static str> {
    TZ_VARIANTS.iter().map(|zone| zone.name())
}

/// The exact canonical name, or an error that suggests the name that was probably intended.
///
/// Only exact names are accepted. `localtime` would mean another zone on every node.
/// A file's path or a POSIX rule may not be the zone that its author believes it to be.
/// A second spelling of a name would make equal schedules look different.
pub(super) fn canonical(name: &str) -> Result<&'static str, Fault> {
    if let Ok(zone) = name.parse::<chrono_tz::Tz>() {
        return Ok(zone.name());
    }
    if name.is_empty() {
        return Err(Fault::new(
            "no zone is named",
            "name an IANA zone, such as Europe/Berlin or UTC",
        ));
    }
    let help = match meant(name) {
        Some(known) => format!("did you mean {known}?"),
        None => "name an IANA zone by a city, such as Europe/Berlin, or UTC".to_owned(),
    };
    Err(Fault::new(format!("there is no zone named {:?}", cut(name)), help))
}

/// The known name that is closest to the typed text.
fn meant(name: &str) -> Option<&'static str> {
    let name = name.trim();
    if !name.is_ascii() || !(3..=LONGEST).contains(&name.len()) {
        return None;
    }
    let typed = name.to_ascii_lowercase().replace([' ', '-'], "_");
    let known = folded();
    // First look for the same letters, then for the city alone, then for one or two typing errors.
    let same = || known.iter().find(|(folded, _)| *folded == typed);
    let city = || known.iter().find(|(folded, _)| folded.rsplit('/').next() == Some(&typed));
    let near = || {
        known
            .iter()
            .filter(|(folded, _)| folded.len().abs_diff(typed.len()) <= SLIPS)
            .map(|known| (distance(known.0.as_bytes(), typed.as_bytes()), known))
            .filter(|(distance, _)| *distance <= SLIPS)
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, known)| known)
    };
    same().or_else(city).or_else(near).map(|(_, name)| *name)
}

/// All names in lower case with one kind of separator, each with its original spelling.
fn folded() -> &'static [(String, &'static str)] {
    static FOLDED: OnceLock<Vec<(String, &'static str)>> = OnceLock::new();
    FOLDED.get_or_init(|| {
        zone_names().map(|name| (name.to_ascii_lowercase().replace('-', "_"), name)).collect()
    })
}

/// The edit distance between two words: the number of letters added, removed or replaced.
fn distance(a: &[u8], b: &[u8]) -> usize {
    // No word that is compared is longer than `LONGEST`.
    let mut row = [0_usize; LONGEST + 1];
    row.iter_mut().enumerate().for_each(|(length, cell)| *cell = length);
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_gets_a_suggestion() {
        for (typed, known) in [
            ("europe/london", "Europe/London"),
            ("Berlin", "Europe/Berlin"),
            ("New York", "America/New_York"),
            ("America/New York", "America/New_York"),
            ("Antarctica/Trol", "Antarctica/Troll"),
            ("Europe/Lodnon", "Europe/London"),
            ("utc", "UTC"),
        ] {
            let fault = canonical(typed).expect_err(typed);
            assert_eq!(fault.help, format!("did you mean {known}?"), "{typed}");
        }
    }

    #[test]
    fn what_is_no_canonical_name_is_refused() {
        for typed in [
            "",
            " ",
            "localtime",
            "Local",
            "posixrules",
            "Factory!",
            "PST8PDT,M3.2.0,M11.1.0",
            "EST5EDT4",
            "+02:00",
            "UTC+2",
            "../UTC",
            "/usr/share/zoneinfo/UTC",
            "posix/UTC",
            "right/UTC",
            "Europe/London\n",
            "Europe/London ",
            "Europe/",
            "Ünïted/Kingdom",
        ] {
            assert!(canonical(typed).is_err(), "{typed:?}");
        }
    }

    #[test]
    fn names_are_in_alphabetical_order() {
        assert!(zone_names().is_sorted());
    }

    #[test]
    fn every_name_has_rules() {
        for name in zone_names() {
            assert!(crate::zone::Zone::named(name).is_ok(), "{name}");
        }
    }
}
