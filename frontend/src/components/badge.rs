//! A state, with its word and its colour. Only this module maps states to words and colours.

use leptos::prelude::*;

use crate::model::{
    AlertKind, BackfillFireState, BackfillStanding, BackfillState, ChangeAction, MaintenanceState,
    NodeState, NotificationState, RunState, RunTaskState, ScheduleState, TaskRunState, Verdict,
};

/// A state of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Run(RunState),
    Task(RunTaskState),
    Attempt(TaskRunState),
    Schedule(ScheduleState),
    Verdict(Verdict),
    Node(NodeState),
    Healthy(bool),
    Alert(AlertKind),
    Message(NotificationState),
    Backfill(BackfillState),
    BackfillFire(BackfillFireState),
    Standing(BackfillStanding),
    Change(ChangeAction),
    Maintenance(MaintenanceState),
}

impl Mark {
    /// The name by which the style sheet colours the state, and the word that users see.
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
            Self::Alert(AlertKind::Failed) => ("failed", "Failed"),
            Self::Alert(AlertKind::Losing) => ("failed", "Failing in a row"),
            Self::Alert(AlertKind::Missed) => ("missed", "Missed"),
            Self::Alert(AlertKind::Skipped) => ("missed", "Skips fires"),
            Self::Alert(AlertKind::Late) => ("retrying", "Late"),
            Self::Alert(AlertKind::Stalled) => ("retrying", "Stalled"),
            Self::Alert(AlertKind::Slow) => ("retrying", "Slow"),
            Self::Alert(AlertKind::ClockChange) => ("pending", "Clock change"),
            Self::Alert(AlertKind::NodeLost) => ("dead", "Node lost"),
            Self::Message(NotificationState::Pending) => ("pending", "Waiting"),
            Self::Message(NotificationState::Sent) => ("succeeded", "Sent"),
            Self::Message(NotificationState::Dead) => ("failed", "Given up"),
            Self::Backfill(BackfillState::Running) => ("running", "Running"),
            Self::Backfill(BackfillState::Paused) => ("paused", "Paused"),
            Self::Backfill(BackfillState::Cancelled) => ("cancelled", "Cancelled"),
            Self::Backfill(BackfillState::Completed) => ("finished", "Completed"),
            Self::BackfillFire(BackfillFireState::Pending) => ("pending", "Waits"),
            Self::BackfillFire(BackfillFireState::Running) => ("running", "Running"),
            Self::BackfillFire(BackfillFireState::Succeeded)
            | Self::Standing(BackfillStanding::Succeeded) => ("succeeded", "Succeeded"),
            Self::BackfillFire(BackfillFireState::Failed)
            | Self::Standing(BackfillStanding::Failed) => ("failed", "Failed"),
            Self::BackfillFire(BackfillFireState::Cancelled) => ("cancelled", "Cancelled"),
            Self::BackfillFire(BackfillFireState::Skipped) => ("skipped", "Skipped"),
            Self::Standing(BackfillStanding::Missing) => ("missed", "Nothing ran"),
            Self::Standing(BackfillStanding::Live) => ("running", "Alive"),
            Self::Standing(BackfillStanding::Suppressed) => ("skipped", "Suppressed"),
            Self::Standing(BackfillStanding::Forgotten) => ("cancelled", "Too long ago"),
            Self::Change(ChangeAction::Create) => ("succeeded", "Make"),
            Self::Change(ChangeAction::Update) => ("retrying", "Change"),
            Self::Change(ChangeAction::Adopt) => ("running", "Take over"),
            Self::Change(ChangeAction::Delete) => ("failed", "Delete"),
            Self::Change(ChangeAction::Unchanged) => ("cancelled", "Unchanged"),
            Self::Maintenance(MaintenanceState::Planned) => ("pending", "Planned"),
            Self::Maintenance(MaintenanceState::Active) => ("paused", "Active"),
            Self::Maintenance(MaintenanceState::Ended) => ("finished", "Ended"),
            Self::Maintenance(MaintenanceState::Cancelled) => ("cancelled", "Cancelled"),
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
    badge_of(mark.state(), mark.word())
}

/// A badge for a state that only one page has.
pub(crate) fn badge_of(state: &'static str, word: &'static str) -> AnyView {
    view! { <span class="badge" data-state=state>{word}</span> }.into_any()
}
