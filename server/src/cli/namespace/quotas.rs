//! A namespace's quotas and their usage.

use serde_json::json;

use crate::{
    cli::{CliError, offline::Office, output, why::Why},
    commands::{Call, CommandError},
    model::OwnQuotas,
    store::namespaces,
};

/// Shows the quotas of a namespace, after setting the given ones. With `reset`, the quotas that
/// were set before are discarded.
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
        let owner = why.somebody_here().owner()?;
        let before =
            if reset { OwnQuotas::default() } else { OwnQuotas::of_column(row.quotas.as_ref()) };
        let own = OwnQuotas {
            schedules: given.schedules.or(before.schedules),
            fires_a_minute: given.fires_a_minute.or(before.fires_a_minute),
            live_runs: given.live_runs.or(before.live_runs),
            log_bytes_a_day: given.log_bytes_a_day.or(before.log_bytes_a_day),
        };
        commands.set_quotas(&owner, name, own, None, &Call::once()).await?;
    }
    let used = commands.used_quotas(row.id, name).await?;
    let fires = (used.usage.fires_an_hour + 59).div_euclid(60);
    // Logged bytes are counted only by the running servers.
    let lines = [
        ("schedules", Some(used.usage.schedules), used.limits.schedules, used.own.schedules),
        ("fires a minute", Some(fires), used.limits.fires_a_minute, used.own.fires_a_minute),
        ("live runs", Some(used.live_runs), used.limits.live_runs, used.own.live_runs),
        ("log bytes a day", None, used.limits.log_bytes_a_day, used.own.log_bytes_a_day),
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
    output::table(["QUOTA", "USED", "LIMIT", "SET BY"], &rows)
}
