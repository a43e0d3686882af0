//! An instant on the clock of a zone.
//!
//! `Intl` is only asked for the offset of a zone at an instant; the rest is arithmetic. If it formatted the whole
//! time, it would return an object for each part, of which only two texts are needed.
//!
//! Creating an `Intl.DateTimeFormat` costs a hundred times as much as using one, so one is cached for each zone in
//! use. It is created through `Reflect`, because the constructor throws for a zone that this browser does not know.

use std::{cell::RefCell, collections::BTreeMap};

use js_sys::{Array, Function, Intl, Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use super::{Day, Moment};

thread_local! {
    /// For each zone, the function that formats an instant with its offset; `None` for a zone that this browser does
    /// not know.
    static FORMATS: RefCell<BTreeMap<String, Option<Function>>> = RefCell::default();
    static BROWSER_ZONE: String = make("").ok().and_then(|format| zone_of(&format)).unwrap_or_else(|| "UTC".to_owned());
}

/// The wall-clock time of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wall {
    /// The date: `2026-11-21`.
    pub(crate) date: String,
    /// The time: `09:33:30`.
    pub(crate) time: String,
    /// The offset: `+01:00`, or `UTC`.
    pub(crate) offset: String,
}

impl Wall {
    /// The reading of the clock; `None` if this browser does not know the zone.
    pub(crate) fn read(at: Moment, zone: &str) -> Option<Self> {
        if zone == "UTC" {
            return Self::ahead(at, "");
        }
        Self::ahead(at, &offset(at, zone)?)
    }

    /// The wall-clock time at an offset as `Intl` writes it: `+01:00`, or an empty text for UTC.
    fn ahead(at: Moment, offset: &str) -> Option<Self> {
        const DAY: i64 = 86_400;
        let local = at.millis().div_euclid(1_000).checked_add(seconds(offset)?)?;
        let (day, second) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        Some(Self {
            date: Day::new(1970, 1, 1).plus(day).to_string(),
            time: format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60),
            offset: if offset.is_empty() { "UTC" } else { offset }.to_owned(),
        })
    }
}

impl std::fmt::Display for Wall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.date, self.time, self.offset)
    }
}

/// The zone that this browser runs in.
pub(crate) fn browser_zone() -> String {
    BROWSER_ZONE.with(String::clone)
}

/// The zone by whose clock hours are to be counted between two instants. `None` if its hours are those of UTC, as they
/// are in most zones.
pub(crate) fn zone_of_hours(zone: &str, from: Moment, until: Moment) -> Option<String> {
    let is_between = |at: Moment| offset(at, zone).is_some_and(|offset| !is_whole(&offset));
    let is_other = zone != "UTC" && (is_between(from) || is_between(until));
    is_other.then(|| zone.to_owned())
}

/// Whether an offset is a whole number of hours.
fn is_whole(offset: &str) -> bool {
    seconds(offset).is_none_or(|seconds| seconds % 3_600 == 0)
}

fn zone_of(format: &Intl::DateTimeFormat) -> Option<String> {
    Reflect::get(&format.resolved_options(), &"timeZone".into()).ok()?.as_string()
}

/// The offset of a zone at an instant: `+01:00`, or an empty text for UTC.
fn offset(at: Moment, zone: &str) -> Option<String> {
    let known = FORMATS.with_borrow(|formats| formats.get(zone).cloned());
    let format = known.unwrap_or_else(|| {
        let format = make(zone).ok().map(|format| format.format());
        FORMATS.with_borrow_mut(|formats| formats.insert(zone.to_owned(), format.clone()));
        format
    })?;
    let millis = JsValue::from_f64(at.millis() as f64);
    // `Intl` returns a text such as `11/21/2026, GMT+01:00`.
    let text = format.call1(&JsValue::UNDEFINED, &millis).ok()?.as_string()?;
    text.rsplit_once("GMT").map(|(_, offset)| offset.to_owned())
}

/// The seconds of an offset such as `+05:30`, or `-00:44:30`, which some zones had in the past.
fn seconds(offset: &str) -> Option<i64> {
    if offset.is_empty() {
        return Some(0);
    }
    let (sign, clock) = match offset.strip_prefix('+') {
        Some(clock) => (1, clock),
        // Some browsers write a hyphen, others a minus sign.
        None => (-1, offset.strip_prefix(['-', '\u{2212}'])?),
    };
    let mut units = [3_600, 60, 1].into_iter();
    let mut sum = 0;
    for part in clock.split(':') {
        sum += part.parse::<i64>().ok()? * units.next()?;
    }
    Some(sign * sum)
}

fn make(zone: &str) -> Result<Intl::DateTimeFormat, JsValue> {
    let options = Object::new();
    Reflect::set(&options, &"timeZoneName".into(), &"longOffset".into())?;
    if !zone.is_empty() {
        Reflect::set(&options, &"timeZone".into(), &zone.into())?;
    }
    let intl = Reflect::get(&js_sys::global(), &"Intl".into())?;
    let constructor: Function = Reflect::get(&intl, &"DateTimeFormat".into())?.dyn_into()?;
    let made = Reflect::construct(&constructor, &Array::of2(&"en-US".into(), &options))?;
    Ok(made.unchecked_into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(millis: i64, offset: &str) -> String {
        Wall::ahead(Moment::from_millis(millis), offset).unwrap_or_default().to_string()
    }

    #[test]
    fn a_time_is_as_far_ahead_as_its_zone() {
        let leap_day = 1_709_251_199_987;
        assert_eq!(shown(leap_day, ""), "2024-02-29 23:59:59 UTC");
        assert_eq!(shown(leap_day, "+05:30"), "2024-03-01 05:29:59 +05:30");
        assert_eq!(shown(leap_day, "-11:00"), "2024-02-29 12:59:59 -11:00");
        assert_eq!(shown(-1, "-00:44:30"), "1969-12-31 23:15:29 -00:44:30");
        let utc = Wall::read(Moment::from_millis(leap_day), "UTC");
        assert_eq!(utc, Wall::ahead(Moment::from_millis(leap_day), ""));
    }

    #[test]
    fn hours_of_most_zones_begin_with_those_of_utc() {
        assert!(["", "+01:00", "-11:00", "+13:00"].into_iter().all(is_whole));
        for between in ["+05:30", "+05:45", "-03:30", "\u{2212}09:30", "+10:30"] {
            assert!(!is_whole(between), "{between}");
        }
        let now = Moment::from_millis(0);
        assert_eq!(zone_of_hours("UTC", now, now), None);
    }

    #[test]
    fn an_offset_is_read_with_either_sign() {
        let offsets = ["", "+1", "+05:45", "-03:30", "\u{2212}03:30", "-00:44:30"];
        let known = [0, 3_600, 20_700, -12_600, -12_600, -2_670].map(Some);
        assert_eq!(offsets.map(seconds), known);
        assert_eq!(["1:00", "+", "+1:2:3:4", "+one"].map(seconds), [None; 4]);
    }
}
