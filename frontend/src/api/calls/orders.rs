//! Actions on one schedule, on all schedules that a search finds, and on all runs that a search finds.
//!
//! Each returns the id of the created or changed object. With a `key`, an action takes effect once, however often it
//! is sent.

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
    Ask::new::<UpdateSchedule>(operations::update_schedule::Variables { input })
}

pub(crate) fn pause_schedule(
    id: String,
    reason: String,
    until: Option<Moment>,
    missed: Option<CatchUp>,
    key: String,
) -> Ask<String> {
    let key = Some(key);
    Ask::new::<PauseSchedule>(operations::pause_schedule::Variables {
        id,
        reason,
        until,
        missed,
        key,
    })
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

/// Triggers a schedule; returns the id of the new run.
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

/// Replaces the note of a schedule.
pub(crate) fn annotate_schedule(id: String, note: String, key: String) -> Ask<String> {
    let variables = operations::annotate_schedule::Variables { id, note, key: Some(key) };
    Ask::new::<operations::AnnotateSchedule>(variables)
}

/// Skips the next fires.
pub(crate) fn skip_next(id: String, count: i64, reason: String, key: String) -> Ask<String> {
    let key = Some(key);
    Ask::new::<operations::SkipNext>(operations::skip_next::Variables { id, count, reason, key })
}

/// Restores an earlier version, as a new one.
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

/// Restores a deleted schedule, under another name if one is given.
pub(crate) fn undelete_schedule(id: String, name: Option<String>, key: String) -> Ask<String> {
    let variables = operations::undelete_schedule::Variables { id, name, key: Some(key) };
    Ask::new::<operations::UndeleteSchedule>(variables)
}

/// A bulk action on schedules or on runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    Pause { reason: String, until: Option<Moment>, missed: Option<CatchUp> },
    Resume { missed: CatchUp },
    Skip { count: i64, reason: String },
    Run { reason: Option<String> },
    Delete { reason: Option<String> },
    Change { change: ScheduleChange, reason: Option<String> },
    CancelRuns { reason: Option<String> },
    RetryRuns,
}

/// A change of many schedules. Empty fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ScheduleChange {
    pub(crate) add_tags: Vec<String>,
    pub(crate) remove_tags: Vec<String>,
    pub(crate) zone: Option<String>,
    pub(crate) group: GroupChange,
    pub(crate) priority: Option<i64>,
}

/// The change of the schedules' concurrency group.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum GroupChange {
    #[default]
    Keep,
    Leave,
    Join(String),
}

/// The schedules or runs of a bulk action: all of a namespace that a search finds. If `expected_count` is given, any
/// other number is a conflict. Without it, the action is a dry run that only counts the objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Many {
    pub(crate) namespace: String,
    pub(crate) search: String,
    pub(crate) expected_count: Option<i64>,
}

/// Performs a bulk action, or previews its effect.
pub(crate) fn order_many(order: Order, many: Many, key: String) -> Ask<ManyOutcome> {
    use operations::{
        cancel_runs, delete_schedules, pause_schedules, resume_schedules, retry_runs,
        skip_next_of_schedules, trigger_schedules, update_schedules,
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
    // A dry run sends no key. Otherwise the action would have the same key, and would only get the answer of the dry
    // run.
    let key = many.expected_count.map(|_| key);
    match order {
        Order::Pause { reason, until, missed } => {
            let which = which!(pause_schedules);
            let variables = pause_schedules::Variables { which, reason, until, missed, key };
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
        Order::Change { change, reason } => {
            let which = which!(update_schedules);
            let (change, absent) = change_input(change);
            let variables = update_schedules::Variables { which, change, reason, key };
            let ask = Ask::new::<operations::UpdateSchedules>(variables);
            absent.into_iter().fold(ask, |ask, field| ask.without("/variables/change", field))
        }
        Order::CancelRuns { reason } => {
            let variables = cancel_runs::Variables { which: which!(cancel_runs), reason, key };
            Ask::new::<operations::CancelRuns>(variables)
        }
        Order::RetryRuns => {
            let variables = retry_runs::Variables { which: which!(retry_runs), key };
            Ask::new::<operations::RetryRuns>(variables)
        }
    }
}

/// The input, and the names of its fields that must not be sent, because a null would remove their values.
fn change_input(
    change: ScheduleChange,
) -> (operations::update_schedules::ChangeSchedulesInput, Vec<&'static str>) {
    let ScheduleChange { add_tags, remove_tags, zone, group, priority } = change;
    let mut absent = vec![
        "calendars",
        "workflow",
        "misfire",
        "overlap",
        "bufferLimit",
        "startDeadlineSeconds",
        "retentionDays",
    ];
    absent.extend(zone.is_none().then_some("zone"));
    absent.extend(priority.is_none().then_some("priority"));
    absent.extend((group == GroupChange::Keep).then_some("group"));
    let group = match group {
        GroupChange::Keep | GroupChange::Leave => None,
        GroupChange::Join(group) => Some(group),
    };
    let input = operations::update_schedules::ChangeSchedulesInput {
        add_tags,
        remove_tags,
        zone,
        calendars: None,
        workflow: None,
        misfire: None,
        overlap: None,
        buffer_limit: None,
        group,
        priority,
        start_deadline_seconds: None,
        retention_days: None,
    };
    (input, absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bulk_edit_sends_only_what_changes() {
        let sent = |change: ScheduleChange| {
            let many = Many {
                namespace: "default".to_owned(),
                search: "tag:x".to_owned(),
                expected_count: None,
            };
            let order = Order::Change { change, reason: None };
            let ask = order_many(order, many, "key".to_owned());
            ask.request.body["variables"]["change"].clone()
        };
        let tagged = ScheduleChange { add_tags: vec!["eu".to_owned()], ..Default::default() };
        assert_eq!(sent(tagged), serde_json::json!({ "addTags": ["eu"], "removeTags": [] }));
        let left = sent(ScheduleChange { group: GroupChange::Leave, ..Default::default() });
        assert_eq!(left.get("group"), Some(&Value::Null));
        assert_eq!(left.get("priority"), None);
    }
}
