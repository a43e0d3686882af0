//! Orders for schedules: one of them, or all that a search finds.
//!
//! Each answers the id of what it made or changed. A `key` makes it happen once, however often it is sent.

use serde_json::Value;

use crate::{
    api::{
        Ask,
        operations::{
            self, CreateSchedule, DeleteSchedule, PauseSchedule, ResumeSchedule, TriggerSchedule,
            UpdateSchedule,
        },
    },
    model::{CatchUp, ManyOutcome, TestCall},
    time::Moment,
};

pub(crate) fn create_schedule(
    input: operations::create_schedule::CreateScheduleInput,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    Ask::new::<CreateSchedule>(operations::create_schedule::Variables { input, key })
}

pub(crate) fn update_schedule(
    input: operations::update_schedule::UpdateScheduleInput,
) -> Ask<String> {
    let ask = Ask::new::<UpdateSchedule>(operations::update_schedule::Variables { input });
    // No form has it yet, and a null would take it away.
    ask.without("/variables/input", "ping")
}

pub(crate) fn pause_schedule(
    id: String,
    reason: String,
    until: Option<Moment>,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    Ask::new::<PauseSchedule>(operations::pause_schedule::Variables { id, reason, until, key })
}

pub(crate) fn resume_schedule(id: String, missed: CatchUp, key: String) -> Ask<String> {
    let key = Some(key);
    Ask::new::<ResumeSchedule>(operations::resume_schedule::Variables { id, missed, key })
}

pub(crate) fn delete_schedule(id: String, key: String) -> Ask<String> {
    Ask::new::<DeleteSchedule>(operations::delete_schedule::Variables { id, key: Some(key) })
}

/// Calls a target once, without a schedule.
pub(crate) fn test_call(input: operations::test_call::TestCallInput) -> Ask<TestCall> {
    Ask::new::<operations::TestCall>(operations::test_call::Variables { input })
}

/// Answers the new run's id.
pub(crate) fn trigger_schedule(
    id: String,
    context: Option<Value>,
    as_of: Option<Moment>,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    Ask::new::<TriggerSchedule>(operations::trigger_schedule::Variables { id, context, as_of, key })
}

pub(crate) fn set_favourite(schedule_id: String, is_favourite: bool) -> Ask<String> {
    let variables = operations::set_favourite::Variables { schedule_id, is_favourite };
    Ask::new::<operations::SetFavourite>(variables)
}

/// Leaves out the next fires.
pub(crate) fn skip_next(id: String, count: i64, reason: String, key: String) -> Ask<String> {
    let key = Some(key);
    Ask::new::<operations::SkipNext>(operations::skip_next::Variables { id, count, reason, key })
}

/// Makes an earlier version the next one.
pub(crate) fn rollback_schedule(
    id: String,
    to_version: i64,
    expected_version: i64,
    reason: Option<String>,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    Ask::new::<operations::RollbackSchedule>(operations::rollback_schedule::Variables {
        id,
        to_version,
        expected_version,
        reason,
        key,
    })
}

/// Brings a deleted schedule back.
pub(crate) fn undelete_schedule(id: String, key: String) -> Ask<String> {
    let key = Some(key);
    Ask::new::<operations::UndeleteSchedule>(operations::undelete_schedule::Variables { id, key })
}

/// What an order for many is to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    Pause { reason: String, until: Option<Moment> },
    Resume { missed: CatchUp },
    Skip { count: i64, reason: String },
    Run { reason: Option<String> },
    Delete { reason: Option<String> },
}

/// Whom it is for: all schedules of a namespace that a search finds. With an expected count another number is a conflict;
/// without one it is only counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Many {
    pub(crate) namespace: String,
    pub(crate) search: String,
    pub(crate) expected_count: Option<i64>,
}

/// An order for many schedules, or what it would do.
pub(crate) fn order_schedules(order: Order, many: Many, key: String) -> Ask<ManyOutcome> {
    use operations::{
        delete_schedules, pause_schedules, resume_schedules, skip_next_of_schedules,
        trigger_schedules,
    };
    macro_rules! which {
        ($operation:ident) => {
            $operation::ManyInput {
                namespace: many.namespace,
                search: many.search,
                dry_run: many.expected_count.is_none(),
                expected_count: many.expected_count,
            }
        };
    }
    // A dry run with the key of the order would be answered in its place.
    let key = many.expected_count.map(|_| key);
    match order {
        Order::Pause { reason, until } => {
            let which = which!(pause_schedules);
            let variables = pause_schedules::Variables { which, reason, until, key };
            Ask::new::<operations::PauseSchedules>(variables)
        }
        Order::Resume { missed } => {
            let which = which!(resume_schedules);
            let variables = resume_schedules::Variables { which, missed, key };
            Ask::new::<operations::ResumeSchedules>(variables)
        }
        Order::Skip { count, reason } => {
            let which = which!(skip_next_of_schedules);
            let variables = skip_next_of_schedules::Variables { which, count, reason, key };
            Ask::new::<operations::SkipNextOfSchedules>(variables)
        }
        Order::Run { reason } => {
            let which = which!(trigger_schedules);
            let variables = trigger_schedules::Variables { which, reason, key };
            Ask::new::<operations::TriggerSchedules>(variables)
        }
        Order::Delete { reason } => {
            let which = which!(delete_schedules);
            let variables = delete_schedules::Variables { which, reason, key };
            Ask::new::<operations::DeleteSchedules>(variables)
        }
    }
}
