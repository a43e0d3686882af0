//! The store, against real databases.

mod full;
mod guesses;
mod jobs;
mod lists;
mod opening;
mod schema;
mod shares;
mod upgrading;
