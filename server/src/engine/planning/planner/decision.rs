//! Decides about the due entries of one schedule, without IO.

use chrono::{DateTime, Utc};
use entity::{
    Timestamp,
    fire::{Kind, MadeUpFor, Reason, Verdict},
    schedule::CatchUp,
};
use timetable::{
    FireKind,
    misfire::{Entry, Fate},
    overlap::{self, Occupancy, Policy},
};
use uuid::Uuid;

use crate::{
    engine::{
        execution::handoff::past_deadline,
        planning::{
            allowance,
            buffer::{self, Demand},
            lateness::Lateness,
        },
    },
    random::new_id,
    store::{
        buffers::Buffered,
        claims::{DueSchedule, Live, NewFire},
    },
};

/// The runs and fires that block a schedule's fires.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduleLoad {
    pub(super) live: Option<Live>,
    pub(super) buffered: Buffered,
    /// Number of runs that the claim's transaction may still stop.
    pub(super) stoppable: usize,
}

impl ScheduleLoad {
    pub(super) fn alive(&self) -> usize {
        self.live.map_or(0, |live| usize::try_from(live.runs).unwrap_or(usize::MAX))
    }
}

/// When the decision is made, and for which node.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClaimContext {
    pub(super) now: DateTime<Utc>,
    pub(super) node: Uuid,
}

/// The decisions about a schedule's entries.
pub(super) struct DecidedEntries {
    pub(super) fires: Vec<NewFire>,
    /// The demands on the runs that block the fires.
    pub(super) demand: Option<Demand>,
    /// The first fire beyond the schedule's limit.
    pub(super) cut: Option<NewFire>,
}

/// Decides about a schedule's entries up to its limit of fires. Truncated entries do not count
/// against the overlap limit: the remaining ones are decided about again without them.
pub(super) fn decide_within(
    schedule: &DueSchedule,
    mut entries: Vec<Entry>,
    there: ScheduleLoad,
    lateness: Option<&Lateness>,
    moment: ClaimContext,
) -> DecidedEntries {
    let mut cut = None;
    loop {
        let (mut fires, demand) = decide(schedule, &entries, there, lateness, moment);
        let Some(first) = allowance::cut_off(schedule, &mut fires) else {
            return DecidedEntries { fires, demand, cut };
        };
        entries.truncate(fires.len());
        cut = Some(first);
    }
}

/// Decides about a schedule's entries under its current load.
/// Returns one ledger row per entry, and the demands on the runs that block them.
fn decide(
    schedule: &DueSchedule,
    entries: &[Entry],
    there: ScheduleLoad,
    lateness: Option<&Lateness>,
    moment: ClaimContext,
) -> (Vec<NewFire>, Option<Demand>) {
    let (mut turns, demand) = EntryDecider::of(schedule, entries, there, moment);
    let fire = |entry: &Entry| {
        let late = lateness.and_then(|known| known.of_entry(entry, moment.now));
        turns.fire(schedule, entry, late)
    };
    (entries.iter().map(fire).collect(), demand)
}

/// Decides about the entries of one schedule, one after another.
struct EntryDecider {
    moment: ClaimContext,
    policy: Policy,
    /// Whether all entries run one after another, because some of them were missed.
    follows: bool,
    /// One fate for each entry that should start.
    fates: std::vec::IntoIter<overlap::Fate>,
    /// The run for which the next queued fire waits.
    in_the_way: Option<Uuid>,
    /// The last position in the buffer that is taken.
    position: i64,
    /// The last fire that should start, and its instant.
    last: Option<(Uuid, Timestamp)>,
}

/// The verdict on an entry, and the reason for it.
struct EntryDecision {
    verdict: Verdict,
    reason: Reason,
    detail: Option<String>,
    claimed_by: Option<Uuid>,
    queue_position: Option<i64>,
}

impl EntryDecision {
    fn new(verdict: Verdict, reason: Reason, detail: Option<String>) -> Self {
        Self { verdict, reason, detail, claimed_by: None, queue_position: None }
    }
}

impl EntryDecider {
    fn of(
        schedule: &DueSchedule,
        entries: &[Entry],
        there: ScheduleLoad,
        moment: ClaimContext,
    ) -> (Self, Option<Demand>) {
        let now = moment.now;
        let wants = |entry: &Entry| {
            matches!(entry.fate, Fate::Run | Fate::CatchUp)
                && entry.due_at <= now
                && !is_too_late(schedule, entry, now)
        };
        let wanting = entries.iter().filter(|entry| wants(entry)).count();
        let policy = buffer::policy(schedule.overlap, schedule.buffer_limit);
        let ScheduleLoad { stoppable, buffered, .. } = there;
        let standing = Occupancy { live: there.alive(), waiting: buffered.waiting, stoppable };
        let is_made_up = entries.iter().any(|entry| entry.fate == Fate::CatchUp);
        let follows = is_made_up
            && match schedule.catch_up {
                CatchUp::All => true,
                // The run that stands for all missed fires is never skipped: it waits.
                CatchUp::Latest => policy == Policy::Skip,
                CatchUp::Skip => false,
            };
        let plan = match follows {
            true => policy.follow(standing, wanting),
            false => policy.plan(standing, wanting),
        };
        let last = entries.iter().rev().find(|entry| wants(entry)).map(|entry| entry.fire.at);
        let last = last.map(|at| (new_id(now), Timestamp::from(at)));
        let demand = last.and_then(|(id, at)| Demand::of(&plan, schedule.id, id, at));
        let turns = Self {
            moment,
            policy,
            follows,
            fates: plan.fates.into_iter(),
            in_the_way: there.live.map(|live| live.latest),
            position: buffered.last,
            last,
        };
        (turns, demand)
    }

    /// The ledger row of the next entry. If the entry is late, `late` is the cause of its delay.
    fn fire(&mut self, schedule: &DueSchedule, entry: &Entry, late: Option<String>) -> NewFire {
        let scheduled_at = Timestamp::from(entry.fire.at);
        let last = self.last.filter(|(_, at)| *at == scheduled_at);
        let id = last.map_or_else(|| new_id(self.moment.now), |(id, _)| id);
        let EntryDecision { verdict, reason, detail, claimed_by, queue_position } =
            self.decide(schedule, entry, id, late);
        let made_up_for = if entry.fate == Fate::CatchUp {
            (verdict == Verdict::Pending).then_some(MadeUpFor::Outage)
        } else {
            // At the head of the queue, this fire must not stop the runs for which it waited.
            (self.follows && queue_position.is_some()).then_some(MadeUpFor::Follows)
        };
        NewFire {
            id,
            namespace_id: schedule.namespace_id,
            schedule_id: schedule.id,
            schedule_version: schedule.version,
            scheduled_at,
            due_at: entry.due_at.into(),
            last_scheduled_at: entry.last.into(),
            count: i64::try_from(entry.count).unwrap_or(i64::MAX),
            kind: kind(entry.fire.kind),
            verdict,
            reason,
            detail,
            claimed_by,
            queue_position,
            made_up_for,
        }
    }

    fn decide(
        &mut self,
        schedule: &DueSchedule,
        entry: &Entry,
        id: Uuid,
        late: Option<String>,
    ) -> EntryDecision {
        let (verdict, reason) = match entry.fate {
            Fate::Missed => (Verdict::Missed, Reason::Outage),
            Fate::OutsideWindow => (Verdict::Missed, Reason::CatchUpWindow),
            Fate::OverLimit => (Verdict::Missed, Reason::CatchUpLimit),
            Fate::Collapsed => (Verdict::Collapsed, Reason::Outage),
            Fate::Suppressed => {
                let calendar = entry.calendar.as_deref().map(str::to_owned);
                return EntryDecision::new(Verdict::Skipped, Reason::Calendar, calendar);
            }
            Fate::Run | Fate::CatchUp if is_too_late(schedule, entry, self.moment.now) => {
                (Verdict::Skipped, Reason::Deadline)
            }
            // The entry becomes due later, so it is an unowned intent until then.
            Fate::Run | Fate::CatchUp if entry.due_at > self.moment.now => {
                (Verdict::Pending, Reason::AwaitingHandoff)
            }
            Fate::Run | Fate::CatchUp => return self.take_turn(entry, id, late),
        };
        EntryDecision::new(verdict, reason, late)
    }

    /// Decides about a fire that should start now.
    fn take_turn(&mut self, entry: &Entry, id: Uuid, late: Option<String>) -> EntryDecision {
        let run = self.in_the_way;
        let in_the_way = || run.map(|run| run.to_string());
        match self.fates.next() {
            Some(overlap::Fate::Start) => {
                self.in_the_way = Some(id);
                let claimed_by = Some(self.moment.node);
                let started = EntryDecision::new(Verdict::Pending, Reason::AwaitingHandoff, late);
                EntryDecision { claimed_by, ..started }
            }
            Some(overlap::Fate::Wait) => {
                self.position += 1;
                let queue_position = Some(self.position);
                // A fire that was missed keeps the cause of its delay, which matters more than the
                // fact that it waited for its turn.
                let detail = if entry.fate == Fate::CatchUp { late } else { in_the_way() };
                let waits = EntryDecision::new(Verdict::Pending, Reason::Buffered, detail);
                EntryDecision { queue_position, ..waits }
            }
            Some(overlap::Fate::BufferFull) => {
                EntryDecision::new(Verdict::Skipped, Reason::BufferFull, buffer::full(self.policy))
            }
            Some(overlap::Fate::Replaced) => {
                let by = self.last.map(|(fire, _)| fire.to_string());
                EntryDecision::new(Verdict::Skipped, Reason::Replaced, by)
            }
            // `None` cannot happen, because every entry that should start has a fate.
            Some(overlap::Fate::Overlap) | None => {
                EntryDecision::new(Verdict::Skipped, Reason::Overlap, in_the_way())
            }
        }
    }
}

fn is_too_late(schedule: &DueSchedule, entry: &Entry, now: DateTime<Utc>) -> bool {
    let (jitter, deadline) = (schedule.jitter_ms, schedule.start_deadline_ms);
    past_deadline(entry.fire.at, entry.due_at, jitter, deadline, now)
}

/// The effect of a clock change, as the ledger names it.
pub(crate) fn kind(kind: FireKind) -> Kind {
    match kind {
        FireKind::Normal => Kind::Normal,
        FireKind::Shifted => Kind::Shifted,
        FireKind::FirstOfTwo => Kind::FirstOfTwo,
        FireKind::SecondOfTwo => Kind::SecondOfTwo,
    }
}
