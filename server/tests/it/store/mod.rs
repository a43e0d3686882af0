//! The store, against real databases.

mod full;
mod opening;
mod schema;
mod upgrading;
