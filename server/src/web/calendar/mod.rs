//! Upcoming runs for calendars, and badges. A feed's address is all that a program needs to read it:
//! nobody signs in.
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
