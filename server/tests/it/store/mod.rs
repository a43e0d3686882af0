//! The store, against real databases.

mod opening;
mod schema;
