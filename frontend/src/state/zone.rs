//! Whose clock times are shown on. Remembered.

use leptos::prelude::*;

use super::memory;
use crate::time;

const KEY: &str = "carillon.zone";

/// The zone switcher's three positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneChoice {
    Utc,
    /// Each schedule's own zone; UTC where there is no schedule.
    Schedule,
    /// The browser's.
    Mine,
}

impl ZoneChoice {
    pub(crate) const ALL: [Self; 3] = [Self::Utc, Self::Schedule, Self::Mine];

    fn name(self) -> &'static str {
        match self {
            Self::Utc => "utc",
            Self::Schedule => "schedule",
            Self::Mine => "mine",
        }
    }

    /// The IANA zone that this choice means for a time of a schedule in `schedule`.
    pub(crate) fn zone(self, schedule: Option<&str>) -> String {
        match self {
            Self::Utc => "UTC".to_owned(),
            Self::Schedule => schedule.unwrap_or("UTC").to_owned(),
            Self::Mine => time::browser_zone(),
        }
    }
}

/// The choice, to read and to set.
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
    let choice = ZoneChoice::ALL.into_iter().find(|c| remembered.as_deref() == Some(c.name()));
    provide_context(Zone(RwSignal::new(choice.unwrap_or(ZoneChoice::Schedule))));
}

pub(crate) fn use_zone() -> Zone {
    expect_context()
}
