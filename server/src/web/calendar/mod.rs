//! Upcoming runs for calendars, and badges: whoever has a feed's address reads it, and nothing else
//! is asked.
//!
//! - `opened`: from the address to the feed
//! - `feed`: the route of calendars; `ics`: the text, as RFC 5545 has it
//! - `badge`: the routes of badges; `svg`: the picture

mod badge;
mod feed;
mod ics;
mod opened;
mod svg;

pub(super) use badge::{endpoint, picture};
pub(super) use feed::feed;
