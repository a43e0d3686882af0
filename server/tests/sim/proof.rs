//! The check of the ledger that `carillon verify` makes, about the whole ledger of a world.
//!
//! It knows only the tables, and no clock except that of each row. Where no clock was stepped, it
//! must find nothing. Where one was, rows may be ahead of the changes that the tables date; then
//! the expectations of the world must explain each difference.

use std::{collections::HashMap, sync::Arc};

use carillon::{
    model::ledger_check::{
        CalendarHistories, CalendarHistory, CheckedRange, LedgerFault, LedgerFinding, ScheduleLife,
    },
    store::{Store, reads::ledger_check::AccountingRow},
};
use entity::{
    Timestamp, calendar, calendar_version,
    fire::{self, Reason},
    schedule, schedule_version,
};
use sea_orm::{EntityTrait, QueryOrder};
use uuid::Uuid;

use super::{expectation::Expectations, invariants::Ended, world};

/// Maximum number of faults of a schedule that are looked at.
const FINDINGS: usize = 1_000;

/// Checks the ledger of each schedule that is still there, deleted or not, with the rows that
/// retention removed. The expectations must have judged the ledger before.
pub(crate) async fn check(
    ended: &Ended,
    expected: &Expectations,
    is_steady: bool,
) -> Result<(), String> {
    let (store, timings) = (expected.store(), world::cache());
    let calendars = remembered(store).await;
    let mut versions: HashMap<Uuid, Vec<schedule_version::Model>> = HashMap::new();
    for version in schedule_version::Entity::find().all(store.read()).await.unwrap() {
        versions.entry(version.schedule_id).or_default().push(version);
    }
    let mut ledger: HashMap<Uuid, Vec<AccountingRow>> = HashMap::new();
    for fire in ended.fires.values() {
        ledger.entry(fire.schedule_id).or_default().push(accounting(fire));
    }
    let until = Timestamp::from(ended.now);
    for row in schedule::Entity::find().all(store.read()).await.unwrap() {
        let versions = versions.remove(&row.id).unwrap_or_default();
        let life = ScheduleLife::of(&row, versions, &timings)?.with_calendars(calendars.clone());
        let mut rows = ledger.remove(&row.id).unwrap_or_default();
        rows.retain(|row| row.scheduled_at < until);
        rows.sort_by_key(|row| (row.scheduled_at, row.claimed_at));
        let first = rows.first().map_or(row.created_at, |first| first.scheduled_at);
        let range = CheckedRange { from: first.min(row.created_at), until };
        let found = life.compare(range, &rows, FINDINGS);
        if found.unjudged > 0 {
            return Err(format!("{}: {} instants are not judged", row.name, found.unjudged));
        }
        for finding in &found.findings {
            if !is_explained(finding, &row, &rows, ended, expected, is_steady) {
                return Err(format!("{}: the check of the ledger finds {finding:?}", row.name));
            }
        }
    }
    Ok(())
}

/// Whether the expectations of the world explain a difference that the check has found.
fn is_explained(
    finding: &LedgerFinding,
    schedule: &schedule::Model,
    rows: &[AccountingRow],
    ended: &Ended,
    expected: &Expectations,
    is_steady: bool,
) -> bool {
    match finding.fault {
        // The oracle has counted the instants of each range.
        LedgerFault::WrongCount => false,
        // A backfill ran the instant again when its row had been removed.
        LedgerFault::Twice => finding.row.is_some_and(|row| row.reason == Reason::Backfilled),
        // What the expectations demand has a row, and the check must have seen that.
        LedgerFault::NoRow => {
            !is_steady && !rows.iter().any(|row| row.count == 1 && row.scheduled_at == finding.at)
        }
        // The expectations have accepted each row as claimed on a clock that was stepped.
        LedgerFault::NotDue => !is_steady,
        LedgerFault::NotSuppressed | LedgerFault::RanSuppressed => {
            let fire = finding.row.and_then(|row| ended.fires.get(&row.id));
            let history = expected.history(schedule.id);
            !is_steady
                && fire.zip(history).is_some_and(|(fire, history)| {
                    let is_suppressed = fire.reason == Reason::Calendar;
                    history.may_say(fire, is_suppressed, &expected.eras, finding.at.utc())
                })
        }
    }
}

/// All calendars with all their former versions.
async fn remembered(store: &Store) -> CalendarHistories {
    let past = calendar_version::Entity::find()
        .order_by_asc(calendar_version::Column::CalendarId)
        .order_by_asc(calendar_version::Column::Version);
    let past = past.all(store.read()).await.unwrap();
    let rows = calendar::Entity::find().all(store.read()).await.unwrap();
    let calendar = |row: calendar::Model| {
        let past: Vec<_> = past.iter().filter(|was| was.calendar_id == row.id).cloned().collect();
        let known = CalendarHistory::of(&row, &past, Timestamp(i64::MIN));
        (row.id, Arc::new(known))
    };
    rows.into_iter().map(calendar).collect()
}

/// A row as the check reads it.
fn accounting(fire: &fire::Model) -> AccountingRow {
    AccountingRow {
        id: fire.id,
        schedule_version: fire.schedule_version,
        scheduled_at: fire.scheduled_at,
        last_scheduled_at: fire.last_scheduled_at,
        count: fire.count,
        verdict: fire.verdict,
        reason: fire.reason,
        claimed_at: fire.claimed_at,
    }
}
