//! The migrations of the database schema, for both SQLite and PostgreSQL.
//!
//! This crate never refers to `entity`: a migration is frozen, but a model changes.
//! A test compares the two instead. Until the first release, a migration may still be rewritten.

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
mod m0009_secrets;
mod m0010_alerts;
mod m0011_run_stats;
mod m0012_modules;
mod m0013_calendar_feeds;
mod m0014_sealed_channels;
mod m0015_pings;
mod m0016_group_versions;
mod m0017_run_spreads;
mod m0018_fires_version;
mod m0019_calm_watchers;
mod m0020_queues_of_groups;
mod m0021_calendar_versions;
mod m0022_guesses;
mod m0023_zone_rules;
mod m0024_calendar_users;
mod m0025_search_text;
mod m0026_ended_badly_list;
mod m0027_due_in_order;
mod m0028_origins_and_quotas;
mod m0029_packed_logs;
mod m0030_made_up_fires;
mod m0031_sign_in;
mod m0032_ledger_list;
mod m0033_user_settings;
mod m0034_drained_nodes;
mod m0035_alert_receivers;
mod m0036_badges;
mod m0037_workers;
mod m0038_schedules_of_all;
mod m0039_acknowledgements;
mod m0040_history_quotas;
mod m0041_ends_of_jobs;
mod m0042_left_workflows;
mod m0043_origins_of_namespaces;
mod m0044_session_browsers;
mod m0045_one_time_passwords;
mod m0046_ends_of_pauses;
mod m0047_skipped_for_load;
mod m0048_self_paused;
mod m0049_maintenance_windows;
mod m0050_more_feeds;
mod m0051_deleted_namespaces;
mod m0052_health_budgets;
mod m0053_queue_depths;
mod m0054_declared_health;
mod m0055_long_runs;
mod m0056_purged_schedules;

/// Applies the migrations in order, and rolls them back in reverse order.
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
            Box::new(m0009_secrets::Migration),
            Box::new(m0010_alerts::Migration),
            Box::new(m0011_run_stats::Migration),
            Box::new(m0012_modules::Migration),
            Box::new(m0013_calendar_feeds::Migration),
            Box::new(m0014_sealed_channels::Migration),
            Box::new(m0015_pings::Migration),
            Box::new(m0016_group_versions::Migration),
            Box::new(m0017_run_spreads::Migration),
            Box::new(m0018_fires_version::Migration),
            Box::new(m0019_calm_watchers::Migration),
            Box::new(m0020_queues_of_groups::Migration),
            Box::new(m0021_calendar_versions::Migration),
            Box::new(m0022_guesses::Migration),
            Box::new(m0023_zone_rules::Migration),
            Box::new(m0024_calendar_users::Migration),
            Box::new(m0025_search_text::Migration),
            Box::new(m0026_ended_badly_list::Migration),
            Box::new(m0027_due_in_order::Migration),
            Box::new(m0028_origins_and_quotas::Migration),
            Box::new(m0029_packed_logs::Migration),
            Box::new(m0030_made_up_fires::Migration),
            Box::new(m0031_sign_in::Migration),
            Box::new(m0032_ledger_list::Migration),
            Box::new(m0033_user_settings::Migration),
            Box::new(m0034_drained_nodes::Migration),
            Box::new(m0035_alert_receivers::Migration),
            Box::new(m0036_badges::Migration),
            Box::new(m0037_workers::Migration),
            Box::new(m0038_schedules_of_all::Migration),
            Box::new(m0039_acknowledgements::Migration),
            Box::new(m0040_history_quotas::Migration),
            Box::new(m0041_ends_of_jobs::Migration),
            Box::new(m0042_left_workflows::Migration),
            Box::new(m0043_origins_of_namespaces::Migration),
            Box::new(m0044_session_browsers::Migration),
            Box::new(m0045_one_time_passwords::Migration),
            Box::new(m0046_ends_of_pauses::Migration),
            Box::new(m0047_skipped_for_load::Migration),
            Box::new(m0048_self_paused::Migration),
            Box::new(m0049_maintenance_windows::Migration),
            Box::new(m0050_more_feeds::Migration),
            Box::new(m0051_deleted_namespaces::Migration),
            Box::new(m0052_health_budgets::Migration),
            Box::new(m0053_queue_depths::Migration),
            Box::new(m0054_declared_health::Migration),
            Box::new(m0055_long_runs::Migration),
            Box::new(m0056_purged_schedules::Migration),
        ]
    }
}
