//! Time as users read it. The server uses instants in UTC; this module converts them to wall-clock times.
//!
//! The browser's own `Intl` converts between zones: it knows their rules, so the console stays small. Nothing here
//! decides when something fires. Only the server does, so a page never disagrees with it.
//!
//! - `day`: a calendar day, without a zone
//! - `moment`: an instant, as the API sends it
//! - `wall`: an instant on the clock of a zone
//! - `changes`: the clock changes of a zone
//! - `days`: days in words, and zones by their city
//! - `words`: durations and distances in words (pure)

mod changes;
mod day;
mod days;
mod moment;
mod wall;
mod words;

pub(crate) use changes::clock_changes;
pub(crate) use day::{Day, days_in, month_name};
pub(crate) use days::{city, day_words, local_words};
pub(crate) use moment::Moment;
pub(crate) use wall::{Wall, browser_zone, zone_of_hours};
pub(crate) use words::{amount, decimal, distance, duration, grouped, seconds};
