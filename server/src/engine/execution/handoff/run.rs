//! Creates the run that an intent becomes, and the key by which receivers recognise it. No IO.

use chrono::{DateTime, Utc};
use entity::fire::Reason;
use serde_json::{Value, json};

use crate::{
    model::definition::CompiledDefinition,
    store::handoffs::{CurrentSchedule, Intent, NewRun},
};

/// The run that an intent becomes. It has not started, and nothing has been reported about it.
pub(super) fn new_run(
    intent: &Intent,
    schedule: &CurrentSchedule,
    known: &CompiledDefinition,
    reason: Reason,
    now: DateTime<Utc>,
) -> NewRun {
    let is_recovery = reason == Reason::Recovered;
    let context = is_recovery.then(|| {
        let mut context = schedule.context.clone();
        mark_recovery(&mut context, intent.id, intent.scheduled_at.utc(), now);
        context
    });
    NewRun {
        id: intent.id,
        namespace_id: intent.namespace_id,
        schedule_id: intent.schedule_id,
        workflow_id: schedule.workflow_id,
        workflow_version: schedule.workflow_version,
        scheduled_at: intent.scheduled_at,
        due_at: intent.due_at,
        max_attempts: known.definition.max_attempts(),
        runs_on: known.definition.asked_tags(),
        origin: known.origin(intent.namespace_id),
        context,
        is_recovery,
        idempotency_key: idempotency_key(intent.schedule_id, intent.scheduled_at.utc()),
        reason,
        detail: None,
        group_id: schedule.group_id,
        priority: schedule.priority,
        start: None,
    }
}

/// The keys that recovery adds to the context of a run.
const RECOVERY_KEYS: [&str; 4] =
    ["is_recovery", "original_scheduled_time", "recovery_attempt_time", "execution_id"];

/// Marks a context, so that tasks can see that recovery started them.
pub(crate) fn mark_recovery(
    context: &mut Value,
    execution: uuid::Uuid,
    scheduled_at: DateTime<Utc>,
    now: DateTime<Utc>,
) {
    if let Value::Object(map) = context {
        let values = [
            json!(true),
            json!(scheduled_at.to_rfc3339()),
            json!(now.to_rfc3339()),
            json!(execution),
        ];
        map.extend(RECOVERY_KEYS.map(str::to_owned).into_iter().zip(values));
    }
}

/// Removes recovery's marks from a context: a run that repeats a recovered run was not recovered.
pub(crate) fn unmark_recovery(context: &mut Value) {
    if let Value::Object(map) = context {
        for key in RECOVERY_KEYS {
            map.remove(key);
        }
    }
}

/// The key by which a receiver recognises a fire that arrives twice: the same for all attempts.
pub(crate) fn idempotency_key(schedule: uuid::Uuid, scheduled_at: DateTime<Utc>) -> String {
    let seconds = scheduled_at.timestamp();
    match scheduled_at.timestamp_subsec_millis() {
        0 => format!("{schedule}-{seconds}"),
        millis => format!("{schedule}-{seconds}.{millis:03}"),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use uuid::Uuid;

    use super::*;

    fn after(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn the_idempotency_key_names_schedule_and_second() {
        let key = idempotency_key(Uuid::nil(), after(1_647_067_401));
        assert_eq!(key, "00000000-0000-0000-0000-000000000000-1647067401");
        let key = idempotency_key(Uuid::nil(), after(1) + TimeDelta::milliseconds(7));
        assert!(key.ends_with("-1.007"), "{key}");
    }
}
