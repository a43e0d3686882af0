//! The backfills that operators request, and their expected results.

use std::collections::{BTreeMap, BTreeSet};

use carillon::{
    commands::{BackfillOptions, Call, CommandError, Commands, FiresPreview, RequestedFires},
    model::Spec,
    store::Store,
};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    backfill::{self, Mode, Order, State},
    backfill_fire, fire, run, schedule,
};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use uuid::Uuid;

use super::{moments::Moment, operator::ada, oracle, removals, scenario::Past, segments};

/// Backfills that can still be switched, in the order of their creation.
pub(crate) async fn open(store: &Store) -> Vec<backfill::Model> {
    let open = backfill::Entity::find()
        .filter(backfill::Column::FinishedAt.is_null())
        .order_by_asc(backfill::Column::Id);
    open.all(store.read()).await.unwrap()
}

/// The runs that backfills have started. If the run of a ledger row is among them, a backfill wrote
/// the row.
pub(crate) async fn started(store: &Store) -> BTreeSet<Uuid> {
    let mut rows = removals::gone::<backfill_fire::Model>(store, "backfill_fire").await;
    rows.extend(backfill_fire::Entity::find().all(store.read()).await.unwrap());
    rows.into_iter().filter_map(|row| row.run_id).collect()
}

/// Requests a backfill of a schedule. Returns an error for a violation, not for a refusal.
pub(crate) async fn order(
    commands: &Commands,
    store: &Store,
    schedule: &schedule::Model,
    past: &Past,
    now: DateTime<Utc>,
) -> Result<Result<(), CommandError>, String> {
    // A preview of thousands of fires takes long and lists only some of them.
    let is_quick = schedule.expressions.0.iter().any(|text| text.ends_with("0s"));
    let most = if is_quick { 120 } else { i64::MAX };
    let from = now - TimeDelta::minutes(past.ago.min(most));
    let to = from + TimeDelta::minutes(past.minutes.min(most));
    let mut wanted = RequestedFires { schedule_id: schedule.id, from, to, mode: past.mode };
    let reader = ada().viewer().unwrap();
    let mut preview = match commands.preview_backfill(&reader, wanted).await {
        Ok(preview) => preview,
        Err(error) => return Ok(Err(error)),
    };
    compare(schedule, &wanted, &preview)?;
    if let Some(first_too_many) = preview.fires.get(past.most) {
        wanted.to = first_too_many.fire.at;
        preview.fires.truncate(past.most);
    }
    let before: BTreeSet<Uuid> = open(store).await.iter().map(|backfill| backfill.id).collect();
    let manner = BackfillOptions {
        order: past.order,
        concurrency: past.concurrency,
        reason: "a simulation".to_owned(),
        context: None,
    };
    let operator = ada().operator().unwrap();
    let went = commands.create_backfill(&operator, wanted, &manner, &Call::once()).await;
    // The answer of the request may have been lost, so the tables show whether the backfill was
    // created.
    let mut selected: Vec<DateTime<Utc>> = preview
        .fires
        .iter()
        .filter(|looked| looked.selected)
        .map(|looked| looked.fire.at)
        .collect();
    if past.order == Order::NewestFirst {
        selected.reverse();
    }
    for made in open(store).await.iter().filter(|backfill| !before.contains(&backfill.id)) {
        let rows = rows(store, made.id).await;
        let instants: Vec<_> = rows.iter().map(|row| row.scheduled_at.utc()).collect();
        if instants != selected || made.total as usize != rows.len() {
            let id = made.id;
            return Err(format!("backfill {id} has {instants:?}, and its preview {selected:?}"));
        }
    }
    if went.is_ok() && open(store).await.len() != before.len() + 1 {
        return Err("a backfill that was ordered is not there".to_owned());
    }
    Ok(went.map(drop))
}

async fn rows(store: &Store, backfill: Uuid) -> Vec<backfill_fire::Model> {
    let rows = backfill_fire::Entity::find()
        .filter(backfill_fire::Column::BackfillId.eq(backfill))
        .order_by_asc(backfill_fire::Column::Position);
    rows.all(store.read()).await.unwrap()
}

/// Compares a preview with the oracle.
fn compare(
    schedule: &schedule::Model,
    wanted: &RequestedFires,
    preview: &FiresPreview,
) -> Result<(), String> {
    let timing = Spec::of(schedule).timing;
    let tick = TimeDelta::milliseconds(1);
    let timing = segments::oracle_timing(&timing, schedule.anchor_at.utc());
    let fires = oracle::fires(&timing, wanted.from - tick, wanted.to - tick);
    let looked = preview.fires.iter().map(|looked| looked.fire.at);
    if looked.clone().ne(fires.keys().copied()) {
        let looked: Vec<_> = looked.collect();
        return Err(format!("a preview has {looked:?}, and {fires:?} was expected"));
    }
    Ok(())
}

/// All backfills that ever existed, with their rows.
pub(crate) struct Backfills {
    all: BTreeMap<Uuid, backfill::Model>,
    rows: BTreeMap<(Uuid, i32), backfill_fire::Model>,
}

impl Backfills {
    pub(crate) async fn read(store: &Store) -> Self {
        let mut all = removals::gone::<backfill::Model>(store, "backfill").await;
        all.extend(backfill::Entity::find().all(store.read()).await.unwrap());
        let mut rows = removals::gone::<backfill_fire::Model>(store, "backfill_fire").await;
        rows.extend(backfill_fire::Entity::find().all(store.read()).await.unwrap());
        let key = |row: &backfill_fire::Model| (row.backfill_id, row.position);
        Self {
            all: all.into_iter().map(|backfill| (backfill.id, backfill)).collect(),
            rows: rows.into_iter().map(|row| (key(&row), row)).collect(),
        }
    }

    /// The number of backfills.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Checks that all backfills have ended and that their counts add up.
    pub(crate) fn check(
        &self,
        runs: &BTreeMap<Uuid, run::Model>,
        fires: &BTreeMap<Uuid, fire::Model>,
    ) -> Result<(), String> {
        for backfill in self.all.values() {
            self.backfill(backfill).map_err(|what| format!("{what}: {backfill:?}"))?;
        }
        let mut started: BTreeMap<Uuid, &backfill_fire::Model> = BTreeMap::new();
        for row in self.rows.values() {
            self.row(row, runs).map_err(|what| format!("{what}: {row:?}"))?;
            if let Some(run) = row.run_id
                && started.insert(run, row).is_some()
            {
                return Err(format!("run {run} stands for two instants: {row:?}"));
            }
        }
        for run in runs.values().filter(|run| run.trigger == run::Trigger::Backfill) {
            if !started.contains_key(&run.id) {
                return Err(format!("no instant of its backfill has it: {run:?}"));
            }
        }
        for fire in fires.values() {
            let is_backfilled = fire.reason == fire::Reason::Backfilled;
            let row = started.get(&fire.id);
            if row.map_or(is_backfilled, |row| row.scheduled_at != fire.scheduled_at) {
                return Err(format!("no backfill has started it: {fire:?}"));
            }
        }
        Ok(())
    }

    /// Checks that each run of a backfill was needed when it was created. By its mode, a backfill
    /// does not repeat instants that have succeeded, or that have run at all. Exceptions are
    /// backfills of all instants, and instants so old that their history may have been removed.
    pub(crate) fn were_needed(
        &self,
        moments: &[Moment],
        runs: &BTreeMap<Uuid, run::Model>,
    ) -> Result<(), String> {
        let mut before: BTreeMap<(Uuid, i64), Vec<&Moment>> = BTreeMap::new();
        for now in moments.iter().filter(|moment| moment.is_of_run()) {
            let there = before.entry((now.schedule_id, now.scheduled_at)).or_default();
            let of = runs.get(&now.id).and_then(|run| self.all.get(&run.backfill_id?));
            if let Some(backfill) = of.filter(|_| now.is_new()) {
                let is_known = |was: &&&Moment| {
                    let settled = was.decided_at.max(was.claimed_at);
                    now.claimed_at - settled < TimeDelta::days(1).num_milliseconds()
                };
                let stands_in_its_way = |was: &&&Moment| match backfill.mode {
                    Mode::All => false,
                    Mode::MissingAndFailed => was.state() == run::State::Succeeded,
                    Mode::Missing => true,
                };
                if let Some(was) = there.iter().filter(is_known).find(stands_in_its_way) {
                    return Err(format!(
                        "it was not needed after {was:?}: {now:?} of {backfill:?}"
                    ));
                }
            }
            there.push(now);
        }
        Ok(())
    }

    fn backfill(&self, backfill: &backfill::Model) -> Result<(), String> {
        let rows: Vec<_> = self.rows.range((backfill.id, 0)..=(backfill.id, i32::MAX)).collect();
        let places = rows.iter().map(|((_, position), _)| *position);
        if !matches!(backfill.state, State::Completed | State::Cancelled) {
            Err("it is stuck".to_owned())
        } else if backfill.finished_at.is_none() {
            Err("it ended at no time".to_owned())
        } else if places.ne(0..backfill.total) {
            Err(format!("its {} rows do not add up to {}", rows.len(), backfill.total))
        } else {
            Ok(())
        }
    }

    fn row(
        &self,
        row: &backfill_fire::Model,
        runs: &BTreeMap<Uuid, run::Model>,
    ) -> Result<(), String> {
        use backfill_fire::State::{Cancelled, Failed, Pending, Running, Skipped, Succeeded};
        let backfill = self.all.get(&row.backfill_id).ok_or("it is of no backfill")?;
        if row.finished_at.is_none() {
            return Err("it ended at no time".to_owned());
        }
        let Some(run) = row.run_id else {
            let was_stopped = backfill.state == State::Cancelled;
            return match row.state {
                Skipped => passed_over(row, runs),
                Cancelled if was_stopped => Ok(()),
                Pending | Running | Succeeded | Failed | Cancelled => {
                    Err("it never had a run".to_owned())
                }
            };
        };
        let run = runs.get(&run).ok_or("its run was never there")?;
        let is_own = run.backfill_id == Some(row.backfill_id)
            && run.schedule_id == Some(row.schedule_id)
            && run.scheduled_at == row.scheduled_at;
        // Rows that retention removed before they were counted count as failed.
        let was_gone = row.detail.is_some();
        let fits = match row.state {
            Succeeded => run.state == run::State::Succeeded,
            Failed => matches!(run.state, run::State::Failed | run::State::TimedOut) || was_gone,
            Cancelled => run.state == run::State::Cancelled,
            Pending | Running | Skipped => false,
        };
        if is_own && fits { Ok(()) } else { Err(format!("its run is {run:?}")) }
    }
}

/// Whether a row was skipped rightly: the run that it names is a run of its instant, and was in the
/// state that the row says.
fn passed_over(
    row: &backfill_fire::Model,
    runs: &BTreeMap<Uuid, run::Model>,
) -> Result<(), String> {
    let detail = row.detail.as_deref().ok_or("nothing says why it was passed over")?;
    let Some((run, said)) = detail.strip_prefix("run ").and_then(|text| text.split_once(' '))
    else {
        return Ok(());
    };
    let run = Uuid::parse_str(run).map_err(|_| "it names no run".to_owned())?;
    let run = runs.get(&run).ok_or("it names a run that was never there")?;
    let is_so = match said {
        "had succeeded for this instant" => run.state == run::State::Succeeded,
        "had failed for this instant" => run.state == run::State::Failed,
        "had timed out for this instant" => run.state == run::State::TimedOut,
        "was cancelled for this instant" => run.state == run::State::Cancelled,
        _ => true,
    };
    if is_so && run.schedule_id == Some(row.schedule_id) && run.scheduled_at == row.scheduled_at {
        return Ok(());
    }
    Err(format!("it was passed over for {run:?}"))
}
