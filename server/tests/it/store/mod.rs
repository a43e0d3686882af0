//! The store, against real databases.

mod full;
mod guesses;
mod opening;
mod schema;
mod upgrading;
