//! Whether all is well: a judgement on the store's figures, the same for `/healthz`, the API and
//! the console.

use entity::Timestamp;

use super::cluster::{Cluster, Issue, issues};
use crate::{
    clock::Clock,
    config,
    store::{
        Store, StoreError,
        reads::{
            health::{Figures, Scope, figures},
            placement,
        },
    },
};

/// A schedule that has been due for longer than this without being claimed says that no scheduler
/// is running, whatever the heartbeats say.
const UNCLAIMED_MS: i64 = 60_000;

/// One question and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was asked.
    pub name: &'static str,
    /// Whether the answer is a good one.
    pub healthy: bool,
    /// The figure.
    pub value: String,
    /// What it must not exceed.
    pub limit: Option<String>,
    /// The sentence for an operator, if it is not good.
    pub issue: Option<String>,
}

/// Asks everything: the figures of what `scope` names, and the cluster.
pub async fn examine(
    store: &Store,
    clock: &Clock,
    cluster: &Cluster,
    scope: &Scope,
    limits: &config::Health,
) -> Result<Vec<Check>, StoreError> {
    let now = Timestamp::from(clock.now());
    let mut checks = judge(&figures(store, scope, now).await?, limits);
    let fleet = cluster.fleet(store).await?;
    let waiting = placement::waiting(store, scope, now).await?;
    let own = (cluster.name(), cluster.standing(clock));
    checks.extend(issues(&fleet, &waiting, own).into_iter().map(Check::from));
    Ok(checks)
}

impl From<Issue> for Check {
    fn from(issue: Issue) -> Self {
        Self {
            name: issue.name,
            healthy: issue.problem.is_none() || issue.passes,
            value: issue.value,
            limit: None,
            issue: issue.problem,
        }
    }
}

/// Judges the figures against the configured thresholds.
pub fn judge(figures: &Figures, limits: &config::Health) -> Vec<Check> {
    let waiting = figures.oldest_unclaimed_ms.unwrap_or(0).max(0);
    let nodes = figures.nodes_alive;
    vec![
        at_most("missed", figures.missed, limits.missed, |count, limit| {
            format!("{count} fires were missed in the last hour, more than {limit}")
        }),
        at_most("stalled", figures.stalled, limits.stalled, |count, limit| {
            format!("{count} runs are stalled, more than {limit}")
        }),
        at_most("pending_handoffs", figures.pending_handoffs, 1_000, |count, limit| {
            format!("{count} claimed fires wait for their run, more than {limit}")
        }),
        Check {
            name: "scheduler",
            healthy: waiting <= UNCLAIMED_MS,
            value: format!("{} s", waiting / 1_000),
            limit: Some(format!("{} s", UNCLAIMED_MS / 1_000)),
            issue: (waiting > UNCLAIMED_MS).then(|| {
                let seconds = waiting / 1_000;
                format!("the scheduler is not running: a schedule has been due for {seconds} s")
            }),
        },
        Check {
            name: "nodes",
            healthy: nodes > 0,
            value: nodes.to_string(),
            limit: None,
            issue: (nodes == 0).then(|| "no node is alive".to_owned()),
        },
    ]
}

fn at_most(
    name: &'static str,
    value: i64,
    limit: u64,
    issue: impl Fn(i64, u64) -> String,
) -> Check {
    let healthy = u64::try_from(value).unwrap_or(0) <= limit;
    Check {
        name,
        healthy,
        value: value.to_string(),
        limit: Some(limit.to_string()),
        issue: (!healthy).then(|| issue(value, limit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(figures: Figures) -> Vec<String> {
        let checks = judge(&figures, &config::Health::default());
        checks.into_iter().filter_map(|check| check.issue).collect()
    }

    #[test]
    fn a_threshold_is_the_most_that_is_still_well() {
        let well = Figures { missed: 10, stalled: 5, nodes_alive: 1, ..Figures::default() };
        assert!(issues(well).is_empty());
        let ill = Figures { missed: 11, ..well };
        assert_eq!(issues(ill), ["11 fires were missed in the last hour, more than 10"]);
    }

    #[test]
    fn a_due_schedule_that_nobody_claims_means_that_no_scheduler_runs() {
        let figures =
            Figures { oldest_unclaimed_ms: Some(61_000), nodes_alive: 0, ..Figures::default() };
        assert_eq!(
            issues(figures),
            ["the scheduler is not running: a schedule has been due for 61 s", "no node is alive",]
        );
    }
}
