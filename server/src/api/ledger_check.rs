//! Whether the ledger accounts for every instant at which schedules should have been due. Computed
//! by `model::ledger_check`, which shares nothing with the engine except the calculator.

use async_graphql::{Context, Object, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, schedule::Model};

use super::{
    calm::Calm,
    context::ContextExt,
    error::Result,
    filters::sought,
    ledger_finding::LedgerFinding,
    ledger_history::{CalendarReader, NEAR_MS, kept_histories},
    page::{Paging, cost, search_cost},
    query::{name_cursor, name_key, usual, within},
    scalar::{Instant, Long},
    schedule::Schedule,
};
use crate::{
    commands::BadInput,
    model::ledger_check::{CheckedRange, LedgerComparison, ScheduleLife},
    search::SearchedList,
    store::reads::{
        ledger_check::{self as ledger, AccountingRow},
        schedules,
    },
};

/// The longest range, in days.
const DAYS: i64 = 31;
/// How much longer a range may be: callers count from a clock of their own.
const LENIENCE: TimeDelta = TimeDelta::hours(1);
/// The length of the range if there is no `from`.
const USUAL: TimeDelta = TimeDelta::hours(24);
/// Maximum number of instants that a request checks, and of rows that it reads for one schedule.
const INSTANTS: usize = 150_000;
/// Maximum number of versions of a schedule that are in force during the range.
const VERSIONS: usize = 500;
/// Maximum number of faults that are listed.
const FINDINGS: usize = 100;

/// Checks of the ledger.
#[derive(Default)]
pub(super) struct CheckingLedger;

/// Checks of the ledger.
#[Object]
impl CheckingLedger {
    /// Whether the ledger accounts for every instant at which schedules should have been due, and
    /// for no other, and whether calendars rightly suppressed instants. The instants are computed
    /// anew from the history of the schedules' definitions and of their calendars. Checks a page of
    /// schedules, by name; the figures of the pages add up. At most 150,000 instants and 1,000
    /// versions of calendars a page: a page with more ends early, and a single schedule with more
    /// instants is refused.
    #[graphql(
        complexity = "20_000 + search_cost(search.as_deref()) + cost(Some(first), None, child_complexity)"
    )]
    async fn ledger_check(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(
            desc = "Only schedules that match this search, in the language of docs/search.md."
        )]
        search: Option<String>,
        #[graphql(
            desc = "Start of the range; 24 hours before `until` if absent, at most 31 days before \
                    it."
        )]
        from: Option<Instant>,
        #[graphql(
            desc = "End of the range, exclusive; now if absent. A future instant counts as now."
        )]
        until: Option<Instant>,
        #[graphql(
            default = false,
            desc = "If true, checks the schedules that were deleted in the last 7 days and are not \
                    purged yet, instead of the others."
        )]
        deleted: bool,
        #[graphql(default = 50, desc = "How many schedules are checked, 1 to 200.")] first: i32,
        #[graphql(desc = "Only schedules after this cursor: the `endCursor` of a page.")]
        after: Option<String>,
    ) -> Result<LedgerCheck> {
        cx.viewer()?;
        let now = cx.commands().clock.now();
        let range = range_of(from, until, now)?;
        let window = Paging::forward(Some(first), after).window(name_key)?;
        let within = within(cx, namespace.as_deref()).await?;
        let search = sought(cx, &within, SearchedList::Schedules, search)?;
        let filter = schedules::Filter { search, deleted, ..schedules::Filter::default() };
        // The schedules are read before their rows: see `ScheduleLife::of`.
        let page = schedules::page(cx.store(), &within, &filter, false, &window).await?;
        let kept = kept_histories(cx, &page.rows).await?;
        let mut check = LedgerCheck::of(range, page.has_next);
        let (mut left, mut calendars) = (INSTANTS, CalendarReader::new());
        for row in page.rows {
            let end = name_cursor(row.id, &row.name);
            let kept = kept.get(&row.namespace_id).copied().unwrap_or_default();
            match life_of(cx, &row, range).await? {
                Ok(life) => {
                    let range = kept.part_of(range, &life, now.into());
                    let instants = usize::try_from(life.count(range)).unwrap_or(usize::MAX);
                    not_too_many(instants, "instants", &row, range)?;
                    let Some(rest) = left.checked_sub(instants) else {
                        check.has_next_page = true;
                        break;
                    };
                    left = rest;
                    let rows = rows_of(cx, &row, range).await?;
                    let completed = calendars.complete(cx.store(), life, range, &rows);
                    let Some(life) = completed.await? else {
                        check.has_next_page = true;
                        break;
                    };
                    let compared = life.compare(range, &rows, FINDINGS);
                    check.add(row, range.from, compared);
                }
                Err(problem) => check.add_unchecked(row, problem),
            }
            check.end_cursor = Some(end);
            // Yield to other tasks, however many schedules there are.
            tokio::task::yield_now().await;
        }
        Ok(check)
    }
}

/// The range to check.
fn range_of(
    from: Option<Instant>,
    until: Option<Instant>,
    now: DateTime<Utc>,
) -> Result<CheckedRange> {
    let until = until.map_or(now, |until| until.0.min(now));
    let earliest = |span| until.checked_sub_signed(span).unwrap_or(DateTime::<Utc>::MIN_UTC);
    let from = from.map_or_else(|| earliest(USUAL), |from| from.0);
    let refused =
        |problem: String, help: String| BadInput::new("from", from.to_rfc3339(), problem, help);
    if from >= until {
        let help = format!("give an instant before {}", until.to_rfc3339());
        return Err(refused("is not before the end of the range".to_owned(), help).into());
    }
    let first = earliest(TimeDelta::days(DAYS));
    if from < first - LENIENCE {
        let problem = format!("is more than {DAYS} days before the end of the range");
        let help = format!("give an instant from {} on, or check in parts", first.to_rfc3339());
        return Err(refused(problem, help).into());
    }
    Ok(CheckedRange { from: from.into(), until: until.into() })
}

/// Refuses a schedule that is too much for one request.
fn not_too_many(
    found: usize,
    what: &str,
    row: &Model,
    range: CheckedRange,
) -> std::result::Result<(), BadInput> {
    if found <= INSTANTS {
        return Ok(());
    }
    let name = &row.name;
    let problem =
        format!("leaves {found} {what} of the schedule {name:?}; the limit is {INSTANTS}");
    let help = "give a later instant, or an earlier 'until'";
    Err(BadInput::new("from", range.from.utc().to_rfc3339(), problem, help))
}

/// The life of a schedule during a range, or why it cannot be told.
async fn life_of(
    cx: &Context<'_>,
    row: &Model,
    range: CheckedRange,
) -> Result<std::result::Result<ScheduleLife, String>> {
    let since = Timestamp(range.from.0 - NEAR_MS);
    // Each version stamps the row.
    let versions = if row.updated_at < since {
        vec![]
    } else {
        let most = u64::try_from(VERSIONS + 1).unwrap_or(u64::MAX);
        ledger::versions_since(cx.store(), row.id, since, most).await?
    };
    if versions.len() > VERSIONS {
        return Ok(Err(format!(
            "more than {VERSIONS} versions of it were in force during the range; check a shorter \
             one"
        )));
    }
    Ok(ScheduleLife::of(row, versions, &cx.commands().cache))
}

/// The rows of a schedule.
async fn rows_of(cx: &Context<'_>, row: &Model, range: CheckedRange) -> Result<Vec<AccountingRow>> {
    if range.from >= range.until {
        return Ok(vec![]);
    }
    let CheckedRange { from, until } = range;
    let rows = ledger::rows(cx.store(), row.id, from, until, INSTANTS + 1).await?;
    not_too_many(rows.len(), "rows", row, range)?;
    Ok(rows)
}

/// The result of a check, in instants: `expected` is always `accounted + unexplained`.
#[derive(SimpleObject)]
pub(super) struct LedgerCheck {
    /// Start of the range, inclusive.
    from: Instant,
    /// End of the range, exclusive.
    until: Instant,
    /// Instants that should have a row: the schedules were due by their definitions of that time.
    expected: Long,
    /// Those of them that a row accounts for.
    accounted: Long,
    /// Those of them that no row accounts for. Anything but 0 is a fault.
    unexplained: Long,
    /// Faults of rows, such as a row for an instant at which its schedule was not due, or a fire
    /// that ran at an instant that a calendar suppressed. Anything but 0 is a fault.
    unexpected: Long,
    /// Instants that are due and not claimed yet, as after an outage. They do not count as expected.
    waiting: Long,
    /// Instants of schedules that are paused: they get their rows when the schedules resume. They
    /// do not count as expected.
    paused: Long,
    /// Instants that ran or were suppressed by a calendar, but whose correctness cannot be checked,
    /// because the history of the schedule's calendars does not reach back far enough.
    unjudged: Long,
    /// How many schedules of the page could not be checked: see `problem`.
    unchecked: u32,
    /// The first faults, by schedule and instant; at most 100.
    findings: Vec<Calm<LedgerFinding>>,
    /// The schedules of the page, by name.
    schedules: Vec<Calm<ScheduleLedgerCheck>>,
    /// Whether there are more schedules to check.
    has_next_page: bool,
    /// The cursor from which the check continues: pass it as `after`.
    end_cursor: Option<String>,
}

/// The check of a schedule's ledger, in instants.
#[derive(SimpleObject)]
pub(super) struct ScheduleLedgerCheck {
    /// The schedule.
    schedule: Schedule,
    /// Start of the checked range. Later than that of the whole check if the history before it has
    /// been removed by retention or a quota.
    from: Instant,
    /// Instants that should have a row.
    expected: Long,
    /// Those of them that a row accounts for.
    accounted: Long,
    /// Those of them that no row accounts for.
    unexplained: Long,
    /// Faults of rows.
    unexpected: Long,
    /// Instants that are due and not claimed yet.
    waiting: Long,
    /// Instants of the current pause, which get their rows when the schedule resumes.
    paused: Long,
    /// Instants for which it cannot be checked whether a calendar should have suppressed them.
    unjudged: Long,
    /// When the schedule was deleted; null if it was not.
    deleted_at: Option<Instant>,
    /// Why the schedule could not be checked; null if it was.
    problem: Option<String>,
}

impl LedgerCheck {
    fn of(range: CheckedRange, has_next_page: bool) -> Self {
        Self {
            from: range.from.into(),
            until: range.until.into(),
            expected: Long(0),
            accounted: Long(0),
            unexplained: Long(0),
            unexpected: Long(0),
            waiting: Long(0),
            paused: Long(0),
            unjudged: Long(0),
            unchecked: 0,
            findings: vec![],
            schedules: vec![],
            has_next_page,
            end_cursor: None,
        }
    }

    fn add(&mut self, row: Model, from: Timestamp, compared: LedgerComparison) {
        let one = ScheduleLedgerCheck {
            from: from.into(),
            expected: compared.expected.into(),
            accounted: compared.accounted.into(),
            unexplained: compared.unexplained.into(),
            unexpected: compared.unexpected.into(),
            waiting: compared.waiting.into(),
            paused: compared.paused.into(),
            unjudged: compared.unjudged.into(),
            deleted_at: row.deleted_at.map(Instant::from),
            problem: None,
            schedule: Schedule(row.clone()),
        };
        for (sum, number) in [
            (&mut self.expected, one.expected),
            (&mut self.accounted, one.accounted),
            (&mut self.unexplained, one.unexplained),
            (&mut self.unexpected, one.unexpected),
            (&mut self.waiting, one.waiting),
            (&mut self.paused, one.paused),
            (&mut self.unjudged, one.unjudged),
        ] {
            sum.0 += number.0;
        }
        let room = FINDINGS - self.findings.len();
        let found = compared.findings.into_iter().take(room);
        self.findings.extend(found.map(|finding| Calm(LedgerFinding::of(row.clone(), finding))));
        self.schedules.push(Calm(one));
    }

    fn add_unchecked(&mut self, row: Model, problem: String) {
        self.unchecked += 1;
        self.schedules.push(Calm(ScheduleLedgerCheck {
            deleted_at: row.deleted_at.map(Instant::from),
            schedule: Schedule(row),
            from: self.from,
            expected: Long(0),
            accounted: Long(0),
            unexplained: Long(0),
            unexpected: Long(0),
            waiting: Long(0),
            paused: Long(0),
            unjudged: Long(0),
            problem: Some(problem),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> DateTime<Utc> {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    fn instant(text: &str) -> Option<Instant> {
        Some(Instant(text.parse().unwrap()))
    }

    /// The ends of the range, in hours before noon.
    fn hours(from: Option<Instant>, until: Option<Instant>) -> Option<[i64; 2]> {
        let range = range_of(from, until, noon()).ok()?;
        Some([range.from, range.until].map(|at| (noon() - at.utc()).num_hours()))
    }

    #[test]
    fn a_range_ends_now_and_is_at_most_a_month_long() {
        assert_eq!(hours(None, None), Some([24, 0]));
        assert_eq!(hours(None, instant("2026-03-01T10:00:00Z")), Some([26, 2]));
        assert_eq!(hours(None, instant("2027-01-01T00:00:00Z")), Some([24, 0]));
        assert_eq!(hours(instant("2026-01-29T12:00:00Z"), None), Some([31 * 24, 0]));
        assert_eq!(hours(instant("2026-01-29T10:59:59Z"), None), None);
        assert_eq!(hours(instant("2026-03-01T12:00:00Z"), None), None);
    }
}
