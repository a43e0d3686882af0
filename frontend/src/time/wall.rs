//! An instant on the clock of a zone.
//!
//! Creating an `Intl.DateTimeFormat` costs a hundred times as much as using one, so one is cached for each zone in
//! use. It is created through `Reflect`, because the constructor throws for a zone that this browser does not know.

use std::{cell::RefCell, collections::BTreeMap};

use js_sys::{Array, Function, Intl, Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use super::Moment;

thread_local! {
    static FORMATS: RefCell<BTreeMap<String, Option<Intl::DateTimeFormat>>> = RefCell::default();
    static BROWSER_ZONE: String = make("").ok().and_then(|format| zone_of(&format)).unwrap_or_else(|| "UTC".to_owned());
}

/// The wall-clock time of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wall {
    /// `2026-11-21`
    pub(crate) date: String,
    /// `09:33:30`
    pub(crate) time: String,
    /// `+01:00`, or `UTC`
    pub(crate) offset: String,
}

impl Wall {
    /// `None` when this browser does not know the zone.
    pub(crate) fn read(at: Moment, zone: &str) -> Option<Self> {
        FORMATS.with_borrow_mut(|formats| {
            let format =
                formats.entry(zone.to_owned()).or_insert_with(|| make(zone).ok()).as_ref()?;
            Some(assemble(&format.format_to_parts(&at.date())))
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

fn zone_of(format: &Intl::DateTimeFormat) -> Option<String> {
    Reflect::get(&format.resolved_options(), &"timeZone".into()).ok()?.as_string()
}

fn make(zone: &str) -> Result<Intl::DateTimeFormat, JsValue> {
    let options = Object::new();
    let mut wanted = vec![
        ("hourCycle", "h23"),
        ("year", "numeric"),
        ("month", "2-digit"),
        ("day", "2-digit"),
        ("hour", "2-digit"),
        ("minute", "2-digit"),
        ("second", "2-digit"),
        ("timeZoneName", "longOffset"),
    ];
    if !zone.is_empty() {
        wanted.push(("timeZone", zone));
    }
    for (name, value) in wanted {
        Reflect::set(&options, &name.into(), &value.into())?;
    }
    let intl = Reflect::get(&js_sys::global(), &"Intl".into())?;
    let constructor: Function = Reflect::get(&intl, &"DateTimeFormat".into())?.dyn_into()?;
    let made = Reflect::construct(&constructor, &Array::of2(&"en-US".into(), &options))?;
    Ok(made.unchecked_into())
}

fn assemble(parts: &Array) -> Wall {
    let mut wall = Wall::default();
    let (mut year, mut month, mut day) = (String::new(), String::new(), String::new());
    for part in parts.iter() {
        let text = |name: &str| {
            Reflect::get(&part, &name.into()).ok().and_then(|v| v.as_string()).unwrap_or_default()
        };
        let value = text("value");
        match text("type").as_str() {
            "year" => year = value,
            "month" => month = value,
            "day" => day = value,
            "hour" => wall.time = value,
            "minute" | "second" => wall.time = format!("{}:{value}", wall.time),
            "timeZoneName" => {
                let offset = value.trim_start_matches("GMT");
                wall.offset = if offset.is_empty() { "UTC".to_owned() } else { offset.to_owned() };
            }
            _ => {}
        }
    }
    wall.date = format!("{year}-{month}-{day}");
    wall
}
