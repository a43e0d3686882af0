use std::collections::HashSet;

use chrono::TimeDelta;
use entity::{
    Timestamp,
    alert::{Kind, Model},
};
use uuid::Uuid;

use super::{judge, look::FailurePass};
use crate::{
    engine::{EngineError, jobs::SILENT},
    store::alerts::{
        notes::{self, EndedAlert},
        standing::{self, StallAlert},
    },
};

/// Maximum number of waiting items of each kind that are read per namespace.
const MAX: u64 = 500;

impl FailurePass<'_> {
    /// Records waiting work that no node takes, and closes alerts about work that was taken.
    /// Returns the number of closed alerts.
    pub(super) async fn at_stalls(&mut self) -> Result<usize, EngineError> {
        let store = &self.core.store;
        let open = notes::open_all(store, &[Kind::Stalled]).await?;
        let rules = self.rules.iter().filter(|active| active.rule.notes(Kind::Stalled));
        let (mut namespaces, mut shortest): (HashSet<Uuid>, Option<i64>) = (HashSet::new(), None);
        for active in rules {
            namespaces.insert(active.row.namespace_id);
            let seconds = active.rule.stalled_after_seconds;
            shortest = Some(shortest.map_or(seconds, |shortest| shortest.min(seconds)));
        }
        let silent = Timestamp::from(self.now - SILENT);
        if let Some(seconds) = shortest {
            let namespaces: Vec<Uuid> = namespaces.into_iter().collect();
            let before = self.waited(seconds);
            let waiting = standing::waiting(store, &namespaces, before, silent, MAX).await?;
            let schedules = waiting.iter().map(|w| (w.namespace_id, w.schedule_id));
            let scopes = self.scopes(schedules).await?;
            let new = judge::stalled(&waiting, self.rules, &scopes, &open, self.now);
            self.write_new(new).await?;
        }
        self.close_stalls(open, silent).await
    }

    /// Closes the alerts of schedules whose work was taken, and those of rules that no longer
    /// report stalled work.
    async fn close_stalls(
        &self,
        open: Vec<Model>,
        silent: Timestamp,
    ) -> Result<usize, EngineError> {
        let is_dropped =
            |alert: &Model| self.rule(alert.rule_id).is_some_and(|rule| !rule.notes(Kind::Stalled));
        let (dropped, open): (Vec<Model>, Vec<Model>) = open.into_iter().partition(is_dropped);
        // A separate query for work that was already reported:
        // the limit could hide it in the list of what waits.
        let told: Vec<StallAlert> = open.iter().filter_map(|alert| self.stall_of(alert)).collect();
        let still = standing::still_waiting(&self.core.store, &told, silent).await?;
        let mut over = self.recovered(&open, |alert| !still.contains(&alert.id));
        // The work of these schedules may still wait, so no recovery is reported.
        let ended_at = self.now.into();
        over.extend(dropped.iter().map(|alert| EndedAlert {
            id: alert.id,
            ended_at,
            tell_at: None,
        }));
        self.end(&over).await
    }

    /// The work that must still wait for an alert to stay open. If the alert began while its rule
    /// had a shorter limit, it stays open as long as the same work waits.
    fn stall_of(&self, alert: &Model) -> Option<StallAlert> {
        let seconds = self.rule(alert.rule_id).map(|rule| rule.stalled_after_seconds);
        let before = seconds.map_or(alert.began_at, |seconds| self.waited(seconds));
        Some(StallAlert {
            id: alert.id,
            schedule_id: alert.schedule_id?,
            before: before.max(alert.began_at),
        })
    }

    /// The start of a wait that has lasted for this long.
    fn waited(&self, seconds: i64) -> Timestamp {
        (self.now - TimeDelta::try_seconds(seconds).unwrap_or_default()).into()
    }
}
