//! A storm of cloacina's cron schedules on PostgreSQL, for `carillon-bench peers`.
//!
//! Schedules are registered as in cloacina's documentation (`register_cron_workflow`). All are due
//! at one whole second some seconds ahead and daily from then on, with a workflow of one task that
//! does nothing. The program prints two lines of JSON: its name and the due instant, as soon as all
//! schedules are registered; and the result, as soon as the last workflow is recorded as completed
//! or the limit is over. It then keeps running until its standard input ends, so that its parent
//! can still read its CPU time.
//! can still read its CPU time.

use std::{io::Read, time::Duration};

use anyhow::{Context as _, Result, ensure};
use chrono::{DateTime, SubsecRound, TimeDelta, Timelike, Utc};
use clap::Parser;
use cloacina::{
    Context, TaskError,
    runner::{DefaultRunner, DefaultRunnerConfig},
    task, workflow,
};
use serde_json::json;
use tokio_postgres::{Client, NoTls};

/// A storm of cloacina's cron schedules.
#[derive(Debug, Parser)]
struct Cli {
    /// An empty PostgreSQL database.
    #[arg(long)]
    url: String,
    /// How many schedules are due at one instant.
    #[arg(long, default_value_t = 1_000)]
    schedules: usize,
    /// How long to wait for the last schedule.
    #[arg(long, default_value_t = 120)]
    limit_seconds: u64,
    /// `max_concurrent_tasks`: cloacina's own default is 4.
    #[arg(long, default_value_t = 16)]
    tasks: usize,
    /// `db_pool_size`: cloacina's own default is 10.
    #[arg(long, default_value_t = 16)]
    connections: u32,
    /// `scheduler_poll_interval`: cloacina's own default is 100; the minimum is 10.
    #[arg(long, default_value_t = 50)]
    poll_ms: u64,
}

#[workflow(name = "nothing", description = "A workflow that does nothing")]
pub mod nothing {
    use super::*;

    #[task(id = "nothing", dependencies = [])]
    pub async fn nothing(_context: &mut Context<serde_json::Value>) -> Result<(), TaskError> {
        Ok(())
    }
}

/// Minimum time between the registration of all schedules and the storm.
const CALM: TimeDelta = TimeDelta::milliseconds(1_500);

#[tokio::main]
async fn main() -> Result<()> {
    let cli = Cli::parse();
    // Cron uses a timer for the due instant, whatever its poll interval is.
    let config = DefaultRunnerConfig::builder()
        .max_concurrent_tasks(cli.tasks)
        .db_pool_size(cli.connections)
        .scheduler_poll_interval(Duration::from_millis(cli.poll_ms))
        .cron_poll_interval(Duration::from_secs(1))
        // There are no uploaded packages to reconcile.
        .enable_registry_reconciler(false)
        .build()?;
    let runner = DefaultRunner::with_config(&cli.url, config).await?;

    let due = due_instant(Utc::now(), cli.schedules)?;
    let expression = format!("{} {} {} * * *", due.second(), due.minute(), due.hour());
    for _ in 0..cli.schedules {
        runner.register_cron_workflow("nothing", &expression, "UTC").await?;
    }
    let client = connect(&cli.url).await?;
    ensure!(
        Utc::now() + CALM < due,
        "{} schedules took too long to register: the machine is too busy",
        cli.schedules
    );
    let line =
        json!({ "name": "cloacina", "version": version()?, "due_ms": due.timestamp_millis() });
    println!("{line}");

    let limit = TimeDelta::from_std(Duration::from_secs(cli.limit_seconds))?;
    let mut recorded = recorded(&client).await?;
    while recorded.count < cli.schedules && Utc::now() < due + limit {
        tokio::time::sleep(Duration::from_millis(50)).await;
        recorded = self::recorded(&client).await?;
    }
    let done = done(&client).await?;
    let over = if recorded.count < cli.schedules { None } else { recorded.last };
    let line = json!({
        "seconds": seconds(due, over.unwrap_or(due + limit)),
        "done": done,
        "first_seconds": recorded.first.map(|first| seconds(due, first)),
    });
    println!("{line}");
    std::io::stdin().read_to_end(&mut Vec::new()).context("wait for the end of the input")?;
    // A shutdown would wait for unfinished work, which is not needed.
    std::process::exit(0);
}

/// A whole second that leaves time to register `count` schedules first.
fn due_instant(now: DateTime<Utc>, count: usize) -> Result<DateTime<Utc>> {
    // On a busy machine, cloacina registers a few hundred schedules a second.
    let registering = TimeDelta::milliseconds(i64::try_from(count)? * 8);
    Ok((now + registering + CALM * 2).trunc_subsecs(0) + TimeDelta::seconds(1))
}

async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// The workflows that are recorded as completed.
struct Recorded {
    count: usize,
    first: Option<DateTime<Utc>>,
    last: Option<DateTime<Utc>>,
}

/// Counts by the workflow's own record, whose time is before the commit that writes it. The
/// schedule's record follows up to half a second later, and is not waited for.
async fn recorded(client: &Client) -> Result<Recorded> {
    let row = client
        .query_one(
            "SELECT count(*), \
                 (extract(epoch FROM min(completed_at)) * 1000)::bigint, \
                 (extract(epoch FROM max(completed_at)) * 1000)::bigint \
             FROM workflow_executions WHERE status = 'Completed'",
            &[],
        )
        .await?;
    let at = |ms: Option<i64>| ms.and_then(DateTime::from_timestamp_millis);
    let count: i64 = row.get(0);
    Ok(Recorded { count: usize::try_from(count)?, first: at(row.get(1)), last: at(row.get(2)) })
}

/// The number of schedules whose workflow has completed: one that ran twice counts once.
async fn done(client: &Client) -> Result<i64> {
    let row = client
        .query_one(
            "SELECT count(DISTINCT s.schedule_id) FROM schedule_executions s \
             JOIN workflow_executions w ON w.id = s.workflow_execution_id \
             WHERE w.status = 'Completed'",
            &[],
        )
        .await?;
    Ok(row.get(0))
}

fn seconds(from: DateTime<Utc>, until: DateTime<Utc>) -> f64 {
    (until - from).as_seconds_f64()
}

/// The version of cloacina that this program was built with.
fn version() -> Result<&'static str> {
    include_str!("../Cargo.lock")
        .split_once("name = \"cloacina\"\nversion = \"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(version, _)| version)
        .context("find cloacina in Cargo.lock")
}
