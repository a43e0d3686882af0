//! Upcoming runs for calendar programs, and badges. A program needs only the address of a feed to
//! read the feed: there is no sign-in.
//!
//! - `opened`: finds the feed of an address
//! - `feed`: the route of calendars; `ics`: the text, as in RFC 5545
//! - `badge`: the routes of badges; `svg`: the image

mod badge;
mod feed;
mod ics;
mod opened;
mod svg;

pub(super) use badge::{endpoint, picture};
pub(super) use feed::feed;
