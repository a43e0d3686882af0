//! Backfills: runs of a schedule for past instants.

use serde::Deserialize;
use serde_json::Value;

use super::{
    BackfillFireState, BackfillMode, BackfillOrder, BackfillStanding, BackfillState, FireKind,
    Full, Page, Row, fire::Reason, run::ScheduleRef,
};
use crate::time::Moment;

/// A backfill in a list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Backfill {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) schedule: Option<ScheduleRef>,
    pub(crate) from: Moment,
    pub(crate) to: Moment,
    pub(crate) mode: BackfillMode,
    pub(crate) order: BackfillOrder,
    pub(crate) concurrency: i64,
    pub(crate) state: BackfillState,
    pub(crate) reason: String,
    pub(crate) created_by: String,
    pub(crate) created_at: Moment,
    pub(crate) finished_at: Option<Moment>,
    pub(crate) pause: Option<Stop>,
    pub(crate) cancel: Option<Stop>,
    pub(crate) progress: Progress,
}

/// Who stopped a backfill, and why.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Stop {
    pub(crate) by: String,
    pub(crate) at: Moment,
    pub(crate) reason: Option<String>,
}

/// A backfill's fires by outcome.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct Progress {
    pub(crate) total: i64,
    pub(crate) pending: i64,
    pub(crate) running: i64,
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    pub(crate) cancelled: i64,
    pub(crate) skipped: i64,
}

impl Backfill {
    pub(crate) fn zone(&self) -> Option<String> {
        self.schedule.as_ref().map(|schedule| schedule.timing.zone.clone())
    }

    pub(crate) fn title(&self) -> &str {
        self.schedule.as_ref().map_or("A deleted schedule", |schedule| &schedule.name)
    }
}

impl Row for Backfill {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A backfill with its context and a page of its fires.
pub(crate) type BackfillDetail = Full<Backfill, BackfillMore>;

/// The fields of a backfill that a row does not show.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct BackfillMore {
    /// What is merged into the schedule's context, if anything is.
    pub(crate) context: Option<Value>,
    /// A page of its fires.
    pub(crate) fires: Page<BackfillFire>,
}

/// One instant of a backfill.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BackfillFire {
    pub(crate) scheduled_at: Moment,
    pub(crate) kind: FireKind,
    pub(crate) state: BackfillFireState,
    pub(crate) detail: Option<String>,
    pub(crate) run: Option<RunRef>,
}

/// A run, by its key.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct RunRef {
    pub(crate) id: String,
}

/// The fires that a backfill of a window would run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct BackfillPreview {
    pub(crate) total: i64,
    pub(crate) missing: i64,
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    pub(crate) live: i64,
    pub(crate) suppressed: i64,
    pub(crate) forgotten: i64,
    pub(crate) selected: i64,
    pub(crate) fires: Page<PastFire>,
}

/// A fire of the window.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct PastFire {
    pub(crate) at: Moment,
    pub(crate) kind: FireKind,
    pub(crate) standing: BackfillStanding,
    pub(crate) selected: bool,
    pub(crate) fire: Option<FireReason>,
}

/// The reason, from the ledger, why an instant did not run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct FireReason {
    pub(crate) reason: Reason,
}

/// The duration of a run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Took {
    pub(crate) duration_ms: Option<i64>,
}
