//! The objects that schedules are built from: groups, workflows, modules.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{
    ChangeAction, DriftSide, Named, Row, RunState, Target, TaskCondition, Warning,
    run::ScheduleRef, task::Retry,
};
use crate::time::Moment;

/// A concurrency limit that schedules share.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Group {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) max_runs: i64,
    pub(crate) version: i64,
    pub(crate) module: Option<String>,
    pub(crate) running: i64,
    pub(crate) waiting: i64,
    pub(crate) schedules: i64,
}

/// A run that holds or waits for a slot of a group.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupRun {
    pub(crate) id: String,
    pub(crate) state: RunState,
    pub(crate) created_at: Moment,
    pub(crate) started_at: Option<Moment>,
    pub(crate) priority: i64,
    pub(crate) schedule: Option<ScheduleRef>,
    pub(crate) workflow: Named,
    pub(crate) waits_for: Vec<WaitText>,
}

/// The reason why a run waits, in words.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct WaitText {
    pub(crate) text: String,
}

impl GroupRun {
    pub(crate) fn title(&self) -> &str {
        self.schedule.as_ref().map_or(&self.workflow.name, |schedule| &schedule.name)
    }
}

/// A workflow in a list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkflowRow {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) version: i64,
    pub(crate) module: Option<String>,
    pub(crate) updated_at: Moment,
    pub(crate) tasks: Vec<Named>,
}

impl Row for WorkflowRow {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A workflow with its tasks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Workflow {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) version: i64,
    pub(crate) module: Option<String>,
    pub(crate) created_at: Moment,
    pub(crate) updated_at: Moment,
    pub(crate) timeout_seconds: Option<f64>,
    pub(crate) max_parallel: i64,
    pub(crate) runs_on: Vec<String>,
    pub(crate) tasks: Vec<Step>,
    /// The definition as in a module file; absent if it is too large for one.
    pub(crate) yaml: Option<String>,
}

/// A workflow for its editor: the current definition, with every field of its tasks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkflowDefinition {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: i64,
    pub(crate) module: Option<String>,
    pub(crate) timeout_seconds: Option<f64>,
    pub(crate) max_parallel: i64,
    pub(crate) runs_on: Vec<String>,
    pub(crate) tasks: Vec<Step>,
}

/// The result of reading a workflow's text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct WorkflowReading {
    /// The definition in the shape of the API's input, without the namespace; absent if the text
    /// cannot be read.
    pub(crate) definition: Option<Value>,
    pub(crate) problems: Vec<TextProblem>,
}

/// A problem of a text, with its position.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct TextProblem {
    /// The line, counted from one. The column is counted from one, too, in characters.
    pub(crate) line: Option<usize>,
    pub(crate) column: Option<usize>,
    /// The field's path; empty if the text cannot be read.
    pub(crate) field: String,
    pub(crate) value: String,
    pub(crate) problem: String,
    pub(crate) help: String,
}

/// A workflow that was saved, with warnings about probable mistakes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct SavedWorkflow {
    pub(crate) workflow: SavedName,
    pub(crate) warnings: Vec<Warning>,
}

/// The key and the name of a saved workflow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct SavedName {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// One task of a workflow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) needs: Vec<String>,
    pub(crate) when: TaskCondition,
    pub(crate) allow_failure: bool,
    pub(crate) timeout_seconds: f64,
    pub(crate) kill_grace_seconds: f64,
    pub(crate) retry_on: Vec<String>,
    pub(crate) retry: Retry,
    pub(crate) target: Target,
}

/// One version of a workflow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct WorkflowVersion {
    pub(crate) version: i64,
    pub(crate) by: String,
    pub(crate) at: Moment,
    /// The definition as in a module file; absent if it is too large for one.
    pub(crate) yaml: Option<String>,
}

/// A deployed module.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Module {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) schedules: i64,
    pub(crate) workflows: i64,
    pub(crate) changed_at: Moment,
}

/// The differences between a module's objects and its declaration.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Drift {
    pub(crate) module: String,
    /// Identifies these differences, for the mutations that settle them.
    pub(crate) digest: String,
    pub(crate) deployed_by: String,
    pub(crate) deployed_at: Moment,
    pub(crate) drifted: Vec<Drifted>,
}

/// The answer to an adoption.
#[derive(Debug, Deserialize)]
pub(crate) struct AdoptedDrift {
    /// What differs now; `None` if the module declares nothing any more.
    pub(crate) drift: Option<IgnoredAny>,
}

/// One object that differs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Drifted {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) side: DriftSide,
    pub(crate) by: Option<String>,
    pub(crate) at: Option<Moment>,
    pub(crate) reason: Option<String>,
    pub(crate) fields: Vec<FieldChange>,
}

/// A key whose value differs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct FieldChange {
    pub(crate) path: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// A module's file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Exported {
    pub(crate) module: String,
    pub(crate) is_by_hand: bool,
    pub(crate) is_part: bool,
    pub(crate) schedules: i64,
    pub(crate) source: String,
}

/// The effect of a deployment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Plan {
    pub(crate) module: String,
    pub(crate) changes: Vec<PlannedChange>,
    pub(crate) effect: Option<Effect>,
}

/// The change of one object by a deployment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct PlannedChange {
    pub(crate) action: ChangeAction,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) detail: String,
    pub(crate) fields: Vec<FieldChange>,
    pub(crate) warnings: Vec<Warning>,
}

/// The effect of a deployment on the upcoming fires.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Effect {
    pub(crate) added: i64,
    pub(crate) removed: i64,
    pub(crate) is_complete: bool,
    pub(crate) schedules: Vec<ScheduleEffect>,
}

/// The effect on one schedule.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleEffect {
    pub(crate) name: String,
    pub(crate) before: Option<i64>,
    pub(crate) after: Option<i64>,
    pub(crate) added: i64,
    pub(crate) removed: i64,
    pub(crate) added_sample: Vec<Moment>,
    pub(crate) removed_sample: Vec<Moment>,
}

/// A schedule with only its name and zone.
pub(crate) type ScheduleName = ScheduleRef;

impl Row for ScheduleName {
    fn id(&self) -> &str {
        &self.id
    }
}
