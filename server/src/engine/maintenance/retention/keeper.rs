use std::{sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};

use super::{RetentionReport, RoundOptions, run_once};
use crate::{
    engine::{EngineError, cluster::lead, core::Core, service::Service},
    model::Retention,
};

/// The service that repeats retention rounds, on one node at a time.
#[derive(Debug)]
pub(in crate::engine) struct Keeper {
    core: Arc<Core>,
    settings: Retention,
    /// Whether a change of partitions was refused and waits to be retried.
    is_postponed: bool,
}

/// The name of the lease of the node that runs the rounds.
pub const LEASE: &str = "retention";
/// The pause before a change of partitions that was refused is retried.
const SOON: Duration = Duration::from_secs(30);

impl Keeper {
    pub(in crate::engine) fn new(core: Arc<Core>, settings: Retention) -> Self {
        Self { core, settings, is_postponed: false }
    }
}

impl Service for Keeper {
    type Report = RetentionReport;
    const NAME: &'static str = "retention";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<RetentionReport, EngineError> {
        let core = &self.core;
        let term = self.settings.interval.max(SOON) * 3;
        let Some(lease) = lead(core, LEASE, term).await? else {
            return Ok(RetentionReport::default());
        };
        let manner = RoundOptions { lease: Some((lease, term)), ..RoundOptions::default() };
        let report =
            run_once(&self.settings, &core.store, &core.clock, &core.metrics, now, manner).await?;
        self.is_postponed = report.postponed > 0;
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let interval = self.settings.interval;
        let interval = if self.is_postponed { interval.min(SOON) } else { interval };
        now + TimeDelta::from_std(interval).unwrap_or_default()
    }

    fn is_notable(report: &RetentionReport) -> bool {
        *report != RetentionReport::default()
    }
}
