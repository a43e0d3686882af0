//! Skips the fires that exceed the namespace's quota of fires per minute.
//! Each of them still gets its place in the ledger.

use chrono::{DateTime, Utc};
use entity::fire::{Reason, Verdict};

use crate::{
    engine::{planning::buffer::Demand, quotas::Meter},
    store::claims::{DueSchedule, NewFire},
};

/// Skips the fires of a schedule that exceed the quota.
/// Consecutive ones become one row. A skipped fire stops no runs.
pub(super) fn skip(
    meter: &Meter,
    schedule: &DueSchedule,
    fires: &mut Vec<NewFire>,
    demand: &mut Option<Demand>,
    now: DateTime<Utc>,
) {
    let wanted = fires.iter().filter(|fire| fire.verdict == Verdict::Pending).count();
    if wanted == 0 {
        return;
    }
    let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
    let mut left = meter.take_fires(schedule.namespace_id, wanted, now);
    if left == wanted {
        return;
    }
    if demand.take().is_some() {
        left = 0;
    }
    let limit = meter.quotas(schedule.namespace_id).fires_a_minute.unwrap_or_default();
    for fire in fires.iter_mut().filter(|fire| fire.verdict == Verdict::Pending) {
        if left > 0 {
            left -= 1;
            continue;
        }
        (fire.verdict, fire.reason) = (Verdict::Skipped, Reason::Quota);
        (fire.claimed_by, fire.queue_position) = (None, None);
        fire.detail = Some(limit.to_string());
    }
    *fires = in_rows(std::mem::take(fires));
}

/// Merges consecutive fires that were skipped because of the quota into one row.
fn in_rows(fires: Vec<NewFire>) -> Vec<NewFire> {
    let mut rows: Vec<NewFire> = Vec::with_capacity(fires.len());
    for fire in fires {
        match rows.last_mut() {
            Some(last) if last.reason == Reason::Quota && fire.reason == Reason::Quota => {
                last.last_scheduled_at = fire.last_scheduled_at;
                last.count += fire.count;
            }
            _ => rows.push(fire),
        }
    }
    rows
}
