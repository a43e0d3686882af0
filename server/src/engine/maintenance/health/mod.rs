//! Judges health by figures from the store, in the same
//! way for `/healthz`, the API and the console.
//!
//! - `checks`: the checks, from what was found to a result; no IO
//! - `budgets`: the same for the budgets of tags
//! - `self_paused`: the same for schedules and backfills that the server has paused

mod budgets;
mod checks;
mod self_paused;

use chrono::TimeDelta;
use entity::Timestamp;

pub use self::budgets::{BudgetFigure, JudgedBudget};
use self::checks::{brokers, claims, judge, short, sings, unserved, writes};
use crate::{
    clock::Clock,
    config,
    engine::{
        cluster::{Cluster, Issue, redis},
        core::nodes::issues,
        jobs::SILENT,
        maintenance::saturation,
    },
    store::{
        Store, StoreError, namespaces,
        reads::{
            health::{self, HealthScope, figures},
            health_budgets, placement,
            within::Within,
        },
        workers::queues::{self, UnservedJobs},
    },
};

/// A job that has waited without a worker for this long is reported.
const UNSERVED: TimeDelta = TimeDelta::seconds(60);

/// How long it is reported that history was cut to fit a quota.
const TOLD: TimeDelta = TimeDelta::days(1);

/// A health check and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The name of the check.
    pub name: &'static str,
    /// Whether the result is good.
    pub healthy: bool,
    /// The value that the check found.
    pub value: String,
    /// The limit that the value must not exceed.
    pub limit: Option<String>,
    /// The problem in a sentence for operators; `None` if the result is good.
    pub issue: Option<String>,
    /// The problem without names of nodes and tags,
    /// for unauthenticated callers; `None` if it has no names.
    pub bare: Option<String>,
    /// The names of the nodes that have the problem.
    pub nodes: Vec<String>,
}

impl Check {
    /// The problem in a sentence, without names unless the caller `is_known`.
    pub fn issue_for(&self, is_known: bool) -> Option<&str> {
        let bare = self.bare.as_deref().filter(|_| !is_known);
        bare.or(self.issue.as_deref())
    }
}

/// Runs all checks: on the figures of `scope`, on the cluster, and, for all namespaces together, on
/// the canary if there is one. `limits` are those of the scope.
pub async fn examine(
    store: &Store,
    clock: &Clock,
    cluster: &Cluster,
    scope: &HealthScope,
    limits: &config::Health,
) -> Result<Vec<Check>, StoreError> {
    let now = Timestamp::from(clock.now());
    let mut checks = vec![writes(store.refusing()), cluster.clock_steps(clock).into()];
    let (figures, budgets) =
        (figures(store, scope, now).await?, judged_budgets(store, scope, now, limits).await?);
    let mut judged = judge(&figures, limits);
    if scope.tag.is_some() {
        let of_tag = budgets::of_tag(&figures, limits, &budgets);
        judged.retain(|check| of_tag.iter().all(|own| own.name != check.name));
        checks.extend(of_tag);
    }
    checks.extend(judged);
    let is_all = scope.within == Within::All && scope.tag.is_none();
    if is_all {
        checks.extend(sings(store.canary().await?, now, limits));
        checks.push(saturation::check(store, clock, cluster.places(), limits).await?);
    }
    checks.extend(claims(&cluster.refused()));
    if is_all {
        checks.extend(brokers(&cluster.brokers()));
    }
    checks.push(self_paused::self_paused(&health::self_paused(store, scope).await?));
    if scope.tag.is_none() {
        checks.push(budgets::report(&budgets));
        checks.push(histories(store, cluster, &scope.within, now).await?);
        checks.push(unserved(&queues_without_worker(store, &scope.within, now).await?));
    }
    let fleet = cluster.fleet(store).await?;
    let waiting = placement::waiting(store, scope, now).await?;
    let (name, readiness) = (cluster.name(), cluster.standing(clock));
    checks.extend(issues(&fleet, &waiting, name, readiness).into_iter().map(Check::from));
    checks.extend(redis(&fleet, name, cluster.redis()).map(Check::from));
    Ok(checks)
}

/// The budgets of a scope with what they have used, by namespace and tag: at most 200. `limits` are
/// the server's, or those of the scope.
pub async fn judged_budgets(
    store: &Store,
    scope: &HealthScope,
    now: Timestamp,
    limits: &config::Health,
) -> Result<Vec<JudgedBudget>, StoreError> {
    let measured = health_budgets::measured(store, scope, now).await?;
    Ok(measured.into_iter().map(|budget| JudgedBudget::of(budget, limits)).collect())
}

impl From<Issue> for Check {
    fn from(issue: Issue) -> Self {
        Self {
            name: issue.name,
            healthy: issue.problem.is_none() || issue.passes,
            value: issue.value,
            limit: None,
            issue: issue.problem,
            bare: issue.bare,
            nodes: issue.nodes,
        }
    }
}

/// The queues in which jobs have waited for a minute without a worker that may take them.
pub async fn queues_without_worker(
    store: &Store,
    within: &Within,
    now: Timestamp,
) -> Result<Vec<UnservedJobs>, StoreError> {
    let ago = |span: TimeDelta| Timestamp::from(now.utc() - span);
    queues::without_worker(store, within, now, ago(UNSERVED), ago(SILENT)).await
}

/// Checks whether quotas shorten the time for which history and output are kept.
/// Only the ledger lacks the removed rows; nothing else is affected.
async fn histories(
    store: &Store,
    cluster: &Cluster,
    within: &Within,
    now: Timestamp,
) -> Result<Check, StoreError> {
    let cuts = store.cuts_since(within, Timestamp(now.0 - TOLD.num_milliseconds())).await?;
    let mut full = cluster.meter().full_logs();
    if let Some(ids) = within.few() {
        let rows = namespaces::by_ids(store.read(), ids).await?;
        full.retain(|(name, _)| rows.iter().any(|row| row.name == *name));
    }
    Ok(short(&cuts, &full))
}
