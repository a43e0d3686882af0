//! What the simulation uses of the integration tests.

#[path = "../it/support/database.rs"]
#[expect(dead_code, reason = "a simulation makes its SQLite databases itself")]
mod database;
#[path = "../it/support/postgres.rs"]
mod postgres;

pub(crate) use database::TestDatabase;
