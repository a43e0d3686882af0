use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    clocks::ClockWalk,
    look::{FailurePass, ScanStart},
    rule::ActiveRule,
    skips::SkipCount,
    slow::UsualDurations,
};
use crate::{
    engine::{EngineError, cluster::lead, core::Core, service::Service},
    store::{Cursor, alerts::rules},
};

/// The service that records failures and creates messages about them.
#[derive(Debug)]
pub(in crate::engine) struct AlertRecorder {
    core: Arc<Core>,
    /// When older fires that were not run were last read again.
    looked_back: Option<DateTime<Utc>>,
    /// Where to continue with these older fires, if one round was not enough.
    broken_off: Option<Cursor>,
    /// The usual durations of runs.
    usual: UsualDurations,
    /// The position of the pass over clock changes.
    walk: ClockWalk,
    /// When skipped fires were last counted.
    skips: SkipCount,
}

/// The results of a round of the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlertsReport {
    /// Number of alerts recorded.
    pub noted: usize,
    /// Number of alerts closed.
    pub ended: usize,
    /// Number of alerts that the new messages contain.
    pub told: u64,
    /// Number of messages created.
    pub messages: usize,
}

const LEASE: &str = "alerts";

/// The interval at which older fires that were not run are read again.
const LOOKS_BACK: TimeDelta = TimeDelta::minutes(1);

impl AlertRecorder {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        Self {
            core,
            looked_back: None,
            broken_off: None,
            usual: UsualDurations::default(),
            walk: ClockWalk::default(),
            skips: SkipCount::default(),
        }
    }
}

impl Service for AlertRecorder {
    type Report = AlertsReport;
    const NAME: &'static str = "alerts";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<AlertsReport, EngineError> {
        let core = &self.core;
        // Without rules there is nothing to read, so this node takes no lease.
        let rules = ActiveRule::read(rules::enabled(core.store.read()).await?);
        let lease =
            if rules.is_empty() { None } else { lead(core, LEASE, core.settings.poll * 3).await? };
        let Some(lease) = lease else {
            (self.looked_back, self.broken_off) = (None, None);
            (self.walk, self.skips) = (ClockWalk::default(), SkipCount::default());
            return Ok(AlertsReport::default());
        };
        let is_due = |at: DateTime<Utc>| now < at || now - at >= LOOKS_BACK;
        let from = match (self.broken_off, self.looked_back) {
            (Some(place), _) => ScanStart::At(place),
            (None, None) => ScanStart::LongBefore,
            (None, Some(at)) if is_due(at) => ScanStart::Before,
            (None, Some(_)) => ScanStart::Cursor,
        };
        let mut look = FailurePass { core, lease: &lease, rules: &rules, now, noted: 0 };
        look.begin().await?;
        // An error in one of these steps must not keep the others from being taken.
        let mut problems = Problems::default();
        problems.keep(look.at_failures().await);
        problems.keep(look.at_late().await);
        if let Some(broken_off) = problems.keep(look.at_missed(from).await) {
            self.broken_off = broken_off;
            if matches!(from, ScanStart::Before | ScanStart::LongBefore) {
                self.looked_back = Some(now);
            }
        }
        problems.keep(look.at_nodes().await);
        problems.keep(look.at_clocks(&mut self.walk).await);
        let mut ended = problems.keep(look.at_stalls().await).unwrap_or_default();
        ended += problems.keep(look.at_skips(&mut self.skips).await).unwrap_or_default();
        ended += problems.keep(look.at_slow(&mut self.usual).await).unwrap_or_default();
        ended += problems.keep(look.at_mended().await).unwrap_or_default();
        ended += problems.keep(look.at_nodes_back().await).unwrap_or_default();
        let (told, messages) = look.tell().await?;
        let noted = look.noted;
        problems.first.map_or(Ok(AlertsReport { noted, ended, told, messages }), Err)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.poll).unwrap_or_default()
    }

    fn is_notable(report: &AlertsReport) -> bool {
        *report != AlertsReport::default()
    }
}

/// Keeps the first error of a round.
#[derive(Debug, Default)]
struct Problems {
    first: Option<EngineError>,
}

impl Problems {
    fn keep<T>(&mut self, result: Result<T, EngineError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.first.get_or_insert(error);
                None
            }
        }
    }
}
