//! Upcoming runs for calendars: whoever has a feed's address reads it, and nothing else is asked.
//!
//! - `feed`: the route
//! - `ics`: the text, as RFC 5545 has it

mod feed;
mod ics;

pub(super) use feed::feed;
