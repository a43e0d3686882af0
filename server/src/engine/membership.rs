//! The node's life among the nodes: joining, heartbeat, leaving; and stopping what others want
//! stopped.

use std::{collections::HashSet, sync::Arc};

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use super::{
    EngineError, Settings,
    core::{Core, StopReason, new_id},
    service::Service,
};
use crate::{
    clock::Clock,
    store::{
        Store,
        holds::Hold,
        nodes::{Heartbeat, Joining},
    },
};

/// Begins a life; gives its key.
pub(super) async fn join(
    store: &Store,
    clock: &Clock,
    settings: &Settings,
) -> Result<Uuid, EngineError> {
    let id = new_id(clock.now());
    let joining = Joining {
        id,
        name: settings.node_name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        zone_data: timetable::zone_data().version.clone(),
        capacity: i32::try_from(settings.capacity).unwrap_or(i32::MAX),
    };
    store.join(&joining).await?;
    Ok(id)
}

/// Says that the node is alive. A node that hears that it is not stops what it held, for others
/// hold it now, and begins a new life.
#[derive(Debug)]
pub(super) struct Pulse {
    pub(super) core: Arc<Core>,
}

/// What a beat found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PulseReport {
    /// Attempts stopped because the node had been declared dead.
    pub lost: usize,
    /// Whether it began a new life.
    pub rejoined: bool,
    /// Whether its life had ended because another process bears its name.
    pub had_namesake: bool,
}

impl Service for Pulse {
    type Report = PulseReport;
    const NAME: &'static str = "pulse";

    async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<PulseReport, EngineError> {
        let core = &self.core;
        let node = core.node_id().await;
        let rejoined = core.store.beat_if_alive(node).await? == Heartbeat::Lost;
        let name = &core.settings.node_name;
        let had_namesake = rejoined && core.store.has_namesake(node, name).await?;
        let node = if rejoined {
            if had_namesake {
                tracing::error!(
                    %node, name,
                    "another process has joined under this node's name and ended its life; give \
                     each process a node.name of its own"
                );
            } else {
                tracing::error!(%node, "this node was declared dead; it starts a new life");
            }
            let mut current = core.node.write().await;
            *current = join(&core.store, &core.clock, &core.settings).await?;
            // Under the old life nothing could be taken.
            core.signals.wake_dispatcher();
            *current
        } else {
            node
        };
        // At each beat: an attempt may have begun under the old life while the new one did.
        let lost = core.stop_held(StopReason::Lost, |hold| hold.node_id != node);
        Ok(PulseReport { lost, rejoined, had_namesake })
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.heartbeat_interval).unwrap_or_default()
    }

    fn is_notable(report: &PulseReport) -> bool {
        *report != PulseReport::default()
    }
}

/// Stops the attempts of this node that somebody wants stopped, and those whose run was ended
/// without it.
#[derive(Debug)]
pub(super) struct Canceller {
    pub(super) core: Arc<Core>,
}

/// What a round stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CancellerReport {
    /// Attempts told to stop.
    pub stopped: usize,
    /// Attempts stopped because their hold was lost.
    pub lost: usize,
}

impl Service for Canceller {
    type Report = CancellerReport;
    const NAME: &'static str = "canceller";

    async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<CancellerReport, EngineError> {
        let core = &self.core;
        if core.held_count() == 0 {
            return Ok(CancellerReport::default());
        }
        let node = core.node_id().await;
        let wanted = core.store.cancel_requests(node).await?;
        let stopped = core.stop_held(StopReason::Cancelled, |hold| wanted.contains(&hold.run_id));
        // Looked at before the tables: what is held by then is there, unless it was lost. What is
        // held by another life of this node is not asked about here, and no business of this round.
        let held = core.holds().into_iter().filter(|hold| hold.node_id == node);
        let there: HashSet<Hold> = core.store.held_by(node).await?.into_iter().collect();
        let gone: HashSet<Hold> = held.filter(|hold| !there.contains(hold)).collect();
        let lost = core.stop_held(StopReason::Lost, |hold| gone.contains(hold));
        Ok(CancellerReport { stopped, lost })
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.heartbeat_interval).unwrap_or_default()
    }

    fn is_notable(report: &CancellerReport) -> bool {
        *report != CancellerReport::default()
    }
}
