//! Records runs that take longer than their schedule's runs usually do.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use entity::alert::{Kind, Model};
use uuid::Uuid;

use super::{judge, look::FailurePass};
use crate::{
    engine::EngineError,
    model::UsualDuration,
    store::{
        alerts::{
            notes,
            standing::{self, LongRun},
        },
        reads::schedule_stats,
    },
};

/// Runs shorter than this are never slow, however short the schedule's runs usually are.
pub(super) const SHORTEST: TimeDelta = TimeDelta::minutes(1);
/// Maximum number of runs that are checked, longest-running first.
pub(super) const MAX: u64 = 1_000;
/// The period and the number of newest runs from which a usual duration is computed.
pub(super) const LOOKED_AT: TimeDelta = TimeDelta::days(30);
pub(super) const RUNS: u64 = 100;
/// How long a computed usual duration stays valid.
const HOLDS: TimeDelta = TimeDelta::minutes(5);

/// The usual durations of runs, for the schedules that recently needed them.
#[derive(Debug, Default)]
pub(super) struct UsualDurations {
    of: HashMap<Uuid, (DateTime<Utc>, Option<UsualDuration>)>,
}

impl UsualDurations {
    pub(super) fn of(&self, schedule: Uuid) -> Option<&UsualDuration> {
        self.of.get(&schedule).and_then(|(_, usual)| usual.as_ref())
    }

    /// The usual duration of one schedule's runs, which never becomes outdated.
    pub(super) fn known(schedule: Uuid, usual: UsualDuration) -> Self {
        Self { of: HashMap::from([(schedule, (DateTime::<Utc>::MAX_UTC, Some(usual)))]) }
    }
}

impl FailurePass<'_> {
    /// Records slow runs, and closes the alerts of slow runs that have ended.
    /// Returns the number of closed alerts.
    pub(super) async fn at_slow(
        &mut self,
        usual: &mut UsualDurations,
    ) -> Result<usize, EngineError> {
        let store = &self.core.store;
        let rules = self.rules.iter().filter(|active| active.rule.notes(Kind::Slow));
        let namespaces: HashSet<Uuid> = rules.map(|active| active.row.namespace_id).collect();
        if !namespaces.is_empty() {
            let namespaces: Vec<Uuid> = namespaces.into_iter().collect();
            let before = (self.now - SHORTEST).into();
            let runs = standing::at_work(store, &namespaces, before, MAX).await?;
            self.learn(usual, &runs).await?;
            let scopes =
                self.scopes(runs.iter().map(|run| (run.namespace_id, run.schedule_id))).await?;
            let new = judge::slow(&runs, usual, self.rules, &scopes, self.now);
            let known = notes::known(store, &new).await?;
            let is_new = |one: &Model| !known.contains(&(one.rule_id, one.occurrence.clone()));
            let new = new.into_iter().filter(is_new).collect();
            self.write_new(new).await?;
        }
        self.at_slow_no_more().await
    }

    /// Reads the usual durations for the schedules of these runs, if they are unknown or outdated.
    async fn learn(&self, usual: &mut UsualDurations, runs: &[LongRun]) -> Result<(), EngineError> {
        let now = self.now;
        let holds = |read_at: DateTime<Utc>| (now - read_at).abs() < HOLDS;
        let asked: HashSet<Uuid> = runs.iter().map(|run| run.schedule_id).collect();
        usual.of.retain(|id, (read_at, _)| asked.contains(id) && holds(*read_at));
        let missing: Vec<Uuid> =
            asked.into_iter().filter(|id| !usual.of.contains_key(id)).collect();
        let store = &self.core.store;
        for ids in missing.chunks(100) {
            let from = (now - LOOKED_AT).into();
            let mut figures =
                schedule_stats::of_schedules(store, ids, from, now.into(), RUNS).await?;
            for id in ids {
                let found =
                    figures.remove(id).and_then(|figures| UsualDuration::of(figures.successes));
                usual.of.insert(*id, (now, found));
            }
        }
        Ok(())
    }

    /// Closes the alerts of slow runs that have ended.
    async fn at_slow_no_more(&self) -> Result<usize, EngineError> {
        let store = &self.core.store;
        let open = notes::open_all(store, &[Kind::Slow]).await?;
        if open.is_empty() {
            return Ok(0);
        }
        let runs: Vec<Uuid> = open.iter().filter_map(|alert| alert.run_id).collect();
        let still = standing::still_at_work(store, &runs).await?;
        let is_over = |alert: &Model| alert.run_id.is_none_or(|id| !still.contains(&id));
        self.end(&self.recovered(&open, is_over)).await
    }
}
