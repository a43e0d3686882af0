use std::{collections::HashSet, sync::Arc};

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    backfill::{self, State},
    fire::{Reason, Verdict},
};
use sea_orm::ActiveEnum;
use uuid::Uuid;

use super::turn::{self, TurnOutcome};
use crate::engine::{
    EngineError,
    cluster::{LeaseTerm, lead},
    core::Core,
    service::Service,
};

/// The service that advances the open backfills.
#[derive(Debug)]
pub(in crate::engine) struct BackfillRunner {
    pub(in crate::engine) core: Arc<Core>,
}

/// The results of a round of backfills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackfillReport {
    /// Number of runs queued.
    pub started: usize,
    /// Number of fires whose runs have settled.
    pub settled: usize,
    /// Number of fires that were no longer needed.
    pub passed_over: usize,
    /// Number of backfills that paused themselves because none of their fires can be started.
    pub paused: usize,
    /// Number of runs that were asked to stop.
    pub stopped: usize,
    /// Number of backfills that finished.
    pub finished: usize,
}

/// The state of a round.
#[derive(Debug, Default)]
struct BackfillRound {
    report: BackfillReport,
    failed: Option<EngineError>,
}

const LEASE: &str = "backfill";
const PAGE: u64 = 100;

impl BackfillRunner {
    /// Gives each open backfill a turn. Returns whether one of them needs another turn at once.
    async fn go_round(
        &self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
        round: &mut BackfillRound,
    ) -> Result<bool, EngineError> {
        let mut again = false;
        let mut after = Uuid::nil();
        loop {
            let page = self.core.store.open_backfills(after, PAGE).await?;
            for open in &page {
                match turn::take(&self.core, lease, *open, now).await {
                    Ok(None) => {}
                    Ok(Some((backfill, taken))) => {
                        again |= taken.again;
                        self.follow_up(&backfill, taken, round);
                    }
                    // The failure of one backfill must not delay the others.
                    Err(error) => {
                        tracing::error!(backfill_id = %open.id, %error, "a backfill waits");
                        round.failed.get_or_insert(error);
                    }
                }
            }
            match page.last() {
                Some(last) if page.len() as u64 == PAGE => after = last.id,
                Some(_) | None => return Ok(again),
            }
        }
    }

    /// Handles the consequences of a committed turn.
    fn follow_up(&self, backfill: &backfill::Model, taken: TurnOutcome, round: &mut BackfillRound) {
        let core = &self.core;
        if taken.was_in_the_way {
            core.signals.wake_planner();
        }
        if taken.started > 0 {
            core.signals.wake_dispatcher();
        }
        if taken.fires > 0 {
            let (verdict, reason) = (Verdict::Started, Reason::Backfilled);
            let (schedule, count) = (Some(backfill.schedule_id), taken.fires as u64);
            core.metrics.fires(schedule, verdict.to_value(), reason.to_value(), count);
        }
        if backfill.state == State::Cancelled && !taken.alive.is_empty() {
            core.signals.wake_canceller();
        }
        if taken.finished {
            tracing::info!(backfill_id = %backfill.id, "a backfill has ended");
        }
        round.report.started += taken.started;
        round.report.settled += taken.settled;
        round.report.passed_over += taken.passed_over;
        round.report.paused += usize::from(taken.paused);
        round.report.stopped += taken.stopped;
        round.report.finished += usize::from(taken.finished);
    }
}

impl Service for BackfillRunner {
    type Report = BackfillReport;
    const NAME: &'static str = "backfill";

    async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<BackfillReport, EngineError> {
        let core = &self.core;
        // The watch is set before the tables are read, so that a run
        // that settles from now on wakes the service again.
        let at_work = core.store.backfill_runs_at_work().await?;
        let is_waiting = !at_work.is_empty();
        core.backfills.keep(at_work);
        if !is_waiting && core.store.open_backfills(Uuid::nil(), 1).await?.is_empty() {
            return Ok(BackfillReport::default());
        }
        // One node advances backfills for the whole cluster.
        // It renews the lease before each pass over the open ones.
        let term = core.settings.poll * 3;
        let mut round = BackfillRound::default();
        loop {
            let Some(lease) = lead(core, LEASE, term).await? else {
                core.backfills.keep(HashSet::new());
                break;
            };
            let again = self.go_round(&lease, core.agreed_now().await, &mut round).await?;
            if !again || round.failed.is_some() {
                break;
            }
        }
        round.failed.map_or(Ok(round.report), Err)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.poll).unwrap_or_default()
    }

    fn is_notable(report: &BackfillReport) -> bool {
        *report != BackfillReport::default()
    }
}
