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
    pub(crate) schedules: Vec<ScheduleLink>,
}

/// A schedule by its name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ScheduleLink {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// Some change of the health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct HealthEvent {}
