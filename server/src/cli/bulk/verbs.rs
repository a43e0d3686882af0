use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{BulkSelection, Order};
use crate::{
    cli::{
        CliError,
        json::object,
        resume::CatchUp,
        trigger::context,
        when::{future, past},
        why::Why,
    },
    search::SearchedList,
};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    Pause(Pause),
    Resume(Resume),
    SkipNext(SkipNext),
    Trigger(Trigger),
    Change(Change),
    Delete(Delete),
    CancelRuns(CancelRuns),
    RetryRuns(RetryRuns),
}

/// Stop schedules from firing; their runs in flight continue
#[derive(Debug, Args)]
pub(super) struct Pause {
    #[command(flatten)]
    sought: BulkSelection,
    /// Reason, for the next person on call
    #[arg(long)]
    reason: String,
    /// When they resume automatically [default: when someone resumes them]
    #[arg(long, value_name = "WHEN", value_parser = future)]
    until: Option<DateTime<Utc>>,
    /// What to do about the fires that fell into the pauses at their end [default: skip]
    #[arg(long, value_enum, value_name = "MODE", requires = "until", visible_alias = "catch-up")]
    missed: Option<CatchUp>,
}

/// Let paused schedules fire again
#[derive(Debug, Args)]
pub(super) struct Resume {
    #[command(flatten)]
    sought: BulkSelection,
    /// What to do about the fires that fell into the pause
    #[arg(long, value_enum, value_name = "MODE", default_value = "skip")]
    catch_up: CatchUp,
    #[command(flatten)]
    why: Why,
}

/// Skip the next fires of schedules
#[derive(Debug, Args)]
pub(super) struct SkipNext {
    #[command(flatten)]
    sought: BulkSelection,
    /// Maximum number of fires per schedule, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=100))]
    count: i32,
    /// Reason, for the ledger and the audit log
    #[arg(long)]
    reason: String,
}

/// Run the workflows of schedules now
#[derive(Debug, Args)]
pub(super) struct Trigger {
    #[command(flatten)]
    sought: BulkSelection,
    /// JSON object merged into each schedule's context; its keys take precedence
    #[arg(long, value_name = "JSON", value_parser = context)]
    context: Option<Value>,
    /// Run as if they were due at this instant
    #[arg(long, value_name = "WHEN", value_parser = past)]
    as_of: Option<DateTime<Utc>>,
    #[command(flatten)]
    why: Why,
}

/// Change schedules that were created by hand
#[derive(Debug, Args)]
pub(super) struct Change {
    #[command(flatten)]
    sought: BulkSelection,
    /// The changes, as the API's `ChangeSchedulesInput`; '-' reads them from standard input
    #[arg(value_name = "JSON")]
    change: String,
    #[command(flatten)]
    why: Why,
}

/// Delete schedules that were created by hand; their history stays
#[derive(Debug, Args)]
pub(super) struct Delete {
    #[command(flatten)]
    sought: BulkSelection,
    #[command(flatten)]
    why: Why,
}

/// Cancel runs: waiting ones at once, running ones through their nodes
#[derive(Debug, Args)]
pub(super) struct CancelRuns {
    #[command(flatten)]
    sought: BulkSelection,
    #[command(flatten)]
    why: Why,
}

/// Retry settled runs from the start, with the current definitions of their workflows
#[derive(Debug, Args)]
pub(super) struct RetryRuns {
    #[command(flatten)]
    sought: BulkSelection,
    #[command(flatten)]
    why: Why,
}

impl Verb {
    /// The mutation and its selection.
    pub(super) fn order(self) -> Result<(Order, BulkSelection), CliError> {
        let schedules =
            |action, past, field| Order::new(SearchedList::Schedules, action, past, field);
        let runs = |action, past, field| Order::new(SearchedList::Runs, action, past, field);
        Ok(match self {
            Self::Pause(Pause { sought, reason, until, missed }) => {
                let order = schedules("pause the schedules", "paused", "pauseSchedules")
                    .with("reason", "String!", json!(reason))
                    .with("until", "DateTime", json!(until))
                    .with("missed", "CatchUp", json!(missed.map(CatchUp::word)));
                (order, sought)
            }
            Self::Resume(Resume { sought, catch_up, why }) => {
                let order = schedules("resume the schedules", "resumed", "resumeSchedules").with(
                    "missed",
                    "CatchUp!",
                    json!(catch_up.word()),
                );
                (Order { why, ..order }, sought)
            }
            Self::SkipNext(SkipNext { sought, count, reason }) => {
                let action = "skip the next fires";
                let order = schedules(action, "left out fires of", "skipNextOfSchedules")
                    .with("count", "Int!", json!(count))
                    .with("reason", "String!", json!(reason));
                (Order { would: "lose fires".to_owned(), ..order }, sought)
            }
            Self::Trigger(Trigger { sought, context, as_of, why }) => {
                let order = schedules("trigger the schedules", "triggered", "triggerSchedules")
                    .with("context", "JSON", json!(context))
                    .with("asOf", "DateTime", json!(as_of));
                (Order { why, ..order }, sought)
            }
            Self::Change(Change { sought, change, why }) => {
                let change = object("the change", &change)?;
                let order = schedules("change the schedules", "changed", "updateSchedules").with(
                    "change",
                    "ChangeSchedulesInput!",
                    change,
                );
                (Order { why, ..order }, sought)
            }
            Self::Delete(Delete { sought, why }) => {
                let order = schedules("delete the schedules", "deleted", "deleteSchedules");
                (Order { why, ..order }, sought)
            }
            Self::CancelRuns(CancelRuns { sought, why }) => {
                // Each run stores this reason; the reason in the header only goes into the audit
                // log.
                let order = runs("cancel the runs", "cancelled", "cancelRuns").with(
                    "reason",
                    "String",
                    json!(why.reason),
                );
                (Order { why, ..order }, sought)
            }
            Self::RetryRuns(RetryRuns { sought, why }) => {
                (Order { why, ..runs("retry the runs", "retried", "retryRuns") }, sought)
            }
        })
    }
}
