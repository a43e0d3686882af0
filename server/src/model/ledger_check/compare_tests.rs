use std::{sync::Arc, time::Duration};

use chrono::DateTime;
use entity::{calendar, calendar_version};
use serde_json::json;
use timetable::{Definition, DstPolicy, Timetable};

use super::*;
use crate::model::ledger_check::{CalendarHistories, CalendarHistory, NamedCalendars};

const MINUTE: i64 = 60_000;

fn at(minute: i64) -> Timestamp {
    Timestamp(minute * MINUTE)
}

fn period(expression: &str, first_version: i32, began: i64, ended: Option<i64>) -> TimingPeriod {
    let timetable = Timetable::new(&Definition {
        expressions: vec![expression.to_owned()],
        zone: "UTC".to_owned(),
        dst: DstPolicy::default(),
        anchor: DateTime::UNIX_EPOCH,
        start: None,
        end: None,
        jitter: Duration::ZERO,
        seed: [0; 16],
    });
    TimingPeriod {
        first_version,
        timetable: timetable.unwrap(),
        began: at(began),
        ended: ended.map(at),
        may_stop: false,
    }
}

/// The life of an active schedule whose next instant is at that minute.
fn life(periods: Vec<TimingPeriod>, cursor: Option<i64>) -> ScheduleLife {
    let cursor = cursor.map(at);
    let named = vec![NamedCalendars { version: 1, keys: Some(vec![]) }];
    let calendars = CalendarHistories::new();
    ScheduleLife {
        periods,
        named,
        calendars,
        retentions: vec![],
        version: 9,
        cursor,
        enabled: true,
    }
}

/// A schedule that fires every minute from minute 1 on, and has a row until minute 10.
fn minutely() -> ScheduleLife {
    life(vec![period("* * * * *", 1, 0, None)], Some(11))
}

/// A row of the first version for the instants from one minute to another.
fn row(first: i64, last: i64) -> AccountingRow {
    AccountingRow {
        id: Uuid::from_u128(7),
        schedule_version: 1,
        scheduled_at: at(first),
        last_scheduled_at: at(last),
        count: last - first + 1,
        verdict: Verdict::Started,
        reason: Reason::OnTime,
        claimed_at: at(last),
    }
}

fn rows(minutes: impl Iterator<Item = i64>) -> Vec<AccountingRow> {
    minutes.map(|minute| row(minute, minute)).collect()
}

/// The comparison of the minutes from one until before another.
fn compare(life: &ScheduleLife, minutes: [i64; 2], rows: &[AccountingRow]) -> LedgerComparison {
    let [from, until] = minutes.map(at);
    life.compare(CheckedRange { from, until }, rows, 100)
}

/// Expected, accounted, unexplained, unexpected.
fn figures(found: &LedgerComparison) -> [u64; 4] {
    [found.expected, found.accounted, found.unexplained, found.unexpected]
}

/// The minute of each finding, and what is wrong.
fn faults(found: &LedgerComparison) -> Vec<(i64, LedgerFault)> {
    found.findings.iter().map(|one| (one.at.0 / MINUTE, one.fault)).collect()
}

#[test]
fn single_rows_and_ranges_account_for_every_instant() {
    let mut all = rows(1..6);
    all.push(row(6, 10));
    let found = compare(&minutely(), [0, 11], &all);
    assert_eq!((figures(&found), found.findings), ([10, 10, 0, 0], vec![]));
    let part = compare(&minutely(), [8, 10], &[row(6, 10)]);
    assert_eq!(figures(&part), [2, 2, 0, 0], "the row begins before the range");
}

#[test]
fn an_instant_without_a_row_is_unexplained() {
    let found = compare(&minutely(), [0, 11], &rows((1..4).chain(6..11)));
    assert_eq!(figures(&found), [10, 8, 2, 0]);
    assert_eq!(faults(&found), [(4, LedgerFault::NoRow), (5, LedgerFault::NoRow)]);
    let few = minutely().compare(CheckedRange { from: at(0), until: at(11) }, &[], 3);
    assert_eq!((few.unexplained, few.findings.len()), (10, 3), "the first are listed");
}

#[test]
fn a_row_that_nothing_expected_is_reported() {
    let mut all = rows(1..11);
    let odd = Timestamp(90_500);
    all.push(AccountingRow { scheduled_at: odd, last_scheduled_at: odd, ..row(1, 1) });
    let found = compare(&minutely(), [0, 11], &all);
    assert_eq!(figures(&found), [10, 10, 0, 1]);
    assert_eq!(found.findings[0].row.map(|row| row.scheduled_at), Some(odd));
    assert_eq!(faults(&found), [(1, LedgerFault::NotDue)]);
}

#[test]
fn a_range_that_says_too_much_or_too_little_is_reported() {
    let mut all = rows(1..5);
    all.push(AccountingRow { count: 5, ..row(5, 10) });
    let found = compare(&minutely(), [0, 11], &all);
    assert_eq!(
        (figures(&found), faults(&found)),
        ([10, 10, 0, 1], vec![(5, LedgerFault::WrongCount)])
    );
    let twice = compare(&minutely(), [0, 11], &[row(1, 10), row(4, 4)]);
    assert_eq!(faults(&twice), [(4, LedgerFault::Twice)]);
    let backwards = AccountingRow { count: 3, last_scheduled_at: at(2), ..row(5, 5) };
    let found = compare(&minutely(), [0, 11], &[row(1, 10), backwards]);
    assert_eq!(faults(&found), [(5, LedgerFault::WrongCount)]);
}

#[test]
fn instants_from_the_cursor_on_are_open() {
    let mut life = minutely();
    life.cursor = Some(at(8));
    let found = compare(&life, [0, 11], &rows(1..8));
    assert_eq!((figures(&found), found.waiting, found.paused), ([7, 7, 0, 0], 3, 0));
    life.enabled = false;
    let found = compare(&life, [0, 11], &rows(1..8));
    assert_eq!((figures(&found), found.waiting, found.paused), ([7, 7, 0, 0], 0, 3));
    life.cursor = None;
    let found = compare(&life, [0, 11], &rows(1..8));
    assert_eq!(figures(&found), [10, 7, 3, 0], "nothing will write these rows");
}

#[test]
fn an_edit_ends_one_timing_and_begins_another() {
    let periods = vec![period("* * * * *", 1, 0, Some(10)), period("*/5 * * * *", 3, 10, None)];
    let life = life(periods, Some(25));
    let later = [15, 20].map(|minute| AccountingRow { schedule_version: 3, ..row(minute, minute) });
    let with = |minutes: Vec<i64>| {
        let rows: Vec<_> = rows(minutes.into_iter()).into_iter().chain(later).collect();
        compare(&life, [0, 25], &rows)
    };
    assert_eq!(figures(&with((1..11).collect())), [12, 12, 0, 0]);
    let found = with((1..10).collect());
    assert_eq!(figures(&found), [11, 11, 0, 0], "the change may have come just before");
    let found = with((1..5).chain(6..11).chain([12]).collect());
    assert_eq!(figures(&found), [12, 11, 1, 1]);
    assert_eq!(faults(&found), [(5, LedgerFault::NoRow), (12, LedgerFault::NotDue)]);
}

#[test]
fn a_timing_begins_after_what_was_accounted_for_before_the_clock_was_stepped_back() {
    let periods = vec![period("* * * * *", 1, 0, Some(10)), period("*/5 * * * *", 2, 10, None)];
    let life = life(periods, Some(25));
    let last = AccountingRow { schedule_version: 2, ..row(20, 20) };
    let mut all = rows(1..11);
    let gap = compare(&life, [0, 25], &[all.clone(), vec![last]].concat());
    assert_eq!(faults(&gap), [(15, LedgerFault::NoRow)]);
    // The clock had been at minute 17.
    all.push(AccountingRow { count: 7, ..row(11, 17) });
    all.push(last);
    assert_eq!(compare(&life, [0, 25], &all).unexplained, 0);
}

#[test]
fn a_schedule_that_has_stopped_owes_nothing_more() {
    let mut life = life(vec![period("* * * * *", 1, 0, None)], None);
    let some = rows((1..4).chain(5..7));
    assert_eq!(figures(&compare(&life, [0, 11], &some)), [10, 5, 5, 0]);
    life.periods[0].may_stop = true;
    let found = compare(&life, [0, 11], &some);
    assert_eq!(faults(&found), [(4, LedgerFault::NoRow)], "it stopped after minute 6");
    assert_eq!(figures(&compare(&life, [0, 11], &[])), [0, 0, 0, 0]);
    // A backfill that runs a later instant does not move the end.
    let backfilled = AccountingRow { reason: Reason::Backfilled, ..row(9, 9) };
    let found = compare(&life, [0, 11], &[rows(1..7), vec![backfilled]].concat());
    assert_eq!(figures(&found), [7, 7, 0, 0]);
}

#[test]
fn backfills_and_fires_skipped_in_advance_may_be_for_instants_of_no_period() {
    let life = life(vec![period("*/5 * * * *", 2, 10, None)], Some(25));
    let of = |version| move |row: AccountingRow| AccountingRow { schedule_version: version, ..row };
    let mut all: Vec<_> = [15, 20].map(|minute| row(minute, minute)).map(of(2)).to_vec();
    all.push(AccountingRow { reason: Reason::Backfilled, ..row(3, 3) });
    let (verdict, reason) = (Verdict::Skipped, Reason::ByRequest);
    all.push(AccountingRow { verdict, reason, claimed_at: at(8), ..row(17, 17) });
    assert_eq!(figures(&compare(&life, [0, 25], &all)), [2, 2, 0, 0]);
    all.push(AccountingRow { verdict, reason, ..row(18, 18) });
    let found = compare(&life, [0, 25], &all);
    assert_eq!(faults(&found), [(18, LedgerFault::NotDue)], "it was not skipped in advance");
}

#[test]
fn rows_that_were_written_after_the_schedule_was_read_are_left_out() {
    let mut all = rows(1..11);
    let odd = Timestamp(90_500);
    let newer = AccountingRow { schedule_version: 10, scheduled_at: odd, ..row(1, 1) };
    all.push(AccountingRow { last_scheduled_at: odd, ..newer });
    assert_eq!(figures(&compare(&minutely(), [0, 11], &all)), [10, 10, 0, 0]);
}

/// The life of the schedule of every minute, with a calendar that suppresses the second hour, and
/// from minute 150 on the third one.
fn suppressed() -> ScheduleLife {
    let id = Uuid::from_u128(5);
    let hour = |from: &str, to: &str| json!({ "windows": [{ "from": from, "to": to }] });
    let row = calendar::Model {
        id,
        namespace_id: Uuid::from_u128(2),
        name: "hour".to_owned(),
        mode: calendar::Mode::Exclude,
        definition: hour("02:00", "03:00"),
        version: 2,
        module: None,
        created_at: at(0),
        updated_at: at(150),
        deleted_at: None,
    };
    let was = calendar_version::Model {
        calendar_id: id,
        version: 1,
        mode: calendar::Mode::Exclude,
        definition: hour("01:00", "02:00"),
        ended_at: at(150),
    };
    let calendar = CalendarHistory::of(&row, &[was], at(0));
    let mut life = life(vec![period("* * * * *", 1, 0, None)], Some(181));
    life.named = vec![NamedCalendars { version: 1, keys: Some(vec![id]) }];
    life.with_calendars(CalendarHistories::from([(id, Arc::new(calendar))]))
}

/// A row that says that a calendar suppressed these minutes.
fn by_calendar(first: i64, last: i64) -> AccountingRow {
    let (verdict, reason) = (Verdict::Skipped, Reason::Calendar);
    AccountingRow { verdict, reason, ..row(first, last) }
}

/// The rows that the calendar of [`suppressed`] asks for, without those of some minutes.
fn with_calendar(without: &[i64], more: &[AccountingRow]) -> Vec<AccountingRow> {
    let is_suppressed = |minute: i64| (60..120).contains(&minute) || minute >= 150;
    let one = |minute| match is_suppressed(minute) {
        true => by_calendar(minute, minute),
        false => row(minute, minute),
    };
    let mut all: Vec<_> = (1..180).filter(|minute| !without.contains(minute)).map(one).collect();
    all.extend_from_slice(more);
    all.sort_by_key(|row| row.scheduled_at);
    all
}

#[test]
fn calendars_of_the_time_decide_whether_an_instant_was_rightly_suppressed() {
    let life = suppressed();
    let found = compare(&life, [0, 180], &with_calendar(&[], &[]));
    assert_eq!((figures(&found), found.unjudged), ([179, 179, 0, 0], 0), "{found:?}");
    let near = [row(151, 151), by_calendar(149, 149)];
    let found = compare(&life, [0, 180], &with_calendar(&[149, 151], &near));
    assert_eq!(found.unexpected, 0, "within a minute of the change: {found:?}");

    let ran = [row(90, 90)];
    let found = compare(&life, [0, 180], &with_calendar(&[90], &ran));
    assert_eq!((figures(&found)[3], faults(&found)), (1, vec![(90, LedgerFault::RanSuppressed)]));
    let skipped = [by_calendar(40, 40)];
    let found = compare(&life, [0, 180], &with_calendar(&[40], &skipped));
    assert_eq!(faults(&found), [(40, LedgerFault::NotSuppressed)]);
    // A range is one row, and the calendar suppresses only a part of it.
    let minutes: Vec<i64> = (115..125).collect();
    let found = compare(&life, [0, 180], &with_calendar(&minutes, &[by_calendar(115, 124)]));
    assert_eq!((figures(&found)[3], faults(&found)), (1, vec![(120, LedgerFault::NotSuppressed)]));
}

#[test]
fn other_rows_say_nothing_about_calendars() {
    let life = suppressed();
    let backfilled = AccountingRow { reason: Reason::Backfilled, ..row(90, 90) };
    let edited =
        AccountingRow { verdict: Verdict::Skipped, reason: Reason::StaleVersion, ..row(91, 91) };
    // It was skipped in advance, by the calendar of that time.
    let ahead = AccountingRow { claimed_at: at(10), ..by_calendar(160, 160) };
    let found = compare(&life, [0, 180], &with_calendar(&[90, 91], &[backfilled, edited]));
    assert_eq!((found.unexpected, found.unjudged), (0, 0), "{found:?}");
    let found = compare(&life, [0, 180], &with_calendar(&[160], &[ahead]));
    assert_eq!(faults(&found), [(160, LedgerFault::NotSuppressed)]);
}

#[test]
fn what_cannot_be_judged_is_counted_and_no_fault() {
    let ran = [row(90, 90)];
    let rows = with_calendar(&[90], &ran);
    let unknown = suppressed().with_calendars(CalendarHistories::new());
    let found = compare(&unknown, [0, 180], &rows);
    assert_eq!((figures(&found), found.unjudged), ([179, 179, 0, 0], 179));
    let mut by_name = suppressed();
    by_name.named[0].keys = None;
    assert_eq!(compare(&by_name, [0, 180], &rows).unjudged, 179);
    // What one calendar certainly suppresses is wrong, whatever the other says.
    let mut of_two = suppressed();
    if let Some(keys) = &mut of_two.named[0].keys {
        keys.push(Uuid::from_u128(6));
    }
    let found = compare(&of_two, [0, 180], &rows);
    assert_eq!(faults(&found), [(90, LedgerFault::RanSuppressed)]);
    assert_eq!(found.unjudged, 59 + 30, "those that ran, and that the known calendar lets through");
    let mut none = suppressed();
    none.named[0].keys = Some(vec![]);
    let found = compare(&none, [0, 180], &[by_calendar(90, 90)]);
    assert_eq!((found.unexpected, found.unjudged), (1, 0), "it named no calendar");
}
