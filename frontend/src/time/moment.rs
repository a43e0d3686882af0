//! An instant, as the API sends it.

use js_sys::Date;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use wasm_bindgen::JsValue;

/// An instant: milliseconds since 1970 in UTC. In JSON it is RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(i64);

impl Moment {
    /// The current time of this browser's clock. It is only used for texts like "3 s ago", never for a decision.
    pub(crate) fn now() -> Self {
        Self(Date::now() as i64)
    }

    /// Parses the value of a `datetime-local` field, on the browser's clock; `None` if the browser does not accept it
    /// as a time.
    pub(crate) fn parse_local(text: &str) -> Option<Self> {
        let millis = Date::parse(text);
        millis.is_finite().then_some(Self(millis as i64))
    }

    /// Parses an instant in RFC 3339.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        millis(text).map(Self)
    }

    pub(crate) fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub(crate) fn earlier(self, millis: i64) -> Self {
        Self(self.0 - millis)
    }

    pub(crate) fn millis(self) -> i64 {
        self.0
    }

    /// Milliseconds from `earlier` to this instant; negative if this instant is the earlier one.
    pub(crate) fn since(self, earlier: Self) -> i64 {
        self.0 - earlier.0
    }

    /// This instant shifted by this many milliseconds; negative values make it earlier.
    pub(crate) fn later(self, millis: i64) -> Self {
        Self(self.0 + millis)
    }

    pub(crate) fn to_rfc3339(self) -> String {
        self.date().to_iso_string().into()
    }

    pub(crate) fn date(self) -> Date {
        Date::new(&JsValue::from_f64(self.0 as f64))
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not an instant in RFC 3339"))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_rfc3339())
    }
}

/// Parses `2026-11-21T09:33:30.123456Z`, with any offset; digits below a millisecond are dropped.
fn millis(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let rest = text.get(19..)?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (fraction, zone) = rest.split_at(zone_at);
    let digits = fraction.chars().skip(1).chain("000".chars()).take(3);
    let fraction = digits.collect::<String>().parse::<i64>().ok()?;
    let offset = match zone.get(1..) {
        Some("") => 0,
        Some(ahead) => {
            let (hours, minutes) = ahead.split_once(':')?;
            let ahead = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            if zone.starts_with('-') { -ahead } else { ahead }
        }
        None => return None,
    };
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - offset;
    Some((minutes * 60 + second) * 1_000 + fraction)
}

/// Days from 1970 to a date. For the calculation, a year begins in March, so that a leap day is its last day.
pub(super) fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::millis;

    #[test]
    fn an_instant_is_read_to_the_millisecond_whatever_its_offset() {
        assert_eq!(millis("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(millis("2024-02-29T23:59:59.987654Z"), Some(1_709_251_199_987));
        assert_eq!(millis("2026-11-21T10:33:30+01:00"), millis("2026-11-21T09:33:30.000Z"));
        assert_eq!(millis("1969-12-31T19:00:00-05:00"), Some(0));
    }

    #[test]
    fn a_text_that_is_not_an_instant_is_refused() {
        for text in ["", "2026-11-21", "2026-11-21T09:33:30", "soon", "2026-11-21T09:33:30+1"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
