use std::collections::{BTreeSet, HashMap};

use async_graphql::{Context, Enum, SimpleObject};
use entity::Timestamp;

use super::{
    context::ContextExt,
    error::Result,
    loaders::{NamespaceName, ScheduleRow},
    page::DECLARED,
    scalar::Instant,
    schedule::Schedule,
};
use crate::{
    config,
    engine::maintenance::{
        advice::advice,
        health::{Check, JudgedBudget, judged_budgets},
    },
    store::reads::{
        health::HealthScope,
        health_causes::{FigureCause, HealthFigure, causes},
        within::Within,
    },
};

/// Maximum number of schedules that a finding names.
const MAX_SCHEDULES: i64 = 10;

/// Maximum number of tags in the search of a finding: a search takes 20 values.
const MAX_TAGS: usize = 20;

/// Something that is wrong, and what to do about it.
#[derive(SimpleObject)]
pub(crate) struct HealthFinding {
    /// The name of the failed check in `checks`, such as `missed` or `stalled`.
    code: String,
    /// The severity of the finding.
    severity: HealthSeverity,
    /// What is wrong, in one sentence.
    message: String,
    /// What to do about the problem.
    help: &'static str,
    /// The measured value.
    value: String,
    /// The limit that the value must not exceed.
    limit: Option<String>,
    /// The namespace that was measured; null if the value covers all of them, or the cluster.
    namespace: Option<String>,
    /// Schedules that contribute to the value, largest contribution first; at most 10.
    #[graphql(complexity = "DECLARED * child_complexity")]
    schedules: Vec<Schedule>,
    /// The nodes that the finding concerns, by name.
    nodes: Vec<String>,
    /// When the problem began, if known.
    since: Option<Instant>,
    /// The search, in the language of docs/search.md, that finds the schedules with the problem;
    /// null if the finding is not about certain tags.
    search: Option<String>,
}

/// How severe a finding is.
#[derive(Enum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HealthSeverity {
    /// Fires or runs are lost or stuck: `/healthz` answers 503.
    Critical,
    /// Worth knowing, but not unhealthy; for example, two versions during an upgrade.
    Warning,
}

impl HealthFinding {
    /// The findings of an examination, for these namespaces.
    pub(super) async fn all(
        cx: &Context<'_>,
        checks: &[Check],
        within: &Within,
    ) -> Result<Vec<Self>> {
        let name = match within.one() {
            Some(id) => cx.rows().load_one(NamespaceName(id)).await?,
            None => None,
        };
        let mut findings = Vec::new();
        for check in checks {
            let Some(message) = check.issue.clone() else { continue };
            let causes = match counted(check.name) {
                Some(counted) => {
                    let now = Timestamp::from(cx.commands().clock.now());
                    causes(cx.store(), counted, within, now, MAX_SCHEDULES).await?
                }
                None => vec![],
            };
            let over = match check.name {
                "budgets" => exceeded(cx, within).await?,
                _ => vec![],
            };
            findings.push(Self {
                code: check.name.to_owned(),
                severity: if check.healthy {
                    HealthSeverity::Warning
                } else {
                    HealthSeverity::Critical
                },
                message,
                help: advice(check.name),
                value: check.value.clone(),
                limit: check.limit.clone(),
                namespace: counted(check.name).and(name.clone()).or_else(|| only_namespace(&over)),
                since: causes.iter().map(|cause| cause.since).min().map(Into::into),
                schedules: schedules(cx, &causes).await?,
                nodes: check.nodes.clone(),
                search: tags(&over),
            });
        }
        findings.sort_by_key(|finding| finding.severity);
        Ok(findings)
    }
}

/// The budgets of these namespaces that are exceeded.
async fn exceeded(cx: &Context<'_>, within: &Within) -> Result<Vec<JudgedBudget>> {
    let scope = HealthScope { within: within.clone(), tag: None };
    let now = Timestamp::from(cx.commands().clock.now());
    let limits = cx.data_unchecked::<config::Health>();
    let mut budgets = judged_budgets(cx.store(), &scope, now, limits).await?;
    budgets.retain(|budget| !budget.is_healthy());
    Ok(budgets)
}

/// The namespace of these budgets; None if they are of several.
fn only_namespace(budgets: &[JudgedBudget]) -> Option<String> {
    let first = &budgets.first()?.measured.namespace;
    let is_only = budgets.iter().all(|budget| budget.measured.namespace == *first);
    is_only.then(|| first.clone())
}

/// The search for the tags of these budgets.
fn tags(budgets: &[JudgedBudget]) -> Option<String> {
    let tags: BTreeSet<&str> = budgets.iter().map(|budget| &*budget.measured.tag).collect();
    let tags: Vec<&str> = tags.into_iter().take(MAX_TAGS).collect();
    (!tags.is_empty()).then(|| format!("tag:{}", tags.join(",")))
}

/// The figure that this check counts per schedule; None if it does not.
fn counted(check: &str) -> Option<HealthFigure> {
    match check {
        "missed" => Some(HealthFigure::Missed),
        "failed" => Some(HealthFigure::Failed),
        "stalled" => Some(HealthFigure::Stalled),
        "pending_handoffs" => Some(HealthFigure::PendingHandoffs),
        "scheduler" => Some(HealthFigure::Unclaimed),
        "self_paused" => Some(HealthFigure::SelfPaused),
        _ => None,
    }
}

async fn schedules(cx: &Context<'_>, causes: &[FigureCause]) -> Result<Vec<Schedule>> {
    let keys = causes.iter().map(|cause| ScheduleRow(cause.schedule_id));
    let mut rows: HashMap<_, _> = cx.rows().load_many(keys.clone()).await?;
    let rows = keys.filter_map(|key| rows.remove(&key));
    // A caller who asks about all namespaces may see all of them; a caller who asks about one may
    // see that one.
    Ok(rows.filter(|row| cx.is_home(row.namespace_id)).map(Schedule).collect())
}
