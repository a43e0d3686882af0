use std::collections::HashSet;

use chrono::TimeDelta;
use entity::alert::{Kind, Model};
use uuid::Uuid;

use super::{judge, look::FailurePass};
use crate::{
    engine::{EngineError, jobs::SILENT},
    store::alerts::{notes, standing},
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
        let mut still = HashSet::new();
        if let Some(seconds) = shortest {
            let before = (self.now - TimeDelta::try_seconds(seconds).unwrap_or_default()).into();
            let namespaces: Vec<Uuid> = namespaces.into_iter().collect();
            let silent = (self.now - SILENT).into();
            let waiting = standing::waiting(store, &namespaces, before, silent, MAX).await?;
            let schedules = waiting.iter().map(|w| (w.namespace_id, w.schedule_id));
            let scopes = self.scopes(schedules).await?;
            let new = judge::stalled(&waiting, self.rules, &scopes, &open, self.now);
            self.write_new(new).await?;
            // A separate query for work that was already reported:
            // the limit could hide it in the list above.
            let told: Vec<Uuid> = open.iter().filter_map(|alert| alert.schedule_id).collect();
            still = standing::still_waiting(store, &told, before, silent).await?;
        }
        let is_over = |alert: &Model| alert.schedule_id.is_none_or(|id| !still.contains(&id));
        self.end(&self.recovered(&open, is_over)).await
    }
}
