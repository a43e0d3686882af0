//! Checks that each statement of the ledger was true when it was written, by replaying the recorded
//! moments of rows and runs in order.
//!
//! The schedules are replayed one after the other. The replay itself counts live runs, fires on
//! their way to a run, and waiting fires; it does not use the engine's counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use entity::{
    fire::{Reason, Verdict},
    run,
    schedule::Overlap,
};
use uuid::Uuid;

use super::moments::Moment;

/// How often recovery retries a fire or a run. The next constant is the time after the claim or the
/// hand-off in which it does so, in milliseconds.
const TRIES: i64 = 3;
const AGE_MS: i64 = 24 * 3_600_000;

/// Checks that everything written was true. Returns the first violation as an error; otherwise the
/// lives of the schedules, for checks that are possible only at the end.
pub(crate) fn judge(moments: &[Moment], is_steady: bool) -> Result<BTreeMap<Uuid, Life>, String> {
    let mut schedules: BTreeMap<Uuid, Vec<&Moment>> = BTreeMap::new();
    for moment in moments {
        schedules.entry(moment.schedule_id).or_default().push(moment);
    }
    let mut lives = BTreeMap::new();
    for (schedule, moments) in schedules {
        let mut life = Life { is_steady, ..Life::default() };
        for (place, &moment) in moments.iter().enumerate() {
            let what = life.go_on(moment, &moments[place + 1..]);
            what.map_err(|what| {
                let Life { live, owned, waiting, .. } = &life;
                let waiting: Vec<_> = waiting.keys().collect();
                format!("{what}: {moment:?}; alive {live:?}, on their way {owned:?}, waiting {waiting:?}")
            })?;
        }
        lives.insert(schedule, life);
    }
    Ok(lives)
}

/// The state of a schedule during the replay.
#[derive(Default)]
pub(crate) struct Life {
    /// Whether no clock is ever stepped. On a clock that is stepped back, past instants come again.
    is_steady: bool,
    /// The last state of each row and each run.
    last: HashMap<(bool, Uuid), Moment>,
    /// The live runs, except those of backfills, which block nothing.
    live: BTreeSet<Uuid>,
    /// Fires that wait for their hand-off.
    owned: BTreeSet<Uuid>,
    waiting: BTreeMap<Uuid, Moment>,
    /// Whether a run ended just before this moment: a run that waits for a node ends as soon as it
    /// is asked to stop.
    just_ended: bool,
    /// The fires that have ever waited in the buffer.
    waited: BTreeSet<Uuid>,
    /// The runs, and the fires on their way to a run, that must end before a fire starts.
    to_be_ended: HashMap<Uuid, BTreeSet<Uuid>>,
    /// The number of fires that counted towards the schedule's maximum.
    pub(crate) counted: i64,
    /// Runs that must be asked to stop, each with the fire that the run blocks.
    pub(crate) in_the_way: Vec<(Uuid, Uuid)>,
    /// Fires that were skipped in favour of another fire, each with that fire.
    pub(crate) replaced: Vec<(Uuid, Uuid)>,
}

impl Life {
    fn go_on(&mut self, now: &Moment, rest: &[&Moment]) -> Result<(), String> {
        let before = self.last.insert((now.is_of_run(), now.id), now.clone());
        if now.is_of_run() {
            return self.run(before.as_ref(), now);
        }
        self.owned.remove(&now.id);
        self.waiting.remove(&now.id);
        match &before {
            None => self.made(now)?,
            Some(before) => self.moved(before, now, rest)?,
        }
        self.just_ended &= now.waits();
        if now.is_owned() {
            self.owned.insert(now.id);
        }
        if now.waits() {
            self.waiting.insert(now.id, now.clone());
            self.waited.insert(now.id);
        }
        Ok(())
    }

    fn run(&mut self, before: Option<&Moment>, now: &Moment) -> Result<(), String> {
        let is_fired = now.trigger() == run::Trigger::Schedule;
        if before.is_none() && is_fired {
            if self.last.get(&(false, now.id)).map(Moment::verdict) != Some(Verdict::Started) {
                return Err("it was made before its fire said so".to_owned());
            }
            if self.is_steady && now.claimed_at < now.due_at {
                return Err("it was made before its time".to_owned());
            }
            if now.is_too_late(now.claimed_at) {
                return Err("it was made after its deadline".to_owned());
            }
            let to_be_ended = self.to_be_ended.remove(&now.id).unwrap_or_default();
            let mut alive = self.live.union(&self.owned);
            if let Some(left) = alive.find(|key| to_be_ended.contains(key)) {
                return Err(format!("it was made while {left} was alive, which it was to end"));
            }
        }
        if now.state().is_live() && now.trigger() != run::Trigger::Backfill {
            self.live.insert(now.id);
        } else {
            self.just_ended |= self.live.remove(&now.id);
        }
        Ok(())
    }

    /// Processes a new row of the ledger.
    fn made(&mut self, now: &Moment) -> Result<(), String> {
        let at = now.claimed_at;
        if now.verdict() == Verdict::Pending {
            self.counted += 1;
            if now.max_fires().is_some_and(|most| self.counted > most) {
                return Err(format!(
                    "it is the {}th of a schedule that may have fewer",
                    self.counted
                ));
            }
            let comes_now = now.is_owned() || now.waits();
            truth(!comes_now || at >= now.due_at, "it was claimed before its time")?;
            if now.is_too_late(at) {
                return Err("it was promised a run after its deadline".to_owned());
            }
        }
        match (now.verdict(), now.reason()) {
            (Verdict::Pending, Reason::AwaitingHandoff) if now.is_owned() => self.starts(now),
            (Verdict::Pending, Reason::Buffered) => self.waits(now, &[]),
            (Verdict::Skipped, Reason::Overlap) => self.overlaps(now, &[]),
            (Verdict::Skipped, Reason::BufferFull) => self.is_full(now, &[]),
            (Verdict::Skipped, Reason::Replaced) => self.gives_way(now),
            (Verdict::Skipped, Reason::Deadline) => truth(now.is_too_late(at), "its time was left"),
            (Verdict::Skipped | Verdict::Collapsed, Reason::Paused) => {
                truth(!now.is_enabled(), "it was not paused")
            }
            // Other checks cover calendars, policies, and the times of these rows.
            (Verdict::Pending, Reason::AwaitingHandoff)
            | (Verdict::Started, Reason::Backfilled)
            | (Verdict::Skipped, Reason::Calendar | Reason::ByRequest)
            | (Verdict::Skipped, Reason::StaleVersion | Reason::Deleted)
            | (Verdict::Missed, Reason::Outage | Reason::CatchUpWindow | Reason::CatchUpLimit)
            | (Verdict::Collapsed, Reason::Outage) => Ok(()),
            (
                Verdict::Pending
                | Verdict::Started
                | Verdict::Skipped
                | Verdict::Missed
                | Verdict::Collapsed
                | Verdict::Abandoned,
                _,
            ) => Err("no row begins like this".to_owned()),
        }
    }

    fn moved(&mut self, before: &Moment, now: &Moment, rest: &[&Moment]) -> Result<(), String> {
        let at = now.decided_at;
        if now.verdict() == Verdict::Pending {
            return match () {
                () if now.is_owned() && !before.is_owned() => {
                    let has_come = before.waits() && !self.is_steady;
                    truth(
                        has_come || now.claimed_at >= now.due_at,
                        "it was taken before its time",
                    )?;
                    truth(!now.is_too_late(now.claimed_at), "it was taken after its deadline")?;
                    self.starts(now)
                }
                () if now.waits() && !before.waits() => self.waits(now, rest),
                () => Ok(()),
            };
        }
        let run = self.last.get(&(true, now.id));
        let is_gone = now.is_deleted() || now.overlap().is_none();
        let is_old = now.fires_version > now.version;
        match (now.verdict(), now.reason()) {
            (Verdict::Started, reason) => {
                truth(before.is_owned(), "nobody was to hand it over")?;
                truth(!self.is_steady || at >= now.due_at, "it was started before its time")?;
                truth(!now.is_too_late(at), "it was started after its deadline")?;
                truth(now.is_enabled() && !is_gone, "it was started while it was paused or gone")?;
                truth(!is_old, "it was started by another version")?;
                let reasons = [
                    (Reason::OnTime, now.is_on_time(at) && !now.is_made_up()),
                    (Reason::Late, !now.is_on_time(at) && !now.is_made_up()),
                    (Reason::CaughtUp, now.is_made_up()),
                    (Reason::Recovered, now.recoveries > 0),
                    (Reason::Buffered, self.waited.contains(&now.id)),
                ];
                truth(reasons.contains(&(reason, true)), "it was not started for this reason")
            }
            (Verdict::Skipped, Reason::Overlap) => self.overlaps(now, rest),
            (Verdict::Skipped, Reason::BufferFull) => self.is_full(now, rest),
            (Verdict::Skipped, Reason::Replaced) => self.gives_way(now),
            (Verdict::Skipped, Reason::Purged) => truth(before.waits(), "it did not wait"),
            (Verdict::Skipped, Reason::Deadline) => truth(now.is_too_late(at), "its time was left"),
            (Verdict::Skipped | Verdict::Abandoned, Reason::Disabled) => {
                truth(!now.is_enabled(), "it was not paused")
            }
            (Verdict::Skipped | Verdict::Abandoned, Reason::Deleted) => {
                truth(is_gone, "it was not deleted")
            }
            (Verdict::Skipped | Verdict::Abandoned, Reason::StaleVersion) => {
                truth(is_old, "no other version was in force")
            }
            (Verdict::Abandoned, Reason::AttemptsExhausted) => {
                let tries = run.map_or(now.recoveries, |run| run.recoveries);
                truth(tries >= TRIES, "recovery had not tried as often as it may")
            }
            (Verdict::Abandoned, Reason::TooOld) => {
                let since = run.map_or(now.claimed_at, |run| run.claimed_at);
                truth(at - since > AGE_MS, "it was not that old")
            }
            _ => Err("no row ends like this".to_owned()),
        }
    }

    /// Whether a fire may be handed over.
    fn starts(&mut self, now: &Moment) -> Result<(), String> {
        match now.overlap().ok_or("its schedule was gone")? {
            Overlap::Allow => {}
            Overlap::TerminateOther => {
                let others = self.live.union(&self.owned).copied().collect();
                self.to_be_ended.insert(now.id, others);
            }
            Overlap::Skip | Overlap::BufferOne | Overlap::BufferAll | Overlap::CancelOther => {
                truth(self.is_free(), "it was to start beside another")?;
            }
        }
        Ok(())
    }

    /// Whether a fire may wait for live runs. `rest` are the moments after it: if one decision
    /// concerns several fires, those that start are recorded last.
    fn waits(&mut self, now: &Moment, rest: &[&Moment]) -> Result<(), String> {
        let overlap = now.overlap().ok_or("its schedule was gone")?;
        if now.is_made_up() {
            truth(overlap != Overlap::Allow, "its policy lets none wait")?;
            let (is_free, waiting) = self.places(now, rest);
            let starts = together(rest).any(|next| next.is_owned());
            return truth(!is_free || waiting > 0 || starts, "it waited for nothing");
        }
        let limit = match overlap {
            Overlap::Skip | Overlap::TerminateOther | Overlap::Allow => {
                return Err("its policy lets none wait".to_owned());
            }
            Overlap::CancelOther => {
                self.in_the_way.extend(self.live.iter().map(|run| (now.id, *run)));
                return truth(!self.is_free() || self.just_ended, "it waited for nothing");
            }
            Overlap::BufferOne => 1,
            Overlap::BufferAll => now.buffer_limit,
        };
        let (is_free, waiting) = self.places(now, rest);
        truth(!is_free || waiting > 0, "it waited for nothing")?;
        truth(taken(is_free, waiting) < limit, "it waited, and no place was free")
    }

    /// Whether a fire was rightly skipped because of the live run that the row names.
    fn overlaps(&self, now: &Moment, rest: &[&Moment]) -> Result<(), String> {
        truth(now.overlap() == Some(Overlap::Skip), "its policy is another")?;
        let named = Uuid::parse_str(&now.detail).map_err(|_| "it names nothing".to_owned())?;
        let starts = together(rest).any(|next| next.id == named && next.is_owned());
        let is_alive = self.live.contains(&named) || self.owned.contains(&named);
        truth(starts || is_alive, "what it names was not alive")
    }

    fn is_full(&self, now: &Moment, rest: &[&Moment]) -> Result<(), String> {
        let limit = match now.overlap().ok_or("its schedule was gone")? {
            Overlap::BufferOne => 1,
            Overlap::BufferAll => now.buffer_limit,
            Overlap::Skip | Overlap::CancelOther | Overlap::TerminateOther | Overlap::Allow => {
                return Err("its policy is another".to_owned());
            }
        };
        let before = |next: &&&Moment| next.waits() && !self.waiting.contains_key(&next.id);
        let more = together(rest).filter(before).count();
        let (is_free, waiting) = self.places(now, rest);
        let waiting = waiting + i64::try_from(more).unwrap();
        truth(taken(is_free, waiting) >= limit, "a place was free")
    }

    fn gives_way(&mut self, now: &Moment) -> Result<(), String> {
        let stops = [Some(Overlap::CancelOther), Some(Overlap::TerminateOther)];
        truth(stops.contains(&now.overlap()), "its policy is another")?;
        let named = Uuid::parse_str(&now.detail).map_err(|_| "it names nothing".to_owned())?;
        self.replaced.push((now.id, named));
        Ok(())
    }

    fn is_free(&self) -> bool {
        self.live.is_empty() && self.owned.is_empty()
    }

    /// Whether nothing is live, and the number of waiting fires that may still start, after the
    /// fires that start by the same decision. Fires of former versions and fires past their
    /// deadline do not count, because they are about to leave the buffer.
    fn places(&self, now: &Moment, rest: &[&Moment]) -> (bool, i64) {
        let starts = together(rest).filter(|next| next.is_owned());
        let starting: BTreeSet<Uuid> = starts.map(|next| next.id).collect();
        let at = if now.is_new() { now.claimed_at } else { now.decided_at };
        let waits = |other: &&Moment| {
            other.version >= now.fires_version
                && !now.makes_too_late(other, at)
                && !starting.contains(&other.id)
        };
        let waiting = self.waiting.values().filter(waits).count();
        (self.is_free() && starting.is_empty(), i64::try_from(waiting).unwrap())
    }
}

/// The number of occupied places in a buffer. If nothing is live, the first fire is about to leave,
/// so it does not count.
fn taken(is_free: bool, waiting: i64) -> i64 {
    if is_free { (waiting - 1).max(0) } else { waiting }
}

/// The moments that belong to the same decision as the previous ones: changes of rows that already
/// existed, up to the next other event. Rows that recovery abandons end the decision as well.
fn together<'a>(rest: &'a [&'a Moment]) -> impl Iterator<Item = &'a &'a Moment> {
    let is_another =
        |next: &Moment| next.is_of_run() || next.is_new() || next.verdict() == Verdict::Abandoned;
    rest.iter().take_while(move |next| !is_another(next))
}

fn truth(is_so: bool, else_said: &str) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(else_said.to_owned()) }
}
