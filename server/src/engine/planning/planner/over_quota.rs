//! Skips the fires that exceed the namespace's quota of fires per minute.
//! Each of them still gets its place in the ledger.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use entity::fire::{Reason, Verdict};
use uuid::Uuid;

use crate::{
    engine::{planning::buffer::Demand, quotas::Meter},
    store::claims::{DueSchedule, NewFire},
};

/// The fires of a claim that are counted against their quotas.
///
/// A claim that fails is repeated, in parts if the database refuses it, and each try counts its
/// fires. So when this value is dropped, the fires that did not start are given back. If the answer
/// to the commit was lost, that includes fires that do start: a few too many in a minute do less
/// harm than one that is skipped for nothing.
#[derive(Debug)]
pub(super) struct QuotaCharge {
    meter: Meter,
    now: DateTime<Utc>,
    /// Number of fires that were counted and have not started, by namespace.
    waiting: HashMap<Uuid, i64>,
}

impl QuotaCharge {
    pub(super) fn new(meter: &Meter, now: DateTime<Utc>) -> Self {
        Self { meter: meter.clone(), now, waiting: HashMap::new() }
    }

    /// Skips the fires of a schedule that exceed the quota.
    /// Consecutive ones become one row. A skipped fire stops no runs.
    pub(super) fn skip(
        &mut self,
        schedule: &DueSchedule,
        fires: &mut Vec<NewFire>,
        demand: &mut Option<Demand>,
    ) {
        let wanted = fires.iter().filter(|fire| fire.verdict == Verdict::Pending).count();
        if wanted == 0 {
            return;
        }
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        let mut left = self.meter.take_fires(schedule.namespace_id, wanted, self.now);
        *self.waiting.entry(schedule.namespace_id).or_default() += left;
        if left == wanted {
            return;
        }
        if demand.take().is_some() {
            left = 0;
        }
        let limit = self.meter.quotas(schedule.namespace_id).fires_a_minute.unwrap_or_default();
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

    /// Records that the claim is committed, so that those of its fires start that were `written`.
    pub(super) fn start(&mut self, fires: &[NewFire], written: &HashSet<Uuid>) {
        let starts =
            |fire: &&NewFire| fire.verdict == Verdict::Pending && written.contains(&fire.id);
        for fire in fires.iter().filter(starts) {
            if let Some(waiting) = self.waiting.get_mut(&fire.namespace_id) {
                *waiting -= 1;
            }
        }
    }
}

impl Drop for QuotaCharge {
    fn drop(&mut self) {
        for (namespace, unused) in &self.waiting {
            self.meter.give_back_fires(*namespace, *unused, self.now);
        }
    }
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
