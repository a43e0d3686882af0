use std::{
    collections::{BTreeMap, HashSet},
    ops::AddAssign,
};

use entity::{
    fire::{self, Verdict},
    run, task_run,
};
use sea_orm::{ColumnTrait, EntityTrait, PaginatorTrait, QueryFilter};
use uuid::Uuid;

use super::storm::{SCHEDULES, Storm};

/// The findings.
#[derive(Debug, Default)]
pub(super) struct Tally {
    storms: usize,
    fires: usize,
    executions: usize,
    /// Attempts that a kill ended.
    pub(super) lost_attempts: usize,
    /// Fires whose hand-off a kill prevented.
    lost_handoffs: usize,
    /// Programs that ran again because a kill came between their end and its record.
    executed_again: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.storms += other.storms;
        self.fires += other.fires;
        self.executions += other.executions;
        self.lost_attempts += other.lost_attempts;
        self.lost_handoffs += other.lost_handoffs;
        self.executed_again += other.executed_again;
    }
}

/// Compares the witness file and the tables with what was expected of the storm.
pub(super) async fn check(storm: &mut Storm) -> Tally {
    let written = storm.witnessed();
    storm.read += written.len();
    let store = &storm.world.database.store;
    let floor = storm.floor();
    let fires = fire::Entity::find().filter(fire::Column::Id.gt(floor));
    let fires = fires.all(store.read()).await.unwrap();
    let runs = run::Entity::find().filter(run::Column::Id.gt(floor)).all(store.read()).await;
    let runs: BTreeMap<Uuid, run::Model> =
        runs.unwrap().into_iter().map(|run| (run.id, run)).collect();
    let rows = task_run::Entity::find().filter(task_run::Column::RunId.gt(floor));
    let mut attempts: BTreeMap<Uuid, Vec<task_run::Model>> = BTreeMap::new();
    for row in rows.all(store.read()).await.unwrap() {
        attempts.entry(row.run_id).or_default().push(row);
    }

    // Every schedule has fired exactly once, at the storm's instant, and has a final verdict.
    let fired: HashSet<Uuid> = fires.iter().map(|fire| fire.schedule_id).collect();
    assert_eq!((fires.len(), fired.len(), runs.len()), (SCHEDULES, SCHEDULES, SCHEDULES));
    for fire in &fires {
        assert_eq!(fire.scheduled_at, storm.at.into());
        assert_eq!((fire.verdict, fire.run_id), (Verdict::Started, Some(fire.id)), "{fire:?}");
        assert!(fire.decided_at.is_some());
    }
    // Each run succeeded at its last attempt. All earlier attempts were lost to kills, and no
    // number is missing.
    for (id, run) in &runs {
        let rows = attempts.get_mut(id).unwrap();
        rows.sort_by_key(|row| row.attempt);
        assert_eq!(run.state, run::State::Succeeded, "{run:?}");
        let numbers: Vec<i32> = rows.iter().map(|row| row.attempt).collect();
        assert_eq!(numbers, (1..=run.attempt).collect::<Vec<_>>(), "{run:?}");
        assert!(rows.iter().all(|row| row.finished_at.is_some()));
        let (last, lost) = rows.split_last().unwrap();
        assert_eq!(last.state, task_run::State::Succeeded);
        assert!(lost.iter().all(|row| row.state == task_run::State::Lost), "{rows:?}");
    }
    // The witness file matches the tables: each execution belongs to an attempt of its own, no
    // attempt was executed twice, and each success was executed.
    let mut done: HashSet<(Uuid, i32)> = HashSet::new();
    for line in written.lines() {
        let [key, run, attempt] = line.trim_end().split(' ').collect::<Vec<_>>()[..] else {
            panic!("the witness has a torn line: {line:?}");
        };
        let (run, attempt): (Uuid, i32) = (run.parse().unwrap(), attempt.parse().unwrap());
        let recorded = &runs[&run];
        assert_eq!(key, recorded.idempotency_key);
        let expected = format!("{}-{}", recorded.schedule_id.unwrap(), storm.at.timestamp());
        assert_eq!(key, expected);
        assert!((1..=recorded.attempt).contains(&attempt), "no attempt {attempt} of {recorded:?}");
        assert!(done.insert((run, attempt)), "{line} was done twice");
    }
    for (id, run) in &runs {
        assert!(done.contains(&(*id, run.attempt)), "{run:?} says succeeded and did nothing");
    }
    nothing_is_left(storm).await;
    Tally {
        storms: 1,
        fires: fires.len(),
        executions: done.len(),
        lost_attempts: runs.values().map(|run| run.attempt.unsigned_abs() as usize - 1).sum(),
        lost_handoffs: fires.iter().filter(|fire| fire.recovery_attempts > 0).count(),
        executed_again: done.len() - runs.len(),
    }
}

/// Nothing of this storm or any earlier one waits, runs or is due.
async fn nothing_is_left(storm: &Storm) {
    let store = &storm.world.database.store;
    let pending = fire::Entity::find().filter(fire::Column::Verdict.eq(Verdict::Pending));
    assert_eq!(pending.count(store.read()).await.unwrap(), 0);
    let live = run::Entity::find().filter(run::Column::State.is_in([
        run::State::Queued,
        run::State::Running,
        run::State::Retrying,
    ]));
    assert_eq!(live.count(store.read()).await.unwrap(), 0);
    let running = task_run::Entity::find()
        .filter(task_run::Column::State.eq(task_run::State::Running))
        .count(store.read())
        .await;
    assert_eq!(running.unwrap(), 0);
    let next = store.next_due_at(storm.world.clock.now().into()).await.unwrap();
    assert!(next.is_none_or(|next| next.utc() > storm.world.clock.now()));
}
