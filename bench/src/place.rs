//! Where and how often to measure: the options that most scenarios share.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;

use crate::{
    database::{Databases, Fresh, Kind},
    limits::Limits,
};

/// Flags that most scenarios share.
#[derive(clap::Args, Debug)]
pub(crate) struct Place {
    /// Number of rounds.
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// The databases to measure.
    #[arg(long, value_enum, default_value_t = Databases::Both)]
    pub(crate) database: Databases,
    /// A PostgreSQL on this machine: a connection that may create databases.
    #[arg(long, env = "CARILLON_TEST_POSTGRES", hide_env_values = true)]
    pub(crate) postgres: Option<String>,
    /// The folder of pgbench, if it is not where Debian puts it.
    #[arg(long, env = "PG_BIN")]
    pub(crate) postgres_programs: Option<PathBuf>,
    /// Number of seconds for which each limit is measured each time; 0 measures none.
    #[arg(long, default_value_t = 5)]
    pub(crate) limit_seconds: u64,
    /// Partition PostgreSQL's ledger as after this many days of use.
    #[arg(long, default_value_t = 45, value_name = "DAYS")]
    pub(crate) history: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Place {
    /// A fresh database.
    pub(crate) async fn fresh(&self, kind: Kind) -> Result<Fresh> {
        Fresh::create(kind, self.postgres.as_deref(), self.history).await
    }

    /// The best that the database can do at the moment.
    pub(crate) async fn limits(&self, kind: Kind) -> Result<Limits> {
        if self.limit_seconds == 0 {
            return Ok(Limits::default());
        }
        let time = Duration::from_secs(self.limit_seconds);
        let programs = self.postgres_programs.as_deref();
        Limits::measure(&[kind], self.postgres.as_deref(), programs, time).await
    }
}
