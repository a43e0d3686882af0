//! Rows of the ledger and jobs for tests, each of which changes the fields that it is about.

use carillon::store::workers::awaited::NewJob;
use entity::{
    Timestamp,
    fire::{self, Kind, Reason, Verdict},
    run,
};
use serde_json::json;
use uuid::Uuid;

/// An intent that no node owns, for one instant.
pub(crate) fn fire_row(namespace_id: Uuid, schedule_id: Uuid, at: Timestamp) -> fire::Model {
    fire::Model {
        id: Uuid::now_v7(),
        namespace_id,
        schedule_id,
        schedule_version: 1,
        scheduled_at: at,
        due_at: at,
        last_scheduled_at: at,
        count: 1,
        kind: Kind::Normal,
        verdict: Verdict::Pending,
        reason: Reason::AwaitingHandoff,
        detail: None,
        claimed_by: None,
        claimed_at: at,
        decided_at: None,
        run_id: None,
        queue_position: None,
        recovery_attempts: 0,
        recovery_at: None,
        made_up_for: None,
        changed: None,
    }
}

/// A run of a schedule that succeeded at once, on no node and for no fire.
pub(crate) fn run_row(
    namespace_id: Uuid,
    schedule_id: Uuid,
    workflow_id: Uuid,
    at: Timestamp,
) -> run::Model {
    run::Model {
        id: Uuid::now_v7(),
        namespace_id,
        schedule_id: Some(schedule_id),
        fire_id: None,
        workflow_id,
        workflow_version: 1,
        trigger: run::Trigger::Schedule,
        state: run::State::Succeeded,
        scheduled_at: at,
        due_at: at,
        created_at: at,
        available_at: at,
        started_at: Some(at),
        finished_at: Some(at),
        attempt: 1,
        max_attempts: 1,
        recovery_attempts: 0,
        node_id: None,
        epoch: 1,
        hard_deadline_at: None,
        error: None,
        cancel_requested_at: None,
        cancel_by: None,
        cancel_reason: None,
        context: json!({}),
        is_recovery: false,
        idempotency_key: format!("{schedule_id}-{}", at.0 / 1_000),
        retry_of: None,
        group_id: None,
        priority: 0,
        runs_on: None,
        origin: None,
        backfill_id: None,
        changed: 0,
    }
}

/// A job for a worker, which no node waits for. The run has the same id.
pub(crate) fn job_row(namespace_id: Uuid, run_id: Uuid, created_at: Timestamp) -> NewJob {
    NewJob {
        id: run_id,
        namespace_id,
        run_id,
        run_task: "main".to_owned(),
        attempt: 1,
        queue: "emails".to_owned(),
        task: "send".to_owned(),
        tags: None,
        input: json!({}),
        about: json!({}),
        priority: 0,
        timeout_ms: 1_000,
        lease_ms: 1_000,
        created_at,
        awaited_until: Timestamp(0),
    }
}
