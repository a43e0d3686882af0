//! The parts of the integration tests' support that the simulation uses.

#[path = "../it/support/database.rs"]
#[expect(dead_code, reason = "a simulation makes its SQLite databases itself")]
mod database;
#[path = "../it/support/postgres.rs"]
mod postgres;

pub(crate) use database::TestDatabase;
