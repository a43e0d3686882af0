//! The fates of the instants between a schedule's cursor and now.
//!
//! Normally that is one instant, a few milliseconds old. It runs, and so does a single instant that
//! is late but within the grace. If several are due, only the newest can have been in time: the
//! catch-up policy decides on the others, even within the grace. They run, collapse into the newest
//! or are given up. The cost does not grow with the length of the outage: many instants of one fate
//! are one entry, counted without listing them.
//!
//! A suppressed instant never runs, is never missed and is never the latest: it is accounted for as
//! suppressed, and splits ranges. An outage of many years under a calendar of many windows is
//! planned a thousand ranges at a time.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{Fire, Piece, Timetable};

/// What to do about missed fires.
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
    /// See [`CatchUp`].
    pub catch_up: CatchUp,
    /// A single fire counts as missed if its scheduled time is longer ago than this: the schedule's
    /// grace plus its maximum jitter.
    pub grace: TimeDelta,
    /// For [`CatchUp::All`]: maximum number of runs, one that is on time included; the latest ones
    /// run.
    pub max: u32,
    /// For [`CatchUp::All`]: the time between two runs.
    pub spacing: TimeDelta,
    /// Instants older than this never run.
    pub window: TimeDelta,
}

/// What happens to an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The instant runs in time.
    Run,
    /// The instant was missed, and runs late.
    CatchUp,
    /// The instant was missed, and a later one runs in its place.
    Collapsed,
    /// The instant was missed, and does not run because of the policy.
    Missed,
    /// The instant was missed longer ago than the window.
    OutsideWindow,
    /// The instant was missed, and is beyond the limit on the number of runs.
    OverLimit,
    /// A calendar suppresses the instant.
    Suppressed,
}

/// One instant, or a range of instants of one fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The instant, or the first of the range.
    pub fire: Fire,
    /// The last of the range; for one instant, the same instant.
    pub last: DateTime<Utc>,
    /// How many instants the entry accounts for.
    pub count: u64,
    /// When the fire is due to run.
    pub due_at: DateTime<Utc>,
    /// See [`Fate`].
    pub fate: Fate,
    /// The name of the calendar that suppresses the fire.
    pub calendar: Option<Arc<str>>,
}

/// The fates from the cursor on, and the new position of the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In chronological order.
    pub entries: Vec<Entry>,
    /// The next instant that is not accounted for. It may already be due: then plan again.
    pub next: Option<Fire>,
}

/// Up to this many instants of one fate get an entry each.
const APART: usize = 50;

/// A plan ends after this many ranges, or this many boundaries of calendars; the next plan covers
/// the rest.
const RANGES: usize = 1_000;
const STEPS: usize = 5_000;

const MS: TimeDelta = TimeDelta::milliseconds(1);

/// A fire that is claimed or starts no later than this after it is due is on time.
pub const ON_TIME: TimeDelta = TimeDelta::seconds(2);

/// Plans for the instants from `cursor` (inclusive) that are due at `now`.
pub fn plan(
    timetable: &Timetable,
    cursor: DateTime<Utc>,
    now: DateTime<Utc>,
    policy: &Policy,
) -> Plan {
    let before = cursor - MS;
    let until = due_until(timetable, before, now);
    let mut account = Account::new(timetable, before, now, Limit::BeforeRuns);
    if before < until {
        // A fire that is on time is not missed, even without any grace.
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

/// The last moment up to `now` by which every instant after `before` is due. Each is due before the
/// next one comes, so at most the last one is still waiting for its jitter. A suppressed instant
/// does not wait.
fn due_until(timetable: &Timetable, before: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
    match timetable.last(now, before) {
        None => before,
        Some(last) if timetable.suppressed_by(last.at).is_some() => now,
        Some(last) if timetable.due_at(last.at) > now => last.at - MS,
        Some(_) => now,
    }
}

/// Plans for the instants in `(after, until]`, all of them missed because of an outage or a pause.
/// The next one may also lie there: then plan again.
///
/// A plan ends early only before its first run. Those that run belong to one plan, because the
/// policy limits them together.
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

/// The next `count` instants from `cursor` (inclusive) that may run, with the suppressed ones
/// before them; fewer if fewer are left. Their fate is [`Fate::Run`] or [`Fate::Suppressed`].
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
    /// The part before `end`: instants from there on are planned next.
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

/// Where an account ends when it is [full](Account::is_full).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    Nowhere,
    BeforeRuns,
}

/// The entries made so far, from one instant on and without a gap.
struct Account<'a> {
    timetable: &'a Timetable,
    /// Every instant up to this one has its entry.
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

    /// Begins the missed instants that run.
    fn begin_runs(&mut self) {
        if self.limit == Limit::BeforeRuns {
            self.limit = Limit::Nowhere;
        }
    }

    /// Adds an instant that runs.
    fn run(&mut self, entry: Entry) {
        self.accounted = entry.fire.at;
        self.entries.push(entry);
    }

    /// Accounts for the only instant up to `until` that may run, which is in time.
    fn alone(&mut self, fire: Fire, until: DateTime<Utc>) {
        self.alike(fire.at - MS, Fate::Missed);
        if self.is_full() {
            return;
        }
        self.begin_runs();
        self.run(Entry::new(self.timetable, fire, Fate::Run));
        self.alike(until, Fate::Missed);
    }

    /// Accounts for all instants up to `until`, which were missed, except the newest if that is
    /// `in_time`.
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
                // Only suppressed instants are left after it.
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
                    // What is on time waits for no spacing.
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
        // The window is days, so its pieces are few.
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

    /// Accounts for the instants up to `until` with one fate, except suppressed ones: one entry
    /// each while they are few, ranges when they are many.
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

    /// The same, but always in ranges.
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
