//! Decides the fates of the instants between a schedule's cursor and now.
//!
//! Normally there is one such instant, a few milliseconds old, and it runs.
//! A single instant that is late but within the grace also runs. If several are due, only
//! the newest can be on time: the catch-up policy decides on the others, even within the grace.
//! They run, collapse into the newest one or are given up. The cost does not grow with the length
//! of the outage: many instants of one fate become one entry, counted without listing them.
//!
//! A suppressed instant never runs, is never missed and is never the latest.
//! It gets an entry as suppressed, and splits ranges.
//! An outage of many years under a calendar of many windows is planned a thousand ranges at a time.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{Fire, Piece, Timetable};

/// The catch-up policy: which missed fires run late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatchUp {
    /// No missed fire runs.
    Skip,
    /// Only the latest missed fire runs, in place of all of them.
    #[default]
    Latest,
    /// Every missed fire runs, up to a limit.
    All,
}

/// A misfire policy.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Which missed fires run. See [`CatchUp`].
    pub catch_up: CatchUp,
    /// A single fire counts as missed if it was scheduled longer ago than this.
    /// The value is the schedule's grace plus its maximum jitter.
    pub grace: TimeDelta,
    /// For [`CatchUp::All`]: maximum number of runs, including one that is on time.
    /// The latest fires run.
    pub max: u32,
    /// For [`CatchUp::All`]: the time between two late runs.
    pub spacing: TimeDelta,
    /// Instants older than this never run.
    pub window: TimeDelta,
}

/// The fate of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The instant runs on time.
    Run,
    /// The instant was missed, and runs late.
    CatchUp,
    /// The instant was missed, and a later one runs in its place.
    Collapsed,
    /// The instant was missed, and does not run because of the policy.
    Missed,
    /// The instant was missed longer ago than the window.
    OutsideWindow,
    /// The instant was missed, and the policy's maximum number of runs is already used up.
    OverLimit,
    /// A calendar suppresses the instant.
    Suppressed,
}

/// One instant, or a range of instants of one fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The instant, or the first one of the range.
    pub fire: Fire,
    /// The last instant of the range; for one instant, the same instant.
    pub last: DateTime<Utc>,
    /// How many instants the entry accounts for.
    pub count: u64,
    /// When the fire is due to run.
    pub due_at: DateTime<Utc>,
    /// The fate that the instants share. See [`Fate`].
    pub fate: Fate,
    /// The name of the calendar that suppresses the fire.
    pub calendar: Option<Arc<str>>,
}

/// The fates from the cursor on, and the new position of the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The entries, in chronological order.
    pub entries: Vec<Entry>,
    /// The next instant without an entry. If it is already due, the caller must plan again.
    pub next: Option<Fire>,
}

/// Up to this many instants of one fate get an entry each; more become a range.
const APART: usize = 50;

/// A plan ends after this many ranges or this many calendar boundaries.
/// The next plan covers the rest.
const RANGES: usize = 1_000;
const STEPS: usize = 5_000;

const MS: TimeDelta = TimeDelta::milliseconds(1);

/// A fire that is claimed or starts no later than this after its due time is on time.
pub const ON_TIME: TimeDelta = TimeDelta::seconds(2);

/// Plans for the instants from `cursor` (inclusive) up to `now` that are due.
pub fn plan(
    timetable: &Timetable,
    cursor: DateTime<Utc>,
    now: DateTime<Utc>,
    policy: &Policy,
) -> Plan {
    plan_before(timetable, cursor, None, now, policy)
}

/// As [`plan`], for the instants that are due before `end` only: the plan's next instant is the
/// first of the others, even if it is due by now. How late the instants are still counts from
/// `now`, and the last one before `end` is the latest.
pub fn plan_before(
    timetable: &Timetable,
    cursor: DateTime<Utc>,
    end: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
    policy: &Policy,
) -> Plan {
    let before = cursor - MS;
    let until = due_until(timetable, before, end.map_or(now, |end| now.min(end - MS)));
    let mut account = Account::new(timetable, before, now, Limit::BeforeRuns);
    if before < until {
        // A fire that is on time is not missed, even with a grace of zero.
        let grace = policy.grace.max(ON_TIME);
        let missed_until = (now - grace - MS).clamp(before, until);
        let in_grace = account.allowed(missed_until, until, 2);
        let is_any_missed =
            || timetable.next_allowed(before).is_some_and(|fire| fire.at <= missed_until);
        match in_grace.as_slice() {
            [alone] if !is_any_missed() => account.alone(*alone, until),
            [.., newest] if now - timetable.due_at(newest.at) <= ON_TIME => {
                account.missed(until, policy, Some(*newest));
            }
            _ => account.missed(until, policy, None),
        }
    }
    Plan { next: timetable.next(account.accounted), entries: account.entries }
}

/// The last moment up to `now` by which every instant after `before` is due.
/// An instant is due before the next one comes, so at most the last one still waits for its jitter.
/// A suppressed instant does not wait.
fn due_until(timetable: &Timetable, before: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
    match timetable.last(now, before) {
        None => before,
        Some(last) if timetable.suppressed_by(last.at).is_some() => now,
        Some(last) if timetable.due_at(last.at) > now => last.at - MS,
        Some(_) => now,
    }
}

/// Plans for the instants in `(after, until]`, all of them missed because of an outage or a pause.
/// If the plan's next instant also lies in that range, the caller must plan again.
///
/// A plan ends early only before its first run.
/// All instants that run belong to one plan, because the policy limits their number.
pub fn missed(
    timetable: &Timetable,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
    now: DateTime<Utc>,
    policy: &Policy,
) -> Plan {
    let mut account = Account::new(timetable, after, now, Limit::BeforeRuns);
    if after < until {
        account.missed(until, policy, None);
    }
    let next = timetable.next(account.accounted);
    Plan { entries: account.entries, next }
}

/// The next `count` instants from `cursor` (inclusive) that may run, and the suppressed ones before
/// them; fewer if fewer are left. Their fate is [`Fate::Run`] or [`Fate::Suppressed`].
pub fn upcoming(timetable: &Timetable, cursor: DateTime<Utc>, count: usize) -> Vec<Entry> {
    let mut account = Account::new(timetable, cursor - MS, cursor, Limit::Nowhere);
    for _ in 0..count {
        let Some(fire) = timetable.next_allowed(account.accounted) else { break };
        account.in_pieces(fire.at - MS, Fate::Suppressed);
        account.run(Entry::new(timetable, fire, Fate::Run));
    }
    account.entries
}

impl Plan {
    /// The part of the plan before `end`: the next plan covers the instants from there on.
    pub fn before(self, timetable: &Timetable, end: DateTime<Utc>) -> Plan {
        let until = end - MS;
        let mut entries = self.entries;
        entries.retain(|entry| entry.fire.at < end);
        if let Some(last) = entries.last_mut().filter(|last| last.last >= end) {
            let after = last.fire.at - MS;
            last.count = timetable.count(after, until);
            last.last = timetable.last(until, after).map_or(last.fire.at, |fire| fire.at);
        }
        Plan { entries, next: timetable.next(until) }
    }
}

impl Entry {
    /// An entry for a single instant.
    fn new(timetable: &Timetable, fire: Fire, fate: Fate) -> Entry {
        let due_at = timetable.due_at(fire.at);
        Entry { last: fire.at, count: 1, due_at, fate, calendar: None, fire }
    }

    /// A missed instant that runs at `due_at`.
    fn late_run(timetable: &Timetable, fire: Fire, due_at: DateTime<Utc>) -> Entry {
        Entry { due_at, ..Entry::new(timetable, fire, Fate::CatchUp) }
    }
}

/// Where an account may end once it is [full](Account::is_full).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    Nowhere,
    BeforeRuns,
}

/// The entries made so far: they cover the time from the start without a gap.
struct Account<'a> {
    timetable: &'a Timetable,
    /// Every instant up to this one has an entry.
    accounted: DateTime<Utc>,
    now: DateTime<Utc>,
    entries: Vec<Entry>,
    limit: Limit,
    ranges: usize,
    /// Number of calendar boundaries crossed.
    steps: usize,
}

impl<'a> Account<'a> {
    fn new(
        timetable: &'a Timetable,
        accounted: DateTime<Utc>,
        now: DateTime<Utc>,
        limit: Limit,
    ) -> Self {
        let entries = Vec::new();
        Account { timetable, accounted, now, entries, limit, ranges: 0, steps: 0 }
    }

    /// Whether the remaining instants are left to the next plan.
    fn is_full(&self) -> bool {
        let is_full = self.ranges >= RANGES || self.steps >= STEPS;
        self.limit != Limit::Nowhere && is_full
    }

    /// Marks the first missed instant that runs: from here on the account does not end early.
    fn begin_runs(&mut self) {
        if self.limit == Limit::BeforeRuns {
            self.limit = Limit::Nowhere;
        }
    }

    /// Adds the entry of an instant that runs.
    fn run(&mut self, entry: Entry) {
        self.accounted = entry.fire.at;
        self.entries.push(entry);
    }

    /// Accounts for the only instant up to `until` that may run, which is on time.
    fn alone(&mut self, fire: Fire, until: DateTime<Utc>) {
        self.alike(fire.at - MS, Fate::Missed);
        if self.is_full() {
            return;
        }
        self.begin_runs();
        self.run(Entry::new(self.timetable, fire, Fate::Run));
        self.alike(until, Fate::Missed);
    }

    /// Accounts for all instants up to `until`:
    /// all were missed, except the newest if it is `in_time`.
    fn missed(&mut self, until: DateTime<Utc>, policy: &Policy, in_time: Option<Fire>) {
        let now = self.now;
        let window_start = (now - policy.window).clamp(self.accounted, until);
        let window_start =
            in_time.as_ref().map_or(window_start, |newest| window_start.min(newest.at - MS));
        self.alike(window_start, Fate::OutsideWindow);
        match policy.catch_up {
            CatchUp::Skip => match in_time {
                Some(newest) => self.alone(newest, until),
                None => self.alike(until, Fate::Missed),
            },
            CatchUp::Latest => {
                let latest = self.allowed(window_start, until, 1).pop();
                if let Some(latest) = latest {
                    self.alike(latest.at - MS, Fate::Collapsed);
                    if self.is_full() {
                        return;
                    }
                    self.begin_runs();
                    self.run(match in_time {
                        Some(newest) => Entry::new(self.timetable, newest, Fate::Run),
                        None => Entry::late_run(self.timetable, latest, now),
                    });
                }
                // After the latest, only suppressed instants are left.
                self.alike(until, Fate::Collapsed);
            }
            CatchUp::All => {
                let runs = self.allowed(window_start, until, policy.max as usize);
                let first = runs.first().map_or(until, |fire| fire.at - MS);
                self.alike(first, Fate::OverLimit);
                if self.is_full() {
                    return;
                }
                if !runs.is_empty() {
                    self.begin_runs();
                }
                let mut due_at = now;
                for fire in runs {
                    if self.timetable.has_calendars() {
                        self.in_pieces(fire.at - MS, Fate::OverLimit);
                    }
                    if self.is_full() {
                        return;
                    }
                    // A fire that is on time does not wait for the spacing.
                    if in_time == Some(fire) {
                        self.run(Entry::new(self.timetable, fire, Fate::Run));
                    } else {
                        self.run(Entry::late_run(self.timetable, fire, due_at));
                        due_at += policy.spacing;
                    }
                }
                self.alike(until, Fate::OverLimit);
            }
        }
    }

    /// The last `most` fires in `(after, until]` that may run, in order.
    fn allowed(&self, after: DateTime<Utc>, until: DateTime<Utc>, most: usize) -> Vec<Fire> {
        let open = |piece: &Piece| piece.suppressed_by.is_none();
        // The window is a matter of days, so it has few pieces.
        let pieces: Vec<(DateTime<Utc>, DateTime<Utc>)> = if self.timetable.has_calendars() {
            let open = self.timetable.pieces(after, until).filter(open);
            open.map(|piece| (piece.first.at - MS, piece.last)).collect()
        } else {
            vec![(after, until)]
        };
        let mut fires = Vec::new();
        for (before, mut end) in pieces.into_iter().rev() {
            while fires.len() < most
                && let Some(fire) = self.timetable.last(end, before)
            {
                end = fire.at - MS;
                fires.push(fire);
            }
        }
        fires.reverse();
        fires
    }

    /// Accounts for the instants up to `until` with one fate, except suppressed ones.
    /// A few instants get an entry each; many become ranges.
    fn alike(&mut self, until: DateTime<Utc>, fate: Fate) {
        if self.accounted >= until || self.is_full() {
            return;
        }
        let few: Vec<Fire> = self.timetable.fires(self.accounted, until).take(APART + 1).collect();
        if few.len() > APART {
            return self.in_pieces(until, fate);
        }
        for fire in few {
            let mut entry = Entry::new(self.timetable, fire, fate);
            if let Some(calendar) = self.timetable.suppressed_by(fire.at) {
                entry.fate = Fate::Suppressed;
                entry.calendar = Some(calendar.clone());
            }
            self.entries.push(entry);
        }
        self.accounted = until;
    }

    /// Accounts for the instants up to `until` with one fate, always as ranges.
    fn in_pieces(&mut self, until: DateTime<Utc>, fate: Fate) {
        let before = self.steps;
        for piece in self.timetable.pieces(self.accounted, until) {
            if self.is_full() {
                return;
            }
            self.steps = before + piece.steps;
            self.ranges += 1;
            self.accounted = piece.last;
            let fate = if piece.suppressed_by.is_some() { Fate::Suppressed } else { fate };
            self.entries.push(Entry {
                last: piece.last,
                count: piece.count,
                due_at: self.timetable.due_at(piece.first.at),
                fate,
                calendar: piece.suppressed_by,
                fire: piece.first,
            });
        }
        self.accounted = until;
    }
}
