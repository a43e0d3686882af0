use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    engine::{EngineError, core::Core, service::Service},
    model::OwnQuotas,
};

/// Reads the configured quotas, and how many runs of each namespace are at work on other nodes.
#[derive(Debug)]
pub(in crate::engine) struct Refresh {
    pub(in crate::engine) core: Arc<Core>,
}

/// Empty: the result is in the meter and in the places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct RefreshReport;

impl Service for Refresh {
    type Report = RefreshReport;
    const NAME: &'static str = "quotas";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<RefreshReport, EngineError> {
        let core = &self.core;
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
        core.places.set_quotas(usual.live_runs, live, elsewhere);
        meter.set(own);
        core.slot_freed();
        Ok(RefreshReport)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.quotas_interval).unwrap_or_default()
    }

    fn is_notable(_report: &RefreshReport) -> bool {
        false
    }
}
