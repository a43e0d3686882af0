//! The highest rates that the database can reach. They are measured beside each round, and
//! Carillon's own figures are compared with them.
//!
//! All limits write rows of the ledger, into the table `fire` of a fresh database with its indexes.
//!
//! - `postgres`: R1, one row per commit from 16 clients; RB, 500 rows per commit from 4 clients
//!   (pgbench)
//! - `sqlite`: SB, 500 rows per commit from the single writer (SQLx, as the server uses it)

mod postgres;
mod sqlite;

use std::{path::Path, time::Duration};

use anyhow::Result;
use serde::Serialize;

use crate::database::{Fresh, Kind};

/// Number of rows in a batched commit: the same as in a commit of the engine.
const BATCH: u32 = 500;

/// The limits at one point in time.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Limits {
    /// PostgreSQL: commits per second of a single row, 16 clients.
    pub(crate) r1: Option<f64>,
    /// PostgreSQL: rows per second, 500 per commit, 4 clients.
    pub(crate) rb: Option<f64>,
    /// SQLite, WAL with synchronous FULL: rows per second, 500 per commit.
    pub(crate) sb: Option<f64>,
}

impl Limits {
    /// Measures the limits of `kinds`, each for `time`.
    pub(crate) async fn measure(
        kinds: &[Kind],
        admin: Option<&str>,
        programs: Option<&Path>,
        time: Duration,
    ) -> Result<Self> {
        let mut limits = Self::default();
        for kind in kinds {
            let fresh = Fresh::create(*kind, admin, 0).await?;
            match kind {
                Kind::Postgres => {
                    limits.r1 = Some(postgres::rows(&fresh.url, programs, 16, 1, time).await?);
                    limits.rb = Some(postgres::rows(&fresh.url, programs, 4, BATCH, time).await?);
                }
                Kind::Sqlite => limits.sb = Some(sqlite::rows(&fresh.url, BATCH, time).await?),
            }
            fresh.drop().await?;
        }
        Ok(limits)
    }

    /// The mean of two measurements: the limits for the time between them.
    pub(crate) fn between(before: Self, after: Self) -> Self {
        let middle = |a: Option<f64>, b: Option<f64>| Some(f64::midpoint(a?, b?));
        Self {
            r1: middle(before.r1, after.r1),
            rb: middle(before.rb, after.rb),
            sb: middle(before.sb, after.sb),
        }
    }
}
