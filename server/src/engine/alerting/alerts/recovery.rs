//! Closes alerts whose cause is over.

use std::collections::{HashMap, HashSet};

use entity::alert::{Kind, Model};
use uuid::Uuid;

use super::{
    judge::recovery,
    look::{FailurePass, MAX_WRITTEN},
    rule::Rule,
};
use crate::{
    engine::EngineError,
    store::alerts::{
        notes::{self, EndedAlert},
        standing::{self, AlertRecovery},
    },
};

const PAGE: u64 = 500;

impl FailurePass<'_> {
    /// Closes the alerts of schedules whose runs succeed again or that were
    /// deleted; returns the number of closed alerts.
    pub(super) async fn at_mended(&mut self) -> Result<usize, EngineError> {
        let store = &self.core.store;
        let (mut after, mut ended) = (Uuid::nil(), 0);
        loop {
            let kinds = [Kind::Failed, Kind::Losing];
            let open = notes::open_page(store, &kinds, after, PAGE).await?;
            let Some(last) = open.last() else { return Ok(ended) };
            after = last.id;
            let asked: Vec<(Uuid, Uuid, Uuid)> = open
                .iter()
                .filter_map(|alert| Some((alert.id, alert.schedule_id?, alert.run_id?)))
                .collect();
            let mended = standing::mended(store, &asked).await?;
            ended += self.end(&self.mended(&open, mended)).await?;
            if u64::try_from(open.len()).is_ok_and(|count| count < PAGE) {
                return Ok(ended);
            }
        }
    }

    /// The open alerts whose schedules have recovered or were deleted.
    pub(super) fn mended(&self, open: &[Model], mended: Vec<AlertRecovery>) -> Vec<EndedAlert> {
        let by_id: HashMap<Uuid, &Model> = open.iter().map(|alert| (alert.id, alert)).collect();
        let mut over = Vec::new();
        for mended in mended {
            let Some(alert) = by_id.get(&mended.id) else { continue };
            if let Some(at) = mended.mended_at {
                let tell_at = recovery(alert, self.rule(alert.rule_id), self.now);
                // The run that succeeded may have ended before the alert began.
                let ended_at = at.max(alert.began_at);
                over.push(EndedAlert { id: alert.id, ended_at, tell_at });
            } else if !mended.lives {
                // A deleted schedule has not recovered, so no recovery is reported.
                over.push(EndedAlert { id: alert.id, ended_at: self.now.into(), tell_at: None });
            }
        }
        over
    }

    /// Closes alerts of nodes that are back.
    pub(super) async fn at_nodes_back(&mut self) -> Result<usize, EngineError> {
        let store = &self.core.store;
        let open = notes::open_all(store, &[Kind::NodeLost]).await?;
        if open.is_empty() {
            return Ok(0);
        }
        let living: HashSet<String> = standing::living_nodes(store).await?.into_iter().collect();
        self.end(&self.recovered(&open, |alert| living.contains(&alert.subject))).await
    }

    /// The open alerts for which `is_over` holds, as alerts that end now.
    pub(super) fn recovered(
        &self,
        open: &[Model],
        is_over: impl Fn(&Model) -> bool,
    ) -> Vec<EndedAlert> {
        let end = |alert: &Model| EndedAlert {
            id: alert.id,
            ended_at: self.now.into(),
            tell_at: recovery(alert, self.rule(alert.rule_id), self.now),
        };
        open.iter().filter(|alert| is_over(alert)).map(end).collect()
    }

    pub(super) fn rule(&self, id: Uuid) -> Option<&Rule> {
        self.rules.iter().find(|active| active.row.id == id).map(|active| &active.rule)
    }

    /// Closes alerts, in transactions of at most `MAX_WRITTEN`. Returns the number of closed alerts.
    pub(super) async fn end(&self, over: &[EndedAlert]) -> Result<usize, EngineError> {
        let store = &self.core.store;
        let mut ended = 0;
        for over in over.chunks(MAX_WRITTEN) {
            let Some(tx) = self.lease.begin(store, &self.core.clock).await? else { break };
            notes::end(store, &tx, over).await?;
            store.commit(tx).await?;
            ended += over.len();
        }
        Ok(ended)
    }
}
