//! An instant, as the API sends it.

use std::fmt;

use js_sys::Date;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use wasm_bindgen::JsValue;

/// An instant: milliseconds since 1970 in UTC. RFC 3339 on the wire.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Moment(f64);

impl Moment {
    /// This browser's clock; it only serves "3 s ago", never a decision.
    pub(crate) fn now() -> Self {
        Self(Date::now())
    }

    /// Anything that the browser takes for a date and time; `None` for what it does not.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let millis = Date::parse(text);
        millis.is_finite().then_some(Self(millis))
    }

    pub(crate) fn millis(self) -> f64 {
        self.0
    }

    /// Milliseconds from `earlier` to this instant; negative when it lies before.
    pub(crate) fn since(self, earlier: Self) -> f64 {
        self.0 - earlier.0
    }

    pub(crate) fn to_rfc3339(self) -> String {
        self.date().to_iso_string().into()
    }

    pub(crate) fn date(self) -> Date {
        Date::new(&JsValue::from_f64(self.0))
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Moment;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an instant in RFC 3339")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Moment, E> {
                Moment::parse(text).ok_or_else(|| E::custom("not an instant in RFC 3339"))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_rfc3339())
    }
}
