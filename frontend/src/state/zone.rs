//! The clock on which times are shown. The browser stores the choice.

use leptos::prelude::*;

use super::memory;
use crate::time;

const KEY: &str = "carillon.zone";

/// The choice of the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ZoneChoice {
    Utc,
    /// Each schedule's own zone; UTC for times without a schedule.
    Schedule,
    /// The browser's zone.
    Mine,
    /// Another zone, by name.
    Named(String),
}

impl ZoneChoice {
    fn name(&self) -> &str {
        match self {
            Self::Utc => "utc",
            Self::Schedule => "schedule",
            Self::Mine => "mine",
            Self::Named(zone) => zone,
        }
    }

    fn of(name: &str) -> Self {
        match name {
            "utc" => Self::Utc,
            "schedule" => Self::Schedule,
            "mine" => Self::Mine,
            zone => Self::Named(zone.to_owned()),
        }
    }

    /// The IANA zone in which to show a time of a schedule whose zone is `schedule`.
    pub(crate) fn zone(&self, schedule: Option<&str>) -> String {
        match self {
            Self::Utc => "UTC".to_owned(),
            Self::Schedule => schedule.unwrap_or("UTC").to_owned(),
            Self::Mine => time::browser_zone(),
            Self::Named(zone) => zone.clone(),
        }
    }
}

/// The choice of the clock, to read and to set.
#[derive(Clone, Copy)]
pub(crate) struct Zone(RwSignal<ZoneChoice>);

impl Zone {
    pub(crate) fn get(self) -> ZoneChoice {
        self.0.get()
    }

    pub(crate) fn choose(self, choice: ZoneChoice) {
        memory::remember(KEY, choice.name());
        self.0.set(choice);
    }
}

pub(super) fn provide() {
    let remembered = memory::recall(KEY);
    let choice = remembered.map_or(ZoneChoice::Schedule, |name| ZoneChoice::of(&name));
    provide_context(Zone(RwSignal::new(choice)));
}

pub(crate) fn use_zone() -> Zone {
    expect_context()
}
