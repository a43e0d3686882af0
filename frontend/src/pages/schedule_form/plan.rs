//! Parses the fields into values, or reports the field that cannot be parsed and why.

use leptos::prelude::*;

use super::{draft::Draft, ping::PingPlan};
use crate::{
    model::{CatchUp, Failure, GapPolicy, Misfire, OverlapHourPolicy, OverlapPolicy, Policy},
    pages::task_form::{TaskPlan, given, split, whole},
};

/// A schedule that is ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) note: String,
    pub(super) tags: Vec<String>,
    pub(super) timing: TimingPlan,
    pub(super) calendars: Vec<String>,
    pub(super) max_fires: Option<i64>,
    pub(super) misfire: Misfire,
    pub(super) overlap: OverlapPolicy,
    pub(super) buffer_limit: Option<i64>,
    pub(super) group: Option<String>,
    pub(super) priority: i64,
    pub(super) start_deadline_seconds: Option<i64>,
    pub(super) retention_days: Option<i64>,
    pub(super) context: serde_json::Value,
    pub(super) ping: Option<PingPlan>,
    pub(super) work: Work,
}

/// The values of the timing fields.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimingPlan {
    pub(super) expressions: Vec<String>,
    pub(super) zone: String,
    pub(super) policy: Policy,
}

/// The work of the schedule: an existing workflow, or an inline task.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Work {
    Workflow(String),
    Task(Box<TaskPlan>),
}

impl Draft {
    /// The timing, without values that cannot be parsed: the server reports those as errors. Tracks every field that
    /// it reads.
    pub(super) fn timing(&self) -> TimingPlan {
        let [start_at, end_at] = self.bounds();
        TimingPlan {
            expressions: self
                .expressions
                .with(|all| all.iter().map(|(_, text)| text.get()).collect()),
            zone: self.zone.get().trim().to_owned(),
            policy: Policy {
                gap: match self.gap.get().as_str() {
                    "skip" => GapPolicy::Skip,
                    _ => GapPolicy::Shift,
                },
                overlap: match self.overlap_hour.get().as_str() {
                    "last" => OverlapHourPolicy::Last,
                    "both" => OverlapHourPolicy::Both,
                    _ => OverlapHourPolicy::First,
                },
                start_at,
                end_at,
                jitter_seconds: self.jitter.get().trim().parse().unwrap_or(0),
            },
        }
    }

    /// The names of the calendars. Tracked.
    pub(super) fn calendars(&self) -> Vec<String> {
        split(&self.calendars.get(), ',')
    }

    /// The name of the existing workflow that the schedule runs; tracked. `None` for an inline task.
    pub(super) fn chosen_workflow(&self) -> Option<String> {
        let is_chosen = self.task.kind.with(|kind| kind == "workflow");
        let name = is_chosen.then(|| self.workflow.get().trim().to_owned());
        name.filter(|name| !name.is_empty())
    }

    /// The values of all fields that apply.
    ///
    /// # Errors
    /// The first field that cannot be parsed.
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        let text = |signal: RwSignal<String>| signal.get_untracked();
        whole("jitterSeconds", &text(self.jitter))?;
        let context = serde_json::from_str(&text(self.context))
            .map_err(|why| Failure::of_field("context", format!("This is not JSON: {why}.")))?;
        let deadline = given(self.deadline);
        Ok(Plan {
            name: text(self.name).trim().to_owned(),
            note: text(self.note).trim().to_owned(),
            tags: split(&text(self.tags), ','),
            timing: untrack(|| self.timing()),
            calendars: untrack(|| self.calendars()),
            max_fires: given(self.max_fires).map(|text| whole("maxFires", &text)).transpose()?,
            misfire: self.misfire()?,
            overlap: match text(self.overlap).as_str() {
                "allow" => OverlapPolicy::Allow,
                "buffer_one" => OverlapPolicy::BufferOne,
                "buffer_all" => OverlapPolicy::BufferAll,
                "cancel_other" => OverlapPolicy::CancelOther,
                "terminate_other" => OverlapPolicy::TerminateOther,
                _ => OverlapPolicy::Skip,
            },
            // Other policies have no limit.
            buffer_limit: given(self.buffer_limit)
                .filter(|_| text(self.overlap) == "buffer_all")
                .map(|text| whole("bufferLimit", &text))
                .transpose()?,
            group: given(self.group).map(|group| group.trim().to_owned()),
            priority: whole("priority", &text(self.priority))?,
            start_deadline_seconds: deadline
                .map(|text| whole("startDeadlineSeconds", &text))
                .transpose()?,
            retention_days: given(self.retention)
                .map(|text| whole("retentionDays", &text))
                .transpose()?,
            context,
            ping: self.ping.plan()?,
            work: self.work()?,
        })
    }

    fn misfire(&self) -> Result<Misfire, Failure> {
        let text = |signal: RwSignal<String>| signal.get_untracked();
        // Limits that do not apply are hidden, so the user could not correct an error in them.
        let applies = untrack(|| self.catches_up_all());
        let limit = |field: &str, signal: RwSignal<String>, without: i64| {
            let limit = whole(field, &text(signal));
            if applies { limit } else { Ok(limit.unwrap_or(without)) }
        };
        Ok(Misfire {
            catch_up: match text(self.catch_up).as_str() {
                "skip" => CatchUp::Skip,
                "all" => CatchUp::All,
                _ => CatchUp::Latest,
            },
            grace_seconds: whole("misfire.graceSeconds", &text(self.grace))?,
            max: limit("misfire.max", self.max, 100)?,
            spacing_seconds: limit("misfire.spacingSeconds", self.spacing, 0)?,
            window_seconds: whole("misfire.windowSeconds", &text(self.window))?,
        })
    }

    fn work(&self) -> Result<Work, Failure> {
        match self.task.kind.get().as_str() {
            "workflow" => Ok(Work::Workflow(self.workflow.get().trim().to_owned())),
            _ => self.task.plan().map(|plan| Work::Task(Box::new(plan))),
        }
    }
}
