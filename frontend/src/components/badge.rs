//! A state, with its word and its colour. The only place that maps states to either.

use leptos::prelude::*;

use crate::model::{NodeState, RunState, RunTaskState, ScheduleState, TaskRunState, Verdict};

/// A state of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Run(RunState),
    Task(RunTaskState),
    Attempt(TaskRunState),
    Schedule(ScheduleState),
    Verdict(Verdict),
    Node(NodeState),
    Healthy(bool),
}

impl Mark {
    /// The name that the style sheet colours, and the word that people read.
    fn state_and_word(self) -> (&'static str, &'static str) {
        match self {
            Self::Run(RunState::Queued) => ("queued", "Queued"),
            Self::Task(RunTaskState::Waiting) => ("queued", "Waiting"),
            Self::Task(RunTaskState::NotRun) => ("cancelled", "Not run"),
            Self::Run(RunState::Running)
            | Self::Task(RunTaskState::Running)
            | Self::Attempt(TaskRunState::Running) => ("running", "Running"),
            Self::Run(RunState::Retrying) | Self::Task(RunTaskState::Retrying) => {
                ("retrying", "Retrying")
            }
            Self::Run(RunState::Succeeded)
            | Self::Task(RunTaskState::Succeeded)
            | Self::Attempt(TaskRunState::Succeeded) => ("succeeded", "Succeeded"),
            Self::Run(RunState::Failed)
            | Self::Task(RunTaskState::Failed)
            | Self::Attempt(TaskRunState::Failed) => ("failed", "Failed"),
            Self::Run(RunState::TimedOut)
            | Self::Task(RunTaskState::TimedOut)
            | Self::Attempt(TaskRunState::TimedOut) => ("timed_out", "Timed out"),
            Self::Run(RunState::Cancelled)
            | Self::Task(RunTaskState::Cancelled)
            | Self::Attempt(TaskRunState::Cancelled) => ("cancelled", "Cancelled"),
            Self::Attempt(TaskRunState::Lost) => ("lost", "Lost"),
            Self::Schedule(ScheduleState::Active) => ("active", "Active"),
            Self::Schedule(ScheduleState::Paused) => ("paused", "Paused"),
            Self::Schedule(ScheduleState::Finished) => ("finished", "Finished"),
            Self::Schedule(ScheduleState::Exhausted) => ("finished", "Exhausted"),
            Self::Verdict(Verdict::Pending) => ("pending", "Pending"),
            Self::Verdict(Verdict::Started) => ("started", "Started"),
            Self::Task(RunTaskState::Skipped)
            | Self::Attempt(TaskRunState::Skipped)
            | Self::Verdict(Verdict::Skipped) => ("skipped", "Skipped"),
            Self::Verdict(Verdict::Missed) => ("missed", "Missed"),
            Self::Verdict(Verdict::Collapsed) => ("collapsed", "Collapsed"),
            Self::Verdict(Verdict::Abandoned) => ("abandoned", "Abandoned"),
            Self::Node(NodeState::Alive) => ("alive", "Alive"),
            Self::Node(NodeState::Draining) => ("draining", "Draining"),
            Self::Node(NodeState::Drained) => ("draining", "Drained"),
            Self::Node(NodeState::Left) => ("left", "Left"),
            Self::Node(NodeState::Dead) => ("dead", "Dead"),
            Self::Healthy(true) => ("healthy", "Healthy"),
            Self::Healthy(false) => ("unhealthy", "Unhealthy"),
        }
    }

    pub(crate) fn state(self) -> &'static str {
        self.state_and_word().0
    }

    pub(crate) fn word(self) -> &'static str {
        self.state_and_word().1
    }
}

/// A dot and a word.
pub(crate) fn badge(mark: Mark) -> AnyView {
    view! { <span class="badge" data-state=mark.state()>{mark.word()}</span> }.into_any()
}
