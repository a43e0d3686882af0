//! Compares the instants at which a schedule should have been due with the rows of its ledger.

use std::{collections::BTreeMap, mem};

use entity::{
    Timestamp,
    fire::{Reason, Verdict},
};
use uuid::Uuid;

use super::{ScheduleLife, TimingPeriod};
use crate::store::reads::ledger_check::AccountingRow;

/// How much earlier than its recorded time a change may have taken effect, in milliseconds: the
/// time is taken at the end of the transaction. Within this distance of a change, the instants of
/// both timings may have rows, and need none. It also bridges the clocks of two nodes.
pub(super) const MARGIN_MS: i64 = 60_000;

/// The instants to check: from the first, inclusive, until the second, exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckedRange {
    /// The first instant of the range.
    pub from: Timestamp,
    /// The end of the range, which is not later than the time of the check.
    pub until: Timestamp,
}

/// What is wrong with an instant of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerFault {
    /// The schedule was due, and no row accounts for it.
    NoRow,
    /// A row is for an instant at which the schedule was not due.
    NotDue,
    /// A row of several instants does not have as many as it says, or begins or ends at an instant
    /// that is not one of them.
    WrongCount,
    /// Two rows account for the instant.
    Twice,
    /// A row says that a calendar suppressed the instant, and none did.
    NotSuppressed,
    /// The fire ran, and a calendar suppressed its instant.
    RanSuppressed,
}

/// A fault of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerFinding {
    /// The instant.
    pub at: Timestamp,
    /// What is wrong.
    pub fault: LedgerFault,
    /// The row; `None` if there is none.
    pub row: Option<AccountingRow>,
}

/// The result of a comparison, in instants. `expected` is `accounted + unexplained`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerComparison {
    /// Instants that must have a row by now, and those near a change that have one.
    pub expected: u64,
    /// Those of them that have a row.
    pub accounted: u64,
    /// Those of them that have none.
    pub unexplained: u64,
    /// Number of faults of rows.
    pub unexpected: u64,
    /// Instants of an active schedule that no scheduler has claimed yet.
    pub waiting: u64,
    /// Instants of a paused schedule, which get their rows when it resumes.
    pub paused: u64,
    /// Instants that ran or were suppressed, of which it is not known what the calendars were.
    pub unjudged: u64,
    /// The first faults, in order.
    pub findings: Vec<LedgerFinding>,
}

impl ScheduleLife {
    /// Compares the instants of a range with the rows that account for them. Lists up to `most`
    /// faults.
    pub fn compare(
        &self,
        range: CheckedRange,
        rows: &[AccountingRow],
        most: usize,
    ) -> LedgerComparison {
        let mut comparer = LedgerComparer::new(self, range, rows, most);
        // A row of a newer version was written after the schedule was read.
        for row in rows.iter().filter(|row| row.schedule_version <= self.version) {
            comparer.add(row);
        }
        comparer.finish()
    }
}

/// What a row says about the calendars of its instants.
#[derive(Clone, Copy)]
enum CalendarSaying {
    /// A calendar suppressed them.
    Suppressed,
    /// No calendar suppressed the instant, because its fire ran.
    Ran,
}

impl CalendarSaying {
    /// `None` if the row is there for another reason. A backfill follows the present calendars, so
    /// that a wrong one can be corrected first.
    fn of(row: &AccountingRow) -> Option<Self> {
        match (row.verdict, row.reason) {
            (Verdict::Skipped, Reason::Calendar) => Some(Self::Suppressed),
            (Verdict::Started, reason) if reason != Reason::Backfilled => Some(Self::Ran),
            _ => None,
        }
    }
}

impl ScheduleLife {
    /// Whether it is true what a row says about the calendars of an instant; `None` if that cannot
    /// be told.
    fn is_true(
        &self,
        saying: CalendarSaying,
        row: &AccountingRow,
        at: Timestamp,
        period: &TimingPeriod,
        keys: &[Uuid],
    ) -> Option<bool> {
        // A fire that was skipped in advance was decided by what was known then.
        let decided = at.min(row.claimed_at);
        let (mut may_be_suppressed, mut may_run, mut is_known) = (false, true, true);
        for key in keys {
            let calendar = self.calendars.get(key);
            match calendar.and_then(|calendar| calendar.answer(&period.timetable, decided, at)) {
                Some(answer) => {
                    may_be_suppressed |= answer.suppresses;
                    may_run &= answer.allows;
                }
                None => is_known = false,
            }
        }
        match saying {
            CalendarSaying::Suppressed if may_be_suppressed => Some(true),
            CalendarSaying::Ran if !may_run => Some(false),
            CalendarSaying::Suppressed => is_known.then_some(false),
            CalendarSaying::Ran => is_known.then_some(true),
        }
    }
}

/// An instant at which the schedule was, or may have been, due.
struct DueInstant {
    /// The place of its period.
    period: usize,
    /// Whether the schedule certainly was due.
    is_certain: bool,
    is_accounted: bool,
}

struct LedgerComparer<'a> {
    life: &'a ScheduleLife,
    range: CheckedRange,
    most: usize,
    instants: BTreeMap<Timestamp, DueInstant>,
    /// The last instant of each period that the planner accounted for.
    last: Vec<Option<Timestamp>>,
    result: LedgerComparison,
}

impl<'a> LedgerComparer<'a> {
    fn new(
        life: &'a ScheduleLife,
        range: CheckedRange,
        rows: &[AccountingRow],
        most: usize,
    ) -> Self {
        let mut instants = BTreeMap::<Timestamp, DueInstant>::new();
        for (place, period) in life.periods.iter().enumerate() {
            let ended = period.ended.map_or(i64::MAX, |ended| ended.0);
            let after = period.began.0.saturating_sub(MARGIN_MS).max(range.from.0 - 1);
            let until = ended.saturating_add(MARGIN_MS).min(range.until.0 - 1);
            if after >= until {
                continue;
            }
            let begin = period.began.max(ahead(rows, period.first_version));
            let certain_until = match period.ended {
                Some(_) => ended.saturating_sub(MARGIN_MS),
                None => i64::MAX,
            };
            for fire in period.timetable.fires(Timestamp(after).utc(), Timestamp(until).utc()) {
                let at = Timestamp::from(fire.at);
                let is_certain = begin < at && at.0 <= certain_until;
                let instant = instants.entry(at).or_insert(DueInstant {
                    period: place,
                    is_certain: false,
                    is_accounted: false,
                });
                if is_certain {
                    (instant.period, instant.is_certain) = (place, true);
                }
            }
        }
        let last = vec![None; life.periods.len()];
        Self { life, range, most, instants, last, result: LedgerComparison::default() }
    }

    fn add(&mut self, row: &AccountingRow) {
        if row.count != 1 || row.last_scheduled_at != row.scheduled_at {
            self.add_range(row);
        } else if self.account(row.scheduled_at, row) {
            self.judge(&[row.scheduled_at], row);
        } else if !is_outside_periods(row) {
            self.find(LedgerFault::NotDue, row.scheduled_at, row);
        }
    }

    /// Adds a row of several instants: all of its version from its first to its last.
    fn add_range(&mut self, row: &AccountingRow) {
        let end = Timestamp(self.range.until.0 - 1);
        let first = row.scheduled_at.max(self.range.from);
        let last = row.last_scheduled_at.min(end);
        if first > last {
            return self.find(LedgerFault::WrongCount, first, row);
        }
        let life = self.life;
        let is_its = |one: &&TimingPeriod| one.first_version <= row.schedule_version;
        let own = life.periods.iter().rev().find(is_its);
        let instants: Vec<Timestamp> = match own {
            Some(period) => {
                let fires = period.timetable.fires(Timestamp(first.0 - 1).utc(), last.utc());
                fires.map(|fire| fire.at.into()).collect()
            }
            None => self.instants.range(first..=last).map(|(at, _)| *at).collect(),
        };
        // Of a row that begins before the range, only a part is compared.
        let is_whole = first == row.scheduled_at && last == row.last_scheduled_at;
        let fits = i64::try_from(instants.len()) == Ok(row.count)
            && instants.first() == Some(&first)
            && instants.last() == Some(&last);
        if own.is_some() && is_whole && !fits {
            self.find(LedgerFault::WrongCount, first, row);
        }
        let mut due = 0;
        for at in &instants {
            due += usize::from(self.account(*at, row));
        }
        if let (0, Some(at)) = (due, instants.first())
            && !is_outside_periods(row)
        {
            self.find(LedgerFault::NotDue, *at, row);
        }
        self.judge(&instants, row);
    }

    /// Compares what a row says about calendars with what they were at the time. It is one fault
    /// of the row, at the first wrong instant.
    fn judge(&mut self, instants: &[Timestamp], row: &AccountingRow) {
        let Some(saying) = CalendarSaying::of(row) else { return };
        let life = self.life;
        let period =
            life.periods.iter().rev().find(|one| one.first_version <= row.schedule_version);
        let named = life.named.iter().rev().find(|one| one.version <= row.schedule_version);
        let keys = named.and_then(|named| named.keys.as_deref());
        let mut wrong = None;
        for at in instants {
            let known = period.zip(keys);
            match known.and_then(|(period, keys)| life.is_true(saying, row, *at, period, keys)) {
                Some(true) => {}
                Some(false) => wrong = wrong.or(Some(*at)),
                None => self.result.unjudged += 1,
            }
        }
        if let Some(at) = wrong {
            let fault = match saying {
                CalendarSaying::Suppressed => LedgerFault::NotSuppressed,
                CalendarSaying::Ran => LedgerFault::RanSuppressed,
            };
            self.find(fault, at, row);
        }
    }

    /// Records that a row accounts for an instant. Returns whether the schedule may have been due.
    fn account(&mut self, at: Timestamp, row: &AccountingRow) -> bool {
        let Some(instant) = self.instants.get_mut(&at) else { return false };
        let (period, is_second) = (instant.period, mem::replace(&mut instant.is_accounted, true));
        if is_second {
            self.find(LedgerFault::Twice, at, row);
        }
        // A backfill also runs instants after the end of a schedule, and fires may have been
        // skipped in advance.
        if row.reason != Reason::Backfilled
            && row.last_scheduled_at <= row.claimed_at
            && let Some(last) = self.last.get_mut(period)
        {
            *last = (*last).max(Some(at));
        }
        true
    }

    fn find(&mut self, fault: LedgerFault, at: Timestamp, row: &AccountingRow) {
        self.result.unexpected += 1;
        if self.result.findings.len() < self.most {
            self.result.findings.push(LedgerFinding { at, fault, row: Some(*row) });
        }
    }

    fn finish(self) -> LedgerComparison {
        let Self { life, most, instants, last, mut result, .. } = self;
        let mut gaps = Vec::new();
        for (at, instant) in instants {
            if instant.is_accounted {
                result.accounted += 1;
                continue;
            }
            // Close to a change, the other timing may have decided about the instant.
            if !instant.is_certain {
                continue;
            }
            if life.cursor.is_some_and(|cursor| cursor <= at) {
                let open = if life.enabled { &mut result.waiting } else { &mut result.paused };
                *open += 1;
                continue;
            }
            if has_stopped(life, instant.period, &last, at) {
                continue;
            }
            result.unexplained += 1;
            if gaps.len() < most {
                gaps.push(LedgerFinding { at, fault: LedgerFault::NoRow, row: None });
            }
        }
        result.expected = result.accounted + result.unexplained;
        result.findings.extend(gaps);
        result.findings.sort_by_key(|finding| finding.at);
        result.findings.truncate(most);
        result
    }
}

/// Whether a schedule had stopped before an instant without a row: it stops after the last instant
/// that the planner accounted for.
fn has_stopped(
    life: &ScheduleLife,
    period: usize,
    last: &[Option<Timestamp>],
    at: Timestamp,
) -> bool {
    life.periods.get(period).is_some_and(|one| one.may_stop)
        && last.get(period).copied().flatten().is_none_or(|last| last < at)
}

/// The last instant that earlier versions had already accounted for when it had come. It is later
/// than a change if the clock was stepped back before the change; then the new timing begins after
/// it.
fn ahead(rows: &[AccountingRow], version: i32) -> Timestamp {
    let earlier = rows
        .iter()
        .filter(|row| row.schedule_version < version && row.last_scheduled_at <= row.claimed_at);
    earlier.map(|row| row.last_scheduled_at).max().unwrap_or(Timestamp(i64::MIN))
}

/// Whether a row may be for an instant outside the periods: a backfill may run any instant, also if
/// its run was abandoned, which replaces the reason; and fires that were skipped in advance keep
/// their rows when the timing changes.
fn is_outside_periods(row: &AccountingRow) -> bool {
    let is_ahead = row.verdict == Verdict::Skipped
        && matches!(row.reason, Reason::ByRequest | Reason::Calendar)
        && row.claimed_at < row.scheduled_at;
    row.reason == Reason::Backfilled || row.verdict == Verdict::Abandoned || is_ahead
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
