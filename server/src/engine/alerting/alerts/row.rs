//! The rows of new alerts.

use chrono::{DateTime, Utc};
use entity::{
    Timestamp,
    alert::{Kind, Model},
};
use uuid::Uuid;

use super::rule::{ActiveRule, event_of};
use crate::{random::new_id, store::alerts::notes::word};

/// An alert about a lasting condition.
/// It is sent once the condition has lasted for the grace period.
pub(super) fn begun(
    active: &ActiveRule,
    kind: Kind,
    key: Uuid,
    began: Timestamp,
    last: Timestamp,
    now: DateTime<Utc>,
) -> Model {
    let tells = active.rule.tells(event_of(kind));
    let grace = active.rule.grace_seconds.saturating_mul(1_000);
    Model {
        ended_at: None,
        tell_at: tells.then_some(Timestamp(began.0.saturating_add(grace))),
        // A rule that reports only recoveries counts the beginning of an alert as already reported.
        told_at: (!tells).then(|| now.into()),
        ..happened(active, kind, key, began, last, now)
    }
}

/// An alert about a momentary event, which has no grace period.
pub(super) fn happened(
    active: &ActiveRule,
    kind: Kind,
    key: Uuid,
    began: Timestamp,
    last: Timestamp,
    now: DateTime<Utc>,
) -> Model {
    Model {
        id: new_id(now),
        namespace_id: active.row.namespace_id,
        rule_id: active.row.id,
        kind,
        occurrence: format!("{}:{key}", word(kind)),
        schedule_id: None,
        subject: String::new(),
        run_id: None,
        fire_id: None,
        detail: None,
        count: 1,
        began_at: began,
        last_at: last,
        ended_at: Some(last),
        tell_at: Some(now.into()),
        told_at: None,
        acknowledged_at: None,
        acknowledged_by: None,
        acknowledged_note: None,
        acknowledged_until: None,
        withdrawn_at: None,
        changed: 0,
    }
}
