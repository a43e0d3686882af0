//! Finds schedules whose times an upcoming clock change affects.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};
use entity::{alert::Kind, schedule};
use timetable::ClockChange;
use uuid::Uuid;

use super::{
    judge::{self, AlertPlan},
    look::FailurePass,
};
use crate::{
    engine::EngineError,
    model::Spec,
    store::alerts::{notes, standing},
};

/// Maximum number of schedules checked per round.
const PAGE: u64 = 200;
/// The pause between two passes over all schedules.
const REST: TimeDelta = TimeDelta::hours(1);

/// A pass over the schedules of all namespaces with a rule for clock changes, one page per round.
#[derive(Debug, Default)]
pub(super) struct ClockWalk {
    /// The last schedule of the previous page; `None` between two passes.
    after: Option<Uuid>,
    /// When the last pass ended.
    ended_at: Option<DateTime<Utc>>,
    /// The rules for which the pass was started. A new rule starts a new pass.
    rules: Vec<(Uuid, i32)>,
}

/// A schedule and the clock change that affects it.
#[derive(Clone, Debug)]
pub(super) struct AffectedSchedule {
    pub(super) schedule_id: Uuid,
    pub(super) namespace_id: Uuid,
    pub(super) change: ClockChange,
}

impl FailurePass<'_> {
    /// Checks the next page of schedules.
    pub(super) async fn at_clocks(&mut self, walk: &mut ClockWalk) -> Result<(), EngineError> {
        let asking = self.rules.iter().filter(|active| active.rule.notes(Kind::ClockChange));
        let (mut rules, mut namespaces, mut days) = (Vec::new(), HashSet::new(), 0);
        for active in asking {
            rules.push((active.row.id, active.row.version));
            namespaces.insert(active.row.namespace_id);
            days = days.max(active.rule.clock_change_days);
        }
        if walk.rules != rules {
            *walk = ClockWalk { rules, ..ClockWalk::default() };
        }
        let rests = |ended: DateTime<Utc>| (self.now - ended).abs() < REST;
        if namespaces.is_empty() || (walk.after.is_none() && walk.ended_at.is_some_and(rests)) {
            return Ok(());
        }
        let store = &self.core.store;
        let namespaces: Vec<Uuid> = namespaces.into_iter().collect();
        let after = walk.after.unwrap_or(Uuid::nil());
        let page = standing::enabled(store, &namespaces, after, PAGE).await?;
        let until = self.now + TimeDelta::try_days(days).unwrap_or_default();
        let touched: Vec<AffectedSchedule> =
            page.iter().filter_map(|row| self.touched(row, until)).collect();
        let scopes = self.scopes(touched.iter().map(|t| (t.namespace_id, t.schedule_id))).await?;
        let mut new = judge::clock_changes(&touched, self.rules, &scopes, self.now);
        let known = notes::known(store, &new).await?;
        new.retain(|one| !known.contains(&(one.rule_id, one.occurrence.clone())));
        if !self.write(AlertPlan { new, ..AlertPlan::default() }, None).await? {
            // The lease term is over: the next holder will check this page again.
            return Ok(());
        }
        let is_full = u64::try_from(page.len()).is_ok_and(|count| count >= PAGE);
        walk.after = page.last().map(|row| row.id).filter(|_| is_full);
        if walk.after.is_none() {
            walk.ended_at = Some(self.now);
        }
        Ok(())
    }

    fn touched(&self, row: &schedule::Model, until: DateTime<Utc>) -> Option<AffectedSchedule> {
        let definition = Spec::of(row).timing.definition(row.id, row.anchor_at.utc());
        let timetable = self.core.timings.timetable(&definition).ok()?;
        let change = timetable.clock_change(self.now, until)?;
        Some(AffectedSchedule { schedule_id: row.id, namespace_id: row.namespace_id, change })
    }
}
