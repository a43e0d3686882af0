//! Computes when a schedule fires. No other code in Carillon computes fire times.
//!
//! The scheduler, API, console, CLI and tests all use this crate, so a preview never disagrees with
//! reality, even on nights when the clocks change.
//! The crate is pure: the same definition and the same arguments get the same answer on every node.
//! It reads no clock, and uses no database and no async.
//! Its only input from outside is the rules of time zones, read once at first use ([`zone_data`]).
//!
//! ```
//! use chrono::{DateTime, Utc};
//! use timetable::{Definition, DstPolicy, FireKind, Timetable};
//!
//! let timetable = Timetable::new(&Definition {
//!     expressions: vec!["30 2 * * *".to_owned()],
//!     zone: "America/New_York".to_owned(),
//!     dst: DstPolicy::default(),
//!     anchor: DateTime::UNIX_EPOCH,
//!     start: None,
//!     end: None,
//!     jitter: std::time::Duration::ZERO,
//!     seed: [0; 16],
//! })?;
//! // The clocks go from 02:00 to 03:00 that night: 02:30 does not exist.
//! let after: DateTime<Utc> = "2026-03-08T06:00:00Z".parse().expect("an instant");
//! let fire = timetable.next(after).expect("it fires every day");
//! assert_eq!(fire.at.to_rfc3339(), "2026-03-08T07:00:00+00:00");
//! assert_eq!(fire.local.to_string(), "2026-03-08 03:00:00");
//! assert_eq!(fire.kind, FireKind::Shifted);
//! # Ok::<(), timetable::TimingError>(())
//! ```
//!
//! # The rule
//!
//! 1. Cron fields are read on the wall clock of the definition's zone. A **fixed** expression is
//!    one whose second, minute and hour do not begin with `*`; any other is a **wildcard**.
//! 2. If the clock jumps forward by less than three hours, a fixed time that does not exist fires
//!    once, at the first instant after the gap ([`Gap::Skip`] turns this off). The date of the
//!    missing time decides whether the day matches. Wildcard times that do not exist do not fire.
//! 3. If the clock goes back by up to three hours, a fixed time fires the first time ([`Overlap`]
//!    can select the last time or both); a wildcard time fires both times.
//! 4. A larger change is a correction: skipped times are not
//!    made up for, and repeated times fire again.
//! 5. `@every` counts elapsed time and `@at` names an absolute instant: both ignore zones.
//! 6. An instant that several expressions contain is one fire. Fires are strictly increasing.
//! 7. Calendars are read on the wall clock of the zone at the instant of a fire.
//!    A suppressed fire is still listed: it is marked, and it does not run.
//!
//! # What may be written
//!
//! An expression is at most 256 bytes of ASCII: words separated by spaces or tabs.
//!
//! | form | meaning |
//! |---|---|
//! | `30 2 * * 1-5` | minute, hour, day of month, month, day of week (0 and 7 are Sunday) |
//! | `15 30 2 * * *` | a second in front |
//! | `15 30 2 * * * 2027` | and a year at the end, 1 to 4999 |
//! | `*`, `1,15`, `9-17`, `*/10`, `0-30/10`, `5/15` | every value, list, range, steps; `x/n` goes to the end of the field; `*/n` of the year counts from 1970 |
//! | `JAN`..`DEC`, `SUN`..`SAT` | whole values of month and day of week, in any case |
//! | `?` | `*`, in the day fields |
//! | `L`, `L-3`, `LW`, `15W` | last day, three days before it (`L-1` to `L-27`), last working day (Monday to Friday), working day nearest to the 15th |
//! | `5L`, `5#3` | last Friday, third Friday of the month |
//! | `13 * 5` | both day fields: either may match; if one begins with `*`, or day of week with `+` (`13 * +5`), both must match |
//! | `H`, `H/15`, `H(0-29)`, `H(0-29)/10` | a value chosen by the seed and the field, always the same for both: one of the field (days to 28), a start for steps, one of a range, both |
//! | `@yearly @annually @monthly @weekly @daily @midnight @hourly` | nicknames, in any case |
//! | `@manually` | never on its own, only when triggered; cannot be combined with other expressions |
//! | `@every 1h30m` | an interval ([`duration`]): whole seconds from 1s to 36525d, counted from the anchor |
//! | `@at 1800000000`, `@at 2027-01-15T08:00:00Z` | one instant: unix seconds or RFC 3339, to the millisecond |
//!
//! # The modules
//!
//! In the order from the text to the answer:
//!
//! - `expression`: the strict grammar and its errors.
//! - `pattern`: cron expressions compiled, through croner, into sets of matching civil times.
//! - `zone`: names, rules, and the spans during which a clock runs straight.
//! - `lane`: a pattern on a zone's clock. It applies the rule above.
//! - `source`, `fires`, `count`: unions of expressions of all kinds.
//! - `calendars`, `pieces`: the fires that calendars suppress, as whole intervals.
//! - `describe`, `lint`: descriptions and warnings for people.
//! - `dialect`: translates expressions of Quartz and EventBridge.
//! - `cache`: a cache of compiled patterns.

mod cache;
mod calendar;
mod calendars;
mod count;
mod definition;
mod describe;
mod dialect;
mod error;
mod expression;
mod fire;
mod fires;
mod hash;
mod jitter;
mod lane;
mod lint;
mod pattern;
mod pieces;
mod source;
mod timetable;
mod wall;
mod zone;

pub mod duration;
pub mod misfire;
pub mod overlap;
pub mod retry;
pub mod taken;

pub use cache::Cache;
pub use calendars::{
    Calendar, CalendarEntries, CalendarMode, DateRange, MAX_CALENDARS, TimeWindow, Weekday,
};
pub use definition::{Definition, DstPolicy, Gap, Overlap};
pub use dialect::{Dialect, DialectError};
pub use error::TimingError;
pub use fire::{Fire, FireKind};
pub use fires::Fires;
pub use lint::{ClockChange, Warning, WarningCode};
pub use pieces::{Piece, Pieces};
pub use timetable::Timetable;
pub use wall::{clock_hour, first_instant, wall_clock};
pub use zone::{
    ZoneData, ZoneDataError, ZoneSource, is_later_release, use_zone_data, zone_data, zone_names,
};
