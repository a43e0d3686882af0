//! Workers that fall silent while they hold a job. The test moves the clock by which leases expire.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use carillon::{
    access::{Grants, Viewer, ViewerKind},
    clock::ManualClock,
    commands::{
        Commands,
        workers::{LEASE_SECONDS, NewWorker, PollRequest, PolledJob, WorkerError},
    },
    engine::Signals,
    model::Task,
    store::{
        FaultPoint, Faults, StoreError,
        workers::jobs::{JobClaim, JobEnd},
    },
    target::{Executor, Policy, Target, WorkerTarget},
};
use chrono::{DateTime, Utc};
use entity::{
    job::{self, State},
    run, task_run,
    user::Role,
};
use futures::FutureExt;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, RuntimeErr};
use serde_json::json;
use timetable::retry;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::world::{World, at, task};
use crate::support::{TestDatabase, on_both};

on_both!(
    what_a_silent_worker_holds_is_done_by_another,
    a_worker_that_reports_keeps_its_job_however_long_it_takes,
    an_outage_of_the_database_gives_workers_a_lease_to_report,
    a_job_that_cannot_be_created_during_an_outage_is_created_after_it,
    a_job_whose_commits_had_no_answer_is_created_once,
    a_job_that_cannot_be_stopped_at_once_is_timed_out_nevertheless,
);

const LEASE: Duration = Duration::from_secs(LEASE_SECONDS);
const SECOND: Duration = Duration::from_secs(1);

/// Workers of one queue, and a due schedule whose task they pull.
struct Queue {
    world: World,
    clock: ManualClock,
    commands: Commands,
    schedule: Uuid,
}

impl Queue {
    async fn open(database: TestDatabase) -> Self {
        let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
        // The test moves the clock by more than the default expiry, and the node must stay alive.
        world.settings.heartbeat_expiry = Duration::from_secs(3_600);
        world.settings.poll = Duration::from_millis(100);
        let commands = Commands::new(
            world.database.store.clone(),
            world.clock.clone(),
            Arc::new(timetable::Cache::new(10)),
            Arc::new(Executor::new(Policy::default(), world.clock.clone()).unwrap()),
            Signals::default(),
        );
        let schedule = world.due_now(pulled(), |_| {}).await.id;
        Self { world, clock, commands, schedule }
    }

    async fn register(&self, name: &str) -> Uuid {
        let new = NewWorker {
            protocol: 1,
            namespace: "test".to_owned(),
            name: name.to_owned(),
            queues: vec!["emails".to_owned()],
            tags: Vec::new(),
            capacity: 1,
            version: String::new(),
            client: String::new(),
        };
        self.commands.register_worker(&program(), new).await.unwrap()
    }

    /// The next job of the worker. A little time passes at each poll, because a retry waits for the
    /// clock.
    async fn job(&self, worker: Uuid) -> PolledJob {
        let asked = PollRequest { free: 1, wait_seconds: 1, has: None };
        let draining = CancellationToken::new();
        for _ in 0..60 {
            let polled = self.commands.poll_jobs(&program(), worker, &asked, &draining).await;
            if let Some(job) = polled.unwrap().jobs.pop() {
                return job;
            }
            self.clock.pass(Duration::from_millis(200));
        }
        panic!("there was no job within a minute");
    }

    /// Waits until the attempt waits for a worker, at most until that instant.
    async fn waits_until(&self, ends_at: DateTime<Utc>) {
        let waits = async {
            while self.clock.next_wake() != Some(ends_at) {
                tokio::task::yield_now().await;
            }
        };
        let waits = tokio::time::timeout(Duration::from_secs(60), waits).await;
        waits.unwrap_or_else(|_| panic!("no worker is waited for until {ends_at}"));
    }

    async fn complete(&self, worker: Uuid, job: &PolledJob) -> Result<(), WorkerError> {
        let claim = claim(worker, job);
        let end = JobEnd::Completed(json!({}));
        self.commands.end_job(&program(), worker, &claim, end).await
    }

    /// Sends a heartbeat that names the job; returns whether the job is lost.
    async fn loses(&self, worker: Uuid, job: &PolledJob) -> bool {
        let claims = [claim(worker, job)];
        let answer = self.commands.keep_jobs(&program(), worker, &claims, false).await.unwrap();
        answer.lost == [job.id]
    }

    /// Waits until the node has checked for lost workers at the clock's present time; returns the
    /// job's row.
    async fn looked_after(&self, id: Uuid) -> job::Model {
        let now = self.clock.now().timestamp_millis();
        self.row(id, "the node has looked after its jobs", |row| {
            row.ended_at.is_some() || row.awaited_until.0 > now + 29_000
        })
        .await
    }

    /// Waits until the job's row is as expected. Renewals wake no follower, so the row is read
    /// again and again.
    async fn row(&self, id: Uuid, what: &str, is_it: impl Fn(&job::Model) -> bool) -> job::Model {
        let look = async {
            loop {
                let query = job::Entity::find_by_id(id);
                let row = query.one(self.world.database.store.read()).await.unwrap().unwrap();
                if is_it(&row) {
                    return row;
                }
                tokio::task::yield_now().await;
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(60), look).await;
        found.unwrap_or_else(|_| panic!("waited in vain until {what}"))
    }
}

/// A task for workers that is tried twice.
fn pulled() -> Task {
    let target = Target::Worker(WorkerTarget {
        queue: "emails".to_owned(),
        task: "send".to_owned(),
        input: None,
        tags: Vec::new(),
    });
    let retry = retry::Policy {
        max_attempts: 2,
        backoff: retry::Backoff::Fixed,
        initial_ms: 0,
        max_ms: 0,
        jitter: 0.0,
    };
    Task { timeout_ms: 3_600_000, retry, ..task(target) }
}

fn program() -> Viewer {
    let grants = Grants::everywhere(Role::Operator);
    Viewer::new(Uuid::from_u128(7), "mailer", ViewerKind::Token, grants, "test")
}

fn claim(worker: Uuid, job: &PolledJob) -> JobClaim {
    JobClaim { worker, id: job.id, token: job.token.clone() }
}

fn is_stale(answer: &Result<(), WorkerError>) -> bool {
    matches!(answer, Err(WorkerError::Stale))
}

async fn what_a_silent_worker_holds_is_done_by_another(database: TestDatabase) {
    let queue = Queue::open(database).await;
    let engine = queue.world.engine().await;
    let silent = queue.register("silent").await;
    let held = queue.job(silent).await;
    // The lease holds until its last moment.
    queue.clock.pass(LEASE - SECOND);
    assert_eq!(queue.looked_after(held.id).await.state, State::Held);
    queue.clock.pass(SECOND);
    assert_eq!(queue.looked_after(held.id).await.state, State::Lost);

    let other = queue.register("other").await;
    let again = queue.job(other).await;
    assert_ne!((held.id, &held.token), (again.id, &again.token));
    assert_eq!((&held.about["attempt"], &again.about["attempt"]), (&json!(1), &json!(2)));
    // The hand-off started the first attempt, and the dispatcher the second one.
    for job in [&held, &again] {
        assert_eq!(job.about["scheduleId"], json!(queue.schedule));
        assert_eq!(job.about["scheduleVersion"], 1);
    }
    assert_eq!(held.about["idempotencyKey"], again.about["idempotencyKey"]);
    // The silent worker was only slow. Its reports change nothing, whether before or after those of
    // the other worker.
    assert!(is_stale(&queue.complete(silent, &held).await));
    assert!(queue.loses(silent, &held).await);
    // It may not report on the other worker's attempt either.
    assert!(is_stale(&queue.complete(silent, &again).await));
    queue.complete(other, &again).await.unwrap();
    assert!(is_stale(&queue.complete(silent, &held).await));

    let run = queue.world.settled_run(queue.schedule).await;
    assert_eq!((run.state, run.attempt), (run::State::Succeeded, 2));
    let attempts = queue.world.attempts(run.id).await;
    let error = attempts[0].error.as_deref().unwrap();
    assert_eq!(error, "the worker silent was lost: it left, or was silent for too long");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_worker_that_reports_keeps_its_job_however_long_it_takes(database: TestDatabase) {
    let queue = Queue::open(database).await;
    let engine = queue.world.engine().await;
    let worker = queue.register("steady").await;
    let held = queue.job(worker).await;
    for _ in 0..5 {
        queue.clock.pass(LEASE - SECOND);
        assert_eq!(queue.looked_after(held.id).await.state, State::Held);
        assert!(!queue.loses(worker, &held).await);
    }
    queue.complete(worker, &held).await.unwrap();
    let run = queue.world.settled_run(queue.schedule).await;
    assert_eq!((run.state, run.attempt), (run::State::Succeeded, 1));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// No worker could report during the outage, so their silence means nothing.
async fn an_outage_of_the_database_gives_workers_a_lease_to_report(database: TestDatabase) {
    let mut queue = Queue::open(database).await;
    let (is_away, refused) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (away, count) = (is_away.clone(), refused.clone());
    let edge = move |edge| {
        if edge != FaultPoint::Begin || !away.load(Ordering::SeqCst) {
            return ready(Ok(())).boxed();
        }
        count.fetch_add(1, Ordering::SeqCst);
        let lost = DbErr::Conn(RuntimeErr::Internal("the database is away".to_owned()));
        ready(Err(StoreError::Database(lost))).boxed()
    };
    let sound = queue.world.database.store.clone();
    queue.world.database.store = sound.clone().with_faults(Faults::new(edge, || None));
    // Only the service that watches over jobs runs; the test executes the others by hand.
    let (_node, mut services) = queue.world.by_hand().await;
    queue.world.database.store = sound;
    services.get_mut("planner").unwrap().once(queue.clock.now()).await.unwrap();
    let worker = queue.register("steady").await;
    let held = queue.job(worker).await;

    is_away.store(true, Ordering::SeqCst);
    queue.clock.pass(LEASE + SECOND);
    // The first refused round may have begun before the time passed, so the test waits for two.
    let fails = async {
        while refused.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), fails).await.expect("the node tries to write");
    is_away.store(false, Ordering::SeqCst);
    assert_eq!(queue.looked_after(held.id).await.state, State::Held);
    assert!(!queue.loses(worker, &held).await);

    // If the worker stays silent after the outage, it is lost.
    queue.clock.pass(LEASE + SECOND);
    assert_eq!(queue.looked_after(held.id).await.state, State::Lost);
    assert!(is_stale(&queue.complete(worker, &held).await));
}

async fn a_job_that_cannot_be_created_during_an_outage_is_created_after_it(database: TestDatabase) {
    is_created_once(database, FaultPoint::Begin).await;
}

async fn a_job_whose_commits_had_no_answer_is_created_once(database: TestDatabase) {
    is_created_once(database, FaultPoint::Committed).await;
}

/// The database is away for three minutes just when an attempt begins. That is not the attempt's
/// fault, but its time limit does not wait.
async fn is_created_once(database: TestDatabase, fails_at: FaultPoint) {
    let mut queue = Queue::open(database).await;
    let sound = queue.world.database.store.clone();
    let failures = Arc::new(AtomicUsize::new(0));
    let (there, count, clock) = (sound.clone(), failures.clone(), queue.clock.clone());
    let edge = move |edge| {
        let (there, count, clock) = (there.clone(), count.clone(), clock.clone());
        let answered = async move {
            if edge != fails_at {
                return Ok(());
            }
            let begun = run::Entity::find().filter(run::Column::State.eq(run::State::Running));
            let is_begun = begun.one(there.read()).await.unwrap().is_some();
            let is_there = job::Entity::find().one(there.read()).await.unwrap().is_some();
            let is_of_job = is_begun && (is_there || fails_at == FaultPoint::Begin);
            if is_of_job && count.fetch_add(1, Ordering::SeqCst) < 3 {
                clock.pass(Duration::from_secs(60));
                return Err(StoreError::unanswered());
            }
            Ok(())
        };
        answered.boxed()
    };
    queue.world.database.store = sound.clone().with_faults(Faults::new(edge, || None));
    let (_node, mut services) = queue.world.by_hand().await;
    queue.world.database.store = sound.clone();
    let ends_at = queue.clock.now() + Duration::from_secs(3_600);
    services.get_mut("planner").unwrap().once(queue.clock.now()).await.unwrap();
    queue.waits_until(ends_at).await;
    let worker = queue.register("steady").await;
    let held = queue.job(worker).await;
    assert_eq!(held.about["attempt"], json!(1));
    // The first two tries are the one with other attempts and the attempt's own.
    assert!(failures.load(Ordering::SeqCst) >= 3);
    let jobs = job::Entity::find().all(sound.read()).await.unwrap();
    assert_eq!(jobs.iter().map(|row| row.id).collect::<Vec<_>>(), [held.id]);
    queue.complete(worker, &held).await.unwrap();
}

/// The database is away just when the time limit of the attempt passes.
async fn a_job_that_cannot_be_stopped_at_once_is_timed_out_nevertheless(database: TestDatabase) {
    let mut queue = Queue::open(database).await;
    let sound = queue.world.database.store.clone();
    let (is_stopping, failures) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let stops = is_stopping.clone();
    let store = sound.clone().with_observer(move |sql| {
        if sql.contains("SET \"stop\" =") {
            stops.store(true, Ordering::SeqCst);
        }
    });
    let (stops, count) = (is_stopping.clone(), failures.clone());
    let edge = move |edge| {
        let fails = edge == FaultPoint::Commit
            && stops.load(Ordering::SeqCst)
            && count.fetch_add(1, Ordering::SeqCst) < 3;
        ready(if fails { Err(StoreError::unanswered()) } else { Ok(()) }).boxed()
    };
    queue.world.database.store = store.with_faults(Faults::new(edge, || None));
    let (_node, mut services) = queue.world.by_hand().await;
    queue.world.database.store = sound;
    services.get_mut("planner").unwrap().once(queue.clock.now()).await.unwrap();
    let hour = Duration::from_secs(3_600);
    queue.waits_until(queue.clock.now() + hour).await;
    queue.clock.pass(hour);

    let settler = services.get_mut("settler").unwrap();
    let settled = async {
        while settler.once(queue.clock.now()).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), settled).await.expect("the attempt ends");
    assert!(failures.load(Ordering::SeqCst) >= 3);
    let run = queue.world.runs(queue.schedule).await.remove(0);
    let attempt = queue.world.attempts(run.id).await.remove(0);
    let error = "no worker of the queue emails took it within 3600s";
    assert_eq!((attempt.state, attempt.error.as_deref()), (task_run::State::TimedOut, Some(error)));
}
