//! The dispatcher takes as many waiting runs as this node has places for.
//!
//! - `batch`: the runs that the dispatcher takes in one transaction

mod batch;

use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::run;
use uuid::Uuid;

use self::batch::{AttemptStart, DispatchBatch};
use super::handoff::past_deadline;
use crate::{
    clock::Clock,
    engine::{
        EngineError,
        core::Core,
        places::{FreePlaces, PlaceHolder},
        service::Service,
    },
    store::{
        DatabaseTransaction,
        holds::RunLease,
        queue::{FullHolders, RunTaker, WaitingRun},
    },
};

/// The service that takes waiting runs.
#[derive(Debug)]
pub(in crate::engine) struct Dispatcher {
    pub(in crate::engine) core: Arc<Core>,
    next: Option<DateTime<Utc>>,
    /// Whether the last round left runs to other nodes for a moment.
    has_left: bool,
    /// When the service may next search beyond the runs that wait for their holder's share.
    behind_at: Instant,
    /// When the next run becomes due, among those that the last such search found.
    later: Option<DateTime<Utc>>,
    /// When the last batch was taken.
    took_at: Option<Instant>,
}

/// A search beyond runs that wait for a share reads all of these runs.
/// The pause before the next search is this many times as long as the last search,
/// so the load on a node stays low however many such runs there are.
const BEHIND_PAUSE: u32 = 10;

/// The longest pause between two such searches.
const MAX_BEHIND_PAUSE: Duration = Duration::from_millis(500);

/// Minimum number of runs to read when a share has room again:
/// runs of other holders may come before those that can start.
const MIN_LOOK: usize = 16;

/// While at least this many places are held and fewer can be filled, this time passes between two
/// batches: places become free one by one, and a transaction for each would cost more than the runs
/// that it starts. This is real time, because it is about the database's work.
const WORTHWHILE: usize = 64;
const PACE: Duration = Duration::from_millis(10);

/// A read of the waiting runs.
#[derive(Debug)]
struct QueueScan {
    /// Maximum number of runs to read.
    limit: usize,
    /// The holders of places whose runs are skipped.
    full: Vec<PlaceHolder>,
}

/// The result of one read of the waiting runs.
#[derive(Debug, Default)]
struct QueueScanOutcome {
    /// Number of runs that were read.
    read: usize,
    /// Number of these runs that were settled or started.
    taken: usize,
    /// The holders that had no share left for some of their runs.
    refused: Vec<PlaceHolder>,
    /// Whether no place was left.
    is_full: bool,
}

/// The reason why a round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoundEnd {
    /// The node has no free place. The service wakes when one becomes free.
    Full,
    /// It is too early to search beyond the runs that wait for a share.
    Early(Duration),
    /// There are no more runs to take.
    Done,
}

/// The result of a round of the dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DispatcherReport {
    /// Number of attempts started.
    pub taken: usize,
}

impl Dispatcher {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        let behind_at = core.clock.instant();
        Self { core, next: None, has_left: false, behind_at, later: None, took_at: None }
    }

    /// Decides which runs to read next.
    fn look(&self, batch: usize) -> Result<QueueScan, RoundEnd> {
        let FreePlaces { free, is_held_back, of_held_back, full } = self.core.places.room();
        if free == 0 {
            return Err(RoundEnd::Full);
        }
        if is_held_back && full.is_empty() {
            let limit = of_held_back.max(MIN_LOOK).min(free).min(batch);
            return Ok(QueueScan { limit, full });
        }
        let pause = self.behind_at.saturating_duration_since(self.core.clock.instant());
        if full.is_empty() || pause.is_zero() {
            return Ok(QueueScan { limit: free.min(batch), full });
        }
        Err(RoundEnd::Early(pause))
    }

    /// Takes batch after batch until the round ends.
    async fn take_all(
        &mut self,
        mut now: DateTime<Utc>,
        report: &mut DispatcherReport,
    ) -> Result<RoundEnd, EngineError> {
        let batch = usize::try_from(self.core.settings.batch).unwrap_or(usize::MAX);
        loop {
            let look = match self.look(batch) {
                Ok(look) => look,
                Err(end) => return Ok(end),
            };
            if self.let_places_gather(&look).await {
                now = self.core.clock.now();
                continue;
            }
            let from = self.core.clock.instant();
            let looked = self.take(now, &look).await?;
            report.taken += looked.taken;
            if !look.full.is_empty() {
                self.look_later(now).await?;
                let now = self.core.clock.instant();
                let pause = now.saturating_duration_since(from) * BEHIND_PAUSE;
                self.behind_at = now + pause.min(MAX_BEHIND_PAUSE);
            }
            if looked.is_full {
                return Ok(RoundEnd::Full);
            }
            if looked.read < look.limit {
                // All runs that still wait were skipped or could not be taken.
                let waiting = [looked.refused, look.full].concat();
                self.core.places.forget_held_back(&waiting);
                return Ok(RoundEnd::Done);
            }
            if looked.taken == 0 && look.full == self.core.places.room().full {
                // Every run that was read waits for something other than a share.
                return Ok(RoundEnd::Done);
            }
        }
    }

    /// Waits until more places may be free, if the last batch was taken only just now and there is
    /// little room. Returns whether it waited.
    async fn let_places_gather(&mut self, look: &QueueScan) -> bool {
        let clock = Clock::system();
        let now = clock.instant();
        let is_scarce = look.limit < WORTHWHILE && self.core.places.held() >= WORTHWHILE;
        let took_at = self.took_at.filter(|_| is_scarce);
        let passed = took_at.map_or(PACE, |at| now.saturating_duration_since(at));
        let left = PACE.saturating_sub(passed);
        if left.is_zero() {
            self.took_at = Some(now);
            return false;
        }
        clock.sleep(left).await;
        true
    }

    /// Finds out when the next run becomes due.
    async fn look_later(&mut self, now: DateTime<Utc>) -> Result<(), EngineError> {
        let tags = &self.core.settings.tags.0;
        let later = self.core.store.next_available(tags, now.into()).await?;
        self.later = later.map(|at| at.utc());
        Ok(())
    }

    /// Whether to leave the run to other nodes for a moment,
    /// because one of them has clearly more room for it.
    fn is_left_to_others(&self, run: &WaitingRun, now: DateTime<Utc>) -> bool {
        let asked = run.runs_on.as_ref().map_or(&[][..], |tags| &tags.0);
        now < run.available_at.utc() + self.moment()
            && self.core.cluster.lets_others_go_first(asked)
    }

    /// How long other nodes have to take a run first.
    fn moment(&self) -> TimeDelta {
        TimeDelta::from_std(self.core.settings.second_owner_after).unwrap_or_default()
    }

    /// Takes one batch of runs.
    async fn take(
        &mut self,
        now: DateTime<Utc>,
        look: &QueueScan,
    ) -> Result<QueueScanOutcome, EngineError> {
        let (core, since) = (&self.core.clone(), self.core.clock.instant());
        let node = core.node_id().await;
        let tx = core.store.begin().await?;
        let without = without(&look.full);
        let taker = RunTaker { node, tags: &core.settings.tags.0, without: &without };
        let waiting =
            core.store.lock_waiting_runs(&tx, taker, now.into(), look.limit as u64).await?;
        let mut looked = QueueScanOutcome { read: waiting.len(), ..QueueScanOutcome::default() };
        let (left, waiting): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|run| self.is_left_to_others(run, now));
        let (late, waiting): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|run| is_too_late(run, now));
        let waiting = self.within_limits(&tx, waiting, now).await?;
        let batch = DispatchBatch::place(core, &tx, waiting, late, &mut looked).await?;
        self.has_left |= !left.is_empty();
        looked.taken = batch.len();
        if looked.taken == 0 {
            // Roll back instead of committing: a commit would notify all followers on all nodes.
            tx.rollback().await?;
            return Ok(looked);
        }
        batch.write(core, &tx, node, now).await?;
        let holds: Vec<RunLease> = batch.holds(node).collect();
        let beginning = core.registry.starting.enter(since, holds);
        core.store.commit(tx).await?;
        batch.report(core);
        let lost = beginning.lost(core).await;
        batch.start(core, AttemptStart { node, now, lost: &lost });
        drop(beginning);
        if !lost.is_empty() {
            core.slot_freed();
        }
        Ok(looked)
    }

    /// Leaves out runs whose group has no room. Locks the groups, so that no other node takes runs
    /// of these groups before this transaction ends.
    async fn within_limits(
        &self,
        tx: &DatabaseTransaction,
        mut waiting: Vec<WaitingRun>,
        now: DateTime<Utc>,
    ) -> Result<Vec<WaitingRun>, EngineError> {
        let groups: HashSet<Uuid> = waiting.iter().filter_map(|run| run.group_id).collect();
        let mut room = self.core.store.lock_room(tx, &groups, now.into()).await?;
        waiting.retain(|run| {
            let free = run.group_id.and_then(|group| room.get_mut(&group));
            free.is_none_or(|free| {
                *free -= 1;
                *free >= 0
            })
        });
        Ok(waiting)
    }
}

impl Service for Dispatcher {
    type Report = DispatcherReport;
    const NAME: &'static str = "dispatcher";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<DispatcherReport, EngineError> {
        let mut report = DispatcherReport::default();
        if !self.core.may_take().await? {
            // With a wrong clock, runs would start late or early.
            // The service wakes once the clock is right.
            self.next = None;
            return Ok(report);
        }
        // These flags are set before the tables are read, so that any place
        // that becomes free from now on wakes the service again.
        self.core.backlog.store(true, Ordering::Relaxed);
        self.core.group_backlog.store(true, Ordering::Relaxed);
        let end = self.take_all(now, &mut report).await?;
        if end == RoundEnd::Full {
            self.next = None;
            return Ok(report);
        }
        if end == RoundEnd::Done {
            self.core.places.forget_full();
        }
        if self.core.places.room().is_held_back {
            // A place that becomes free before then also wakes the service.
            let early = match end {
                RoundEnd::Early(pause) => TimeDelta::from_std(pause).ok().map(|pause| now + pause),
                RoundEnd::Full | RoundEnd::Done => None,
            };
            let left = std::mem::take(&mut self.has_left).then(|| now + self.moment());
            let later = self.later.filter(|later| *later > now);
            self.next = [early, left, later].into_iter().flatten().min();
            return Ok(report);
        }
        self.core.backlog.store(false, Ordering::Relaxed);
        let backlog = self.core.store.backlog(&self.core.settings.tags.0, now.into()).await?;
        self.core.group_backlog.store(backlog.grouped, Ordering::Relaxed);
        // If a due run was not taken, another node is taking it, or it waits because this node was
        // declared dead and has no new life yet. Either event wakes the service.
        let next = backlog.next.map(|at| at.utc());
        self.next = next.filter(|next| report.taken > 0 || *next > now);
        if std::mem::take(&mut self.has_left) {
            // If the other nodes do not take the run in this time, this node will.
            self.next = Some(now + self.moment());
        }
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let poll = now + TimeDelta::from_std(self.core.settings.poll).unwrap_or_default();
        self.next.map_or(poll, |next| next.clamp(now, poll))
    }

    fn is_notable(report: &DispatcherReport) -> bool {
        report.taken > 0
    }
}

/// The query condition that leaves out the runs of holders without a share.
fn without(full: &[PlaceHolder]) -> FullHolders {
    let mut without = FullHolders::default();
    for holder in full {
        match holder {
            PlaceHolder::Origin(origin) => without.origins.push(origin.to_string()),
            PlaceHolder::Schedule(id) => without.schedules.push(*id),
            PlaceHolder::Namespace(id) => without.namespaces.push(*id),
        }
    }
    without
}

/// Whether the run of a fire has waited for a place beyond the fire's start deadline.
/// The deadline no longer applies once an attempt has begun.
fn is_too_late(run: &WaitingRun, now: DateTime<Utc>) -> bool {
    let (scheduled_at, due_at) = (run.scheduled_at.utc(), run.due_at.utc());
    let jitter = run.jitter_ms.unwrap_or_default();
    run.trigger == run::Trigger::Schedule
        && run.attempt == 0
        && past_deadline(scheduled_at, due_at, jitter, run.start_deadline_ms, now)
}
