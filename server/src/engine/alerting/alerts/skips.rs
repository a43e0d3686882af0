//! Records schedules that skip fires for load.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    alert::{Kind, Model},
};
use uuid::Uuid;

use super::{
    judge::{self, AlertPlan},
    look::{FailurePass, MAX_WRITTEN},
};
use crate::{
    engine::EngineError,
    store::alerts::{
        notes::{self, EndedAlert},
        skips,
    },
};

/// The period in which the skipped fires of a schedule are counted.
pub(super) const WITHIN: TimeDelta = TimeDelta::hours(1);
/// The interval at which they are counted.
const INTERVAL: TimeDelta = TimeDelta::minutes(1);
/// Maximum number of rows that are counted, newest first.
const MAX: u64 = 100_000;

/// When skipped fires were last counted, and for which rules. A new rule is applied at once.
#[derive(Debug, Default)]
pub(super) struct SkipCount {
    counted_at: Option<DateTime<Utc>>,
    rules: Vec<(Uuid, i32)>,
}

impl FailurePass<'_> {
    /// Records schedules that skip fires, and closes the alerts of those that start their fires
    /// again. Returns the number of closed alerts.
    pub(super) async fn at_skips(&mut self, last: &mut SkipCount) -> Result<usize, EngineError> {
        let asking = self.rules.iter().filter(|active| active.rule.notes(Kind::Skipped));
        let (mut rules, mut namespaces, mut least) = (Vec::new(), HashSet::new(), i64::MAX);
        for active in asking {
            rules.push((active.row.id, active.row.version));
            namespaces.insert(active.row.namespace_id);
            least = least.min(active.rule.skipped_after);
        }
        let rests = |at: DateTime<Utc>| (self.now - at).abs() < INTERVAL;
        if last.rules == rules && last.counted_at.is_some_and(rests) {
            return Ok(0);
        }
        let ended = self.at_skips_no_more().await?;
        if !rules.is_empty() {
            let namespaces: Vec<Uuid> = namespaces.into_iter().collect();
            let store = &self.core.store;
            let after = (self.now - WITHIN).into();
            let skipping = skips::skipping(store, &namespaces, after, MAX).await?;
            let many = skipping.iter().filter(|one| one.count >= least);
            let scopes = self.scopes(many.map(|one| (one.namespace_id, one.schedule_id))).await?;
            let open = notes::open_all(store, &[Kind::Skipped]).await?;
            let AlertPlan { new, going } =
                judge::skipped(&skipping, self.rules, &scopes, &open, self.now);
            self.write_new(new).await?;
            for going in going.chunks(MAX_WRITTEN) {
                let going = going.to_vec();
                self.write(AlertPlan { going, ..AlertPlan::default() }, None).await?;
            }
        }
        *last = SkipCount { counted_at: Some(self.now), rules };
        Ok(ended)
    }

    /// Closes the alerts of schedules that start their fires again or that were deleted, and those
    /// of rules that no longer report skipped fires.
    async fn at_skips_no_more(&self) -> Result<usize, EngineError> {
        let store = &self.core.store;
        let open = notes::open_all(store, &[Kind::Skipped]).await?;
        let is_dropped =
            |alert: &Model| self.rule(alert.rule_id).is_some_and(|rule| !rule.notes(Kind::Skipped));
        let (dropped, open): (Vec<Model>, Vec<Model>) = open.into_iter().partition(is_dropped);
        let asked: Vec<(Uuid, Uuid, Timestamp)> = open
            .iter()
            .filter_map(|alert| Some((alert.id, alert.schedule_id?, alert.last_at)))
            .collect();
        let mut over = self.mended(&open, skips::resumed(store, &asked).await?);
        // These schedules may not have recovered, so no recovery is reported.
        let ended_at = self.now.into();
        over.extend(dropped.iter().map(|alert| EndedAlert {
            id: alert.id,
            ended_at,
            tell_at: None,
        }));
        self.end(&over).await
    }
}
