//! A namespace's quotas and their usage.

use clap::Args;
use serde_json::json;

use crate::{
    cli::{CliError, offline::Office, output, why::Why},
    commands::{Call, CommandError},
    model::OwnQuotas,
    store::namespaces,
};

/// The quotas to set.
#[derive(Debug, Args)]
pub(super) struct Given {
    /// Maximum number of schedules; 0 is no limit
    #[arg(long, value_name = "COUNT")]
    schedules: Option<i64>,
    /// Maximum number of fires a minute; 0 is no limit
    #[arg(long, value_name = "COUNT")]
    fires_a_minute: Option<i64>,
    /// Maximum number of runs in progress at once; 0 is no limit
    #[arg(long, value_name = "COUNT")]
    live_runs: Option<i64>,
    /// Maximum bytes of log lines a day; 0 is no limit
    #[arg(long, value_name = "BYTES")]
    log_bytes_a_day: Option<i64>,
    /// Maximum bytes of log lines of one run; 0 is no limit
    #[arg(long, value_name = "BYTES")]
    log_bytes_a_run: Option<i64>,
    /// Maximum bytes of log lines that are kept; 0 is no limit
    #[arg(long, value_name = "BYTES")]
    log_bytes: Option<i64>,
    /// Maximum number of fires, runs and attempts that are kept; 0 is no limit
    #[arg(long, value_name = "COUNT")]
    history_rows: Option<i64>,
}

impl From<Given> for OwnQuotas {
    fn from(given: Given) -> Self {
        let Given {
            schedules,
            fires_a_minute,
            live_runs,
            log_bytes_a_day,
            log_bytes_a_run,
            log_bytes,
            history_rows,
        } = given;
        Self {
            schedules,
            fires_a_minute,
            live_runs,
            log_bytes_a_day,
            log_bytes_a_run,
            log_bytes,
            history_rows,
        }
    }
}

/// Shows the quotas of a namespace, after setting the given ones. With `reset`, all other quotas
/// are discarded.
pub(super) async fn show_or_set(
    office: &Office,
    name: &str,
    given: OwnQuotas,
    reset: bool,
    why: Why,
    as_json: bool,
) -> Result<(), CliError> {
    let commands = office.commands()?;
    let found = namespaces::by_name(office.store.read(), name).await?;
    let row = found.ok_or_else(|| CommandError::not_found("namespace", name))?;
    if reset || given != OwnQuotas::default() {
        let owner = why.local_operator().owner()?;
        let before =
            if reset { OwnQuotas::default() } else { OwnQuotas::of_column(row.quotas.as_ref()) };
        let own = given.or(before);
        commands.set_quotas(&owner, name, own, None, &Call::once()).await?;
    }
    let used = commands.used_quotas(row.id, name).await?;
    let fires = (used.usage.fires_an_hour + 59).div_euclid(60);
    // Two quotas show no usage: only running servers count the log bytes of a day, and those of a
    // run are counted for each run.
    let lines = [
        ("schedules", Some(used.usage.schedules), used.limits.schedules, used.own.schedules),
        ("fires a minute", Some(fires), used.limits.fires_a_minute, used.own.fires_a_minute),
        ("live runs", Some(used.live_runs), used.limits.live_runs, used.own.live_runs),
        ("log bytes a day", None, used.limits.log_bytes_a_day, used.own.log_bytes_a_day),
        ("log bytes a run", None, used.limits.log_bytes_a_run, used.own.log_bytes_a_run),
        ("log bytes", Some(used.history.log_bytes), used.limits.log_bytes, used.own.log_bytes),
        (
            "history rows",
            Some(used.history.row_count),
            used.limits.history_rows,
            used.own.history_rows,
        ),
    ];
    if as_json {
        let shown = lines.map(|(quota, used, limit, own)| {
            json!({ "quota": quota, "used": used, "limit": limit, "own": own })
        });
        return output::json(&shown);
    }
    let shown = |value: Option<i64>, none: &str| {
        value.map_or_else(|| none.to_owned(), |value| value.to_string())
    };
    let rows = lines.map(|(quota, used, limit, own)| {
        let set_by = if own.is_some() { "this namespace" } else { "the configuration" };
        [quota.to_owned(), shown(used, "-"), shown(limit, "none"), set_by.to_owned()]
    });
    output::table(["QUOTA", "USED", "LIMIT", "SET BY"], &rows)?;
    match used.cut {
        Some(until) => output::line(format!(
            "history from before {} was removed for the quota of rows",
            until.utc().to_rfc3339()
        )),
        None => Ok(()),
    }
}
