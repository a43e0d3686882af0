use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// When a schedule should fire, as a user or a module file defines it: not yet checked.
///
/// [`Timetable::new`](crate::Timetable::new) checks it and compiles it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// One to sixteen expressions: cron with 5, 6 or 7 fields, a nickname, `@every` or `@at`, as
    /// described on the [crate's page](crate#what-may-be-written). The schedule fires at every
    /// instant that one of them contains. An instant that several of them contain is one fire.
    pub expressions: Vec<String>,
    /// The canonical IANA name of the zone on whose wall clock cron fields are read.
    pub zone: String,
    /// The policy for fixed times when the clock changes.
    pub dst: DstPolicy,
    /// Where `@every` counts from: it fires at `anchor + k * interval` for k = 1, 2, 3, ...
    pub anchor: DateTime<Utc>,
    /// The schedule does not fire before this instant (inclusive).
    pub start: Option<DateTime<Utc>>,
    /// The schedule does not fire at or after this instant (exclusive).
    pub end: Option<DateTime<Utc>>,
    /// The largest delay of [`Timetable::due_at`](crate::Timetable::due_at): zero for none, at most
    /// one day. A delay never extends beyond the next fire.
    pub jitter: Duration,
    /// The schedule's identity in bytes. It determines the value of `H` and the jitter of each
    /// fire, so both are the same on every node and after every restart.
    pub seed: [u8; 16],
}

impl Definition {
    /// A definition with these expressions in a zone, and nothing else: the default policy, no
    /// start, end or jitter, and a seed of zeros. `@every` counts from the Unix epoch.
    pub fn new(expressions: Vec<String>, zone: &str) -> Self {
        Self {
            expressions,
            zone: zone.to_owned(),
            dst: DstPolicy::default(),
            anchor: DateTime::UNIX_EPOCH,
            start: None,
            end: None,
            jitter: Duration::ZERO,
            seed: [0; 16],
        }
    }
}

/// The policy for a *fixed* time (no field of its time of day begins with `*`) on a day on which
/// the clock changes by up to three hours. Wildcard times and larger changes need no policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default)]
pub struct DstPolicy {
    /// The policy for a local time that does not exist because the clock jumped over it.
    pub gap: Gap,
    /// The policy for a local time that occurs twice because the clock went back.
    pub overlap: Overlap,
}

/// The policy for a fixed time that does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// A fixed time in a gap fires once, at the first instant after the gap.
    #[default]
    Shift,
    /// A fixed time in a gap does not fire.
    Skip,
}

/// The policy for a fixed time that occurs twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// A repeated time fires the first time only.
    #[default]
    First,
    /// A repeated time fires the second time only.
    Last,
    /// A repeated time fires both times.
    Both,
}
