use std::{sync::Arc, time::Instant};

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::{
    engine::{EngineError, core::Core, service::Service},
    model::OwnQuotas,
    store::{history::LOG_BATCH, namespaces},
};

/// The service that exchanges usage for the quotas. It reads the configured quotas, whether several
/// namespaces have schedules, how many runs of each namespace other nodes execute, and how many
/// bytes of log lines each namespace has written. It writes the bytes that this node has added.
#[derive(Debug)]
pub(in crate::engine) struct Refresh {
    core: Arc<Core>,
    /// When the bytes of log lines were last exchanged.
    exchanged: Option<Instant>,
}

/// The report is empty, because the result is in the meter and in the places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct RefreshReport;

/// Number of rounds between two exchanges of log bytes, each of which is a write and a sum.
const EXCHANGED_EVERY: u32 = 6;

impl Refresh {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        Self { core, exchanged: None }
    }

    /// Adds the bytes of log lines that this node has written to the database's counts.
    /// Reads the counts of namespaces with a quota: of those in `limited`,
    /// which have quotas of their own, or of all.
    async fn exchange_log_bytes(
        &mut self,
        mut limited: Vec<Uuid>,
        now: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        let core = &self.core;
        let every = core.settings.quotas_interval * EXCHANGED_EVERY;
        let instant = core.clock.instant();
        if self.exchanged.is_some_and(|last| instant.saturating_duration_since(last) < every) {
            return Ok(());
        }
        let meter = core.cluster.meter();
        for written in meter.fresh_log().chunks(LOG_BATCH) {
            let tx = core.store.begin().await?;
            core.store.add_log_bytes(&tx, written, now.into()).await?;
            // The bytes are marked as added before the outcome of the commit is known,
            // because it may never be known.
            // If bytes were added twice, they would count until their retention has passed.
            meter.added_log(written);
            core.store.commit_unseen(tx).await?;
        }
        if meter.usual().log_bytes.is_some() {
            let all = namespaces::all(core.store.read()).await?;
            limited = all.into_iter().map(|row| row.id).collect();
        }
        let days = core.settings.history_days();
        meter.set_kept_log(core.store.log_bytes_kept(&limited, days, now).await?);
        self.exchanged = Some(instant);
        Ok(())
    }
}

impl Service for Refresh {
    type Report = RefreshReport;
    const NAME: &'static str = "quotas";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<RefreshReport, EngineError> {
        let core = self.core.clone();
        let (meter, usual) = (core.cluster.meter(), core.cluster.meter().usual());
        let own = core.store.own_quotas().await?;
        let own: Vec<_> = own
            .into_iter()
            .map(|row| (row.id, row.name, OwnQuotas::of_column(row.quotas.as_ref())))
            .collect();
        let live = own.iter().map(|(id, _, own)| (*id, own.over(usual).live_runs));
        let live: Vec<_> = live.collect();
        let is_limited = usual.live_runs.is_some() || live.iter().any(|(_, limit)| limit.is_some());
        let elsewhere = if is_limited && core.cluster.has_others() {
            core.store.live_elsewhere(core.node_id().await, now.into()).await?
        } else {
            Vec::new()
        };
        core.places.set_shared(core.store.has_several_tenants().await?);
        core.places.set_quotas(usual.live_runs, live, elsewhere);
        let limited = own.iter().filter(|(_, _, own)| own.over(usual).log_bytes.is_some());
        let limited: Vec<Uuid> = limited.map(|(id, ..)| *id).collect();
        meter.set(own);
        core.slot_freed();
        self.exchange_log_bytes(limited, now).await?;
        Ok(RefreshReport)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.quotas_interval).unwrap_or_default()
    }

    fn is_notable(_report: &RefreshReport) -> bool {
        false
    }
}
