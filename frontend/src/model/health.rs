//! Health findings, with advice.

use serde::Deserialize;

use super::{Health, HealthSeverity, Node};
use crate::time::Moment;

/// The health with its findings, and the nodes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct HealthReport {
    pub(crate) health: FullHealth,
    pub(crate) nodes: Vec<Node>,
}

/// Whether the server is healthy, and its findings.
pub(crate) type FullHealth = super::full::Full<Health, Findings>;

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Findings {
    pub(crate) findings: Vec<Finding>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Finding {
    pub(crate) code: String,
    pub(crate) severity: HealthSeverity,
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) value: String,
    pub(crate) limit: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) nodes: Vec<String>,
    pub(crate) since: Option<Moment>,
    /// The search for the schedules with the problem, if it is about certain tags.
    pub(crate) search: Option<String>,
    pub(crate) schedules: Vec<ScheduleLink>,
}

/// A schedule by its name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ScheduleLink {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// The budget of a tag, with what the tag has used of it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Budget {
    pub(crate) namespace: String,
    pub(crate) tag: String,
    pub(crate) span_minutes: i64,
    pub(crate) healthy: bool,
    /// The module that declares it.
    pub(crate) module: Option<String>,
    pub(crate) missed: BudgetFigure,
    pub(crate) failed: BudgetFigure,
    pub(crate) stalled: BudgetFigure,
    /// In milliseconds.
    pub(crate) late: BudgetFigure,
}

/// A figure that a budget limits.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct BudgetFigure {
    pub(crate) value: Option<i64>,
    pub(crate) limit: Option<i64>,
    /// The limit of the budget itself; `None` if that of the server applies.
    pub(crate) own: Option<i64>,
    pub(crate) exceeded: bool,
}

/// Some change of the health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct HealthEvent {}
