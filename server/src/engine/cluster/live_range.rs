//! Keeps track of which days of the ledger contain live rows,
//! so that other services need not search every day.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};

use crate::engine::{EngineError, core::Core, service::Service};

/// The pause after a scan is this many times as long as the scan.
/// So scans take at most one per cent of the time, however long the backlog is.
const SHARE: u32 = 100;

/// The longest pause: a result must not be used for longer than a minute.
const LONGEST: Duration = Duration::from_secs(30);

/// The service that refreshes the range of days with live rows.
#[derive(Debug)]
pub(in crate::engine) struct LiveRangeRefresher {
    core: Arc<Core>,
    took: Duration,
}

/// The report is empty, because the store keeps the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct LiveRangeReport;

impl LiveRangeRefresher {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        Self { core, took: Duration::ZERO }
    }
}

impl Service for LiveRangeRefresher {
    type Report = LiveRangeReport;
    const NAME: &'static str = "lookout";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<LiveRangeReport, EngineError> {
        let start = self.core.clock.instant();
        self.core.store.refresh_live_days(now.into()).await?;
        self.took = start.elapsed();
        Ok(LiveRangeReport)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let usual = self.core.settings.lookout_interval;
        let pause = usual.max((self.took * SHARE).min(LONGEST));
        now + TimeDelta::from_std(pause).unwrap_or_default()
    }

    fn is_notable(_report: &LiveRangeReport) -> bool {
        false
    }
}
