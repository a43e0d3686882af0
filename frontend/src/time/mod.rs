//! Time as people read it. The server speaks instants in UTC; here they become wall clocks.
//!
//! The browser's own `Intl` does the zones: it knows their rules, and the console stays small. Nothing here decides
//! when anything fires; that is the server's calculator alone, so a page never disagrees with it.
//!
//! - `day`: a day of the calendar, without a zone
//! - `moment`: an instant, as the API sends it
//! - `wall`: an instant on the clock of a zone
//! - `changes`: when the clocks of a zone change
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
pub(crate) use days::{city, day_words};
pub(crate) use moment::Moment;
pub(crate) use wall::{Wall, browser_zone};
pub(crate) use words::{decimal, distance, duration, seconds};
