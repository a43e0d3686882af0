//! What becomes of the instants between a schedule's cursor and now.
//!
//! Normally that is one instant, a few milliseconds old. After an outage it is many, and each must
//! be accounted for: those within the grace run, late as they are; the missed ones run, collapse
//! into a later one or are given up, as the policy says. The cost does not grow with the length of
//! the outage: many instants of one fate are one entry, counted without listing them.

use chrono::{DateTime, TimeDelta, Utc};

use crate::{Fire, Timetable};

/// What to do about missed fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatchUp {
    /// None of them runs.
    Skip,
    /// They collapse into the latest.
    #[default]
    Latest,
    /// Each of them runs, up to a limit.
    All,
}

/// A misfire policy.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// See [`CatchUp`].
    pub catch_up: CatchUp,
    /// A fire was missed when its scheduled time is longer ago than this: the grace that the
    /// schedule allows and the most that its jitter may add.
    pub grace: TimeDelta,
    /// For [`CatchUp::All`]: how many run at the most, the latest ones.
    pub max: u32,
    /// For [`CatchUp::All`]: the time between two of them.
    pub spacing: TimeDelta,
    /// What is older than this never runs.
    pub window: TimeDelta,
}

/// What becomes of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It runs, for itself.
    Run,
    /// It was missed and runs all the same.
    CatchUp,
    /// It was missed, and a later one runs for it.
    Collapsed,
    /// It was missed, and the policy is to let it go.
    Missed,
    /// It was missed longer ago than the window.
    OutsideWindow,
    /// It was missed, and more than the limit were.
    OverLimit,
}

/// One instant, or a range of instants of one fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The instant, or the first of the range.
    pub fire: Fire,
    /// The last of the range, or the instant again.
    pub last: DateTime<Utc>,
    /// How many instants it accounts for.
    pub count: u64,
    /// When it is to run.
    pub due_at: DateTime<Utc>,
    /// See [`Fate`].
    pub fate: Fate,
}

/// The fates from the cursor on, and where the cursor stands afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In the order of their instants.
    pub entries: Vec<Entry>,
    /// The next instant that is not accounted for. It may be due already: then plan again.
    pub next: Option<Fire>,
}

/// Up to so many instants of one fate get an entry each.
const APART: usize = 50;

/// A plan holds no more runs than this to be started now; the rest are planned next.
const RUNS: usize = 500;

/// Plans for the instants from `cursor` (inclusive) that are due at `now`.
pub fn plan(
    timetable: &Timetable,
    cursor: DateTime<Utc>,
    now: DateTime<Utc>,
    policy: &Policy,
) -> Plan {
    let before_cursor = cursor - TimeDelta::milliseconds(1);
    let missed_until = now - policy.grace - TimeDelta::milliseconds(1);
    let mut entries = Vec::new();
    let mut accounted = before_cursor;
    if cursor <= missed_until {
        entries = missed(timetable, before_cursor, missed_until, now, policy);
        accounted = missed_until;
        let mut runs = entries.iter().enumerate().filter(|(_, entry)| {
            // Those that wait for their turn are cheap: nothing is handed over for them yet.
            entry.fate == Fate::CatchUp && entry.due_at <= now
        });
        if let Some((cut, _)) = runs.nth(RUNS) {
            let next = Some(entries[cut].fire);
            entries.truncate(cut);
            return Plan { entries, next };
        }
    }

    let mut next = None;
    let mut late = 0;
    for fire in timetable.fires(accounted, DateTime::<Utc>::MAX_UTC) {
        let due_at = timetable.due_at(fire.at);
        if due_at > now || late == RUNS {
            next = Some(fire);
            break;
        }
        late += 1;
        entries.push(Entry { last: fire.at, count: 1, due_at, fate: Fate::Run, fire });
    }

    if policy.catch_up == CatchUp::Latest && late > 0 {
        // A fire that is on time runs for those that were missed before it.
        for entry in &mut entries {
            if entry.fate == Fate::CatchUp {
                entry.fate = Fate::Collapsed;
            }
        }
    }
    Plan { entries, next }
}

/// The entries for the instants in `(after, until]`, all of them missed: by an outage or a pause.
pub fn missed(
    timetable: &Timetable,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
    now: DateTime<Utc>,
    policy: &Policy,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    let window_start = (now - policy.window).clamp(after, until);
    alike(timetable, after, window_start, Fate::OutsideWindow, &mut entries);
    match policy.catch_up {
        CatchUp::Skip => alike(timetable, window_start, until, Fate::Missed, &mut entries),
        CatchUp::Latest => {
            if let Some(latest) = timetable.last(until, window_start) {
                let before = latest.at - TimeDelta::milliseconds(1);
                alike(timetable, window_start, before, Fate::Collapsed, &mut entries);
                entries.push(late_run(latest, now));
            }
        }
        CatchUp::All => {
            let mut runs = Vec::new();
            let mut end = until;
            while runs.len() < policy.max as usize {
                let Some(fire) = timetable.last(end, window_start) else { break };
                end = fire.at - TimeDelta::milliseconds(1);
                runs.push(fire);
            }
            alike(timetable, window_start, end, Fate::OverLimit, &mut entries);
            let mut due_at = now;
            for fire in runs.into_iter().rev() {
                entries.push(late_run(fire, due_at));
                due_at += policy.spacing;
            }
        }
    }
    entries
}

fn late_run(fire: Fire, due_at: DateTime<Utc>) -> Entry {
    Entry { last: fire.at, count: 1, due_at, fate: Fate::CatchUp, fire }
}

/// Accounts for the instants in `(after, until]` with one fate: each with its own entry while they
/// are few, all in one when they are many.
fn alike(
    timetable: &Timetable,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
    fate: Fate,
    entries: &mut Vec<Entry>,
) {
    if after >= until {
        return;
    }
    let few: Vec<Fire> = timetable.fires(after, until).take(APART + 1).collect();
    if few.len() <= APART {
        entries.extend(few.into_iter().map(|fire| Entry {
            last: fire.at,
            count: 1,
            due_at: timetable.due_at(fire.at),
            fate,
            fire,
        }));
    } else if let (Some(first), Some(last)) = (few.into_iter().next(), timetable.last(until, after))
    {
        entries.push(Entry {
            last: last.at,
            count: timetable.count(after, until),
            due_at: timetable.due_at(first.at),
            fate,
            fire: first,
        });
    }
}
