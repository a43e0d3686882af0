//! The schema's history, the same on SQLite and PostgreSQL.
//!
//! Never names `entity`: a migration is frozen, a model is not. A test compares the two instead.
//! Until the first release a migration may still be rewritten.

use sea_orm_migration::prelude::MigrationTrait;
pub use sea_orm_migration::{MigratorTrait, SchemaManager};

mod m0001_people;
mod m0002_schedules;
mod m0003_ledger;
mod m0004_nodes;
mod m0005_control_plane;
mod m0006_groups;
mod m0007_calendars;
mod m0008_backfills;

/// Applies and rolls back what follows, in order.
pub struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m0001_people::Migration),
            Box::new(m0002_schedules::Migration),
            Box::new(m0003_ledger::Migration),
            Box::new(m0004_nodes::Migration),
            Box::new(m0005_control_plane::Migration),
            Box::new(m0006_groups::Migration),
            Box::new(m0007_calendars::Migration),
            Box::new(m0008_backfills::Migration),
        ]
    }
}
