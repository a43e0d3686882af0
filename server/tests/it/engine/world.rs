//! A database with a namespace, a way to put schedules into it, and an engine on a clock.

use std::{collections::HashMap, sync::Arc, time::Duration};

use carillon::{
    clock::{Clock, ManualClock},
    config,
    engine::{
        Engine, EngineError, EngineSettings, Signals, Stepwise, StepwiseService,
        maintenance::health,
    },
    model::Task,
    store::reads::{health::HealthScope, within::Within},
    target::{Executor, Noop, Policy, Target},
    telemetry::Instruments,
};
use chrono::{DateTime, Utc};
use entity::{Timestamp, fire, namespace, run, task_run};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter,
    QueryOrder, Value,
};
use uuid::Uuid;

use crate::support::TestDatabase;

/// The test's world.
pub(crate) struct World {
    pub(crate) database: TestDatabase,
    pub(crate) clock: Clock,
    pub(crate) signals: Signals,
    pub(crate) settings: EngineSettings,
    pub(crate) namespace: Uuid,
    pub(crate) metrics: Instruments,
}

/// An instant, from RFC 3339.
pub(crate) fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// A task with this `target`.
pub(crate) fn task(target: Target) -> Task {
    Task { timeout_ms: 60_000, kill_grace_ms: 1_000, ..Task::new("main", target) }
}

/// A task that does nothing.
pub(crate) fn noop() -> Task {
    task(Target::Noop(Noop::default()))
}

impl World {
    /// A world on the machine's clock.
    pub(crate) async fn new(database: TestDatabase) -> Self {
        Self::on_clock(database, Clock::system()).await
    }

    /// A world for another node: the same namespace as in `other`, through other connections to the
    /// same database.
    pub(crate) fn new_beside(database: TestDatabase, other: &Self) -> Self {
        Self {
            database,
            clock: other.clock.clone(),
            signals: Signals::default(),
            settings: other.settings.clone(),
            namespace: other.namespace,
            metrics: other.metrics.clone(),
        }
    }

    /// A world on a clock that the test moves. Leases and heartbeats use that clock as well.
    pub(crate) async fn at(database: TestDatabase, now: DateTime<Utc>) -> (Self, ManualClock) {
        let manual = ManualClock::new(now);
        let mut world = Self::on_clock(database, manual.clock()).await;
        world.database.store = world.database.store.clone().with_lease_clock(manual.clock());
        (world, manual)
    }

    async fn on_clock(database: TestDatabase, clock: Clock) -> Self {
        let namespace = Uuid::now_v7();
        let row = namespace::Model {
            id: namespace,
            name: "test".to_owned(),
            retention_days: None,
            quotas: None,
            created_at: clock.now().into(),
            deleted_at: None,
            deleted_by: None,
            deleted_name: None,
            purged_at: None,
        };
        let tx = database.store.begin().await.unwrap();
        row.into_active_model().insert(&tx).await.unwrap();
        database.store.commit(tx).await.unwrap();
        let settings = EngineSettings {
            node_name: "test".to_owned(),
            recovery_interval: Duration::from_millis(50),
            ..EngineSettings::default()
        };
        let (signals, metrics) = (Signals::default(), Instruments::unread(clock.clone()));
        Self { database, clock, signals, settings, namespace, metrics }
    }

    /// Starts an engine on this world.
    pub(crate) async fn engine(&self) -> Engine {
        self.try_engine().await.unwrap()
    }

    /// The service with that name, executed by hand. No other service of its node is active.
    pub(crate) async fn step(&self, name: &str) -> (Stepwise, StepwiseService) {
        let executor = Executor::new(Policy::default(), self.clock.clone()).unwrap();
        let (node, steps) = Stepwise::join(
            self.settings.clone(),
            self.database.store.clone(),
            self.clock.clone(),
            Arc::new(executor),
            Arc::new(timetable::Cache::new(1_000)),
            self.signals.clone(),
            self.metrics.clone(),
        )
        .await
        .unwrap();
        let step = steps.into_iter().find(|step| step.name() == name).unwrap();
        (node, step)
    }

    /// Starts one of several nodes, with this name. The node receives no signals of the others, as
    /// if it were in another process.
    pub(crate) async fn node(&mut self, name: &str) -> Engine {
        self.settings.node_name = name.to_owned();
        self.signals = Signals::default();
        self.engine().await
    }

    /// A node whose services the test executes by hand, by name.
    pub(crate) async fn by_hand(&self) -> (Stepwise, HashMap<&'static str, StepwiseService>) {
        let (stepwise, steps) = Stepwise::join(
            self.settings.clone(),
            self.database.store.clone(),
            self.clock.clone(),
            self.executor(),
            Arc::new(timetable::Cache::new(1_000)),
            self.signals.clone(),
            self.metrics.clone(),
        )
        .await
        .unwrap();
        (stepwise, steps.into_iter().map(|step| (step.name(), step)).collect())
    }

    fn executor(&self) -> Arc<Executor> {
        let policy = Policy { commands: true, private_addresses: true, ..Policy::default() };
        Arc::new(Executor::new(policy, self.clock.clone()).unwrap())
    }

    /// Starts an engine, and returns the error if it cannot start.
    pub(crate) async fn try_engine(&self) -> Result<Engine, EngineError> {
        Engine::start(
            self.settings.clone(),
            self.database.store.clone(),
            self.clock.clone(),
            self.executor(),
            Arc::new(timetable::Cache::new(1_000)),
            self.signals.clone(),
            self.metrics.clone(),
        )
        .await
    }

    /// The schedule's ledger, oldest first.
    pub(crate) async fn ledger(&self, schedule: Uuid) -> Vec<fire::Model> {
        fire::Entity::find()
            .filter(fire::COLUMN.schedule_id.eq(schedule))
            .order_by_asc(fire::Column::ScheduledAt)
            .all(self.database.store.read())
            .await
            .unwrap()
    }

    /// The schedule's runs, oldest first.
    pub(crate) async fn runs(&self, schedule: Uuid) -> Vec<run::Model> {
        run::Entity::find()
            .filter(run::Column::ScheduleId.eq(schedule))
            .order_by_asc(run::Column::ScheduledAt)
            .all(self.database.store.read())
            .await
            .unwrap()
    }

    /// The schedule's runs, if the database answers.
    pub(crate) async fn try_runs(&self, schedule: Uuid) -> Option<Vec<run::Model>> {
        let of_schedule = run::Entity::find().filter(run::Column::ScheduleId.eq(schedule));
        of_schedule.all(self.database.store.read()).await.ok()
    }

    /// The attempts of a run, in order.
    pub(crate) async fn attempts(&self, run: Uuid) -> Vec<task_run::Model> {
        task_run::Entity::find()
            .filter(task_run::COLUMN.run_id.eq(run))
            .order_by_asc(task_run::Column::Attempt)
            .all(self.database.store.read())
            .await
            .unwrap()
    }

    /// Waits until `look` returns something. `look` is called again after every write.
    pub(crate) async fn until<T, F>(&self, what: &str, look: impl FnMut() -> F) -> T
    where
        F: Future<Output = Option<T>>,
    {
        self.until_within(Duration::from_secs(120), what, look).await
    }

    /// Waits like [`Self::until`], with a longer time limit.
    pub(crate) async fn until_within<T, F>(
        &self,
        patience: Duration,
        what: &str,
        mut look: impl FnMut() -> F,
    ) -> T
    where
        F: Future<Output = Option<T>>,
    {
        let mut changes = self.database.store.changes().follow();
        let search = async {
            loop {
                if let Some(found) = look().await {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(patience, search)
            .await
            .unwrap_or_else(|_| panic!("waited in vain until {what}"))
    }

    /// Waits until the run is in `state`; returns it.
    pub(crate) async fn run_is(&self, id: Uuid, state: run::State) -> run::Model {
        self.until(&format!("run {id} is {state:?}"), || async {
            let run = run::Entity::find_by_id(id).one(self.database.store.read()).await.unwrap();
            run.filter(|run| run.state == state)
        })
        .await
    }

    /// Waits until the schedule has one run and it has settled; returns it.
    pub(crate) async fn settled_run(&self, schedule: Uuid) -> run::Model {
        let mut runs = self.settled(schedule, 1).await;
        assert_eq!(runs.len(), 1);
        runs.remove(0)
    }

    /// Waits until the schedule's ledger has `count` rows and all are final; returns them.
    pub(crate) async fn decided(&self, schedule: Uuid, count: usize) -> Vec<fire::Model> {
        self.until(&format!("{count} fires are decided"), || async {
            let mut ledger = self.ledger(schedule).await;
            ledger.retain(|fire| fire.decided_at.is_some());
            (ledger.len() >= count).then_some(ledger)
        })
        .await
    }

    /// What the health check about schedules and backfills that the server has paused found: its
    /// value, and its issue if there is one.
    pub(crate) async fn self_paused(&self, within: Within) -> (String, Option<String>) {
        let (store, limits) = (&self.database.store, config::Health::default());
        let (cluster, scope) = (Default::default(), HealthScope { within, tag: None });
        let checks = health::examine(store, &self.clock, &cluster, &scope, &limits).await.unwrap();
        let check = checks.into_iter().find(|check| check.name == "self_paused").unwrap();
        assert!(check.healthy);
        (check.value, check.issue)
    }

    /// Changes rows directly, without the engine.
    pub(crate) async fn write(&self, sql: &str, values: impl IntoIterator<Item = Value>) {
        let store = &self.database.store;
        let tx = store.begin().await.unwrap();
        tx.execute_raw(store.dialect().statement(sql, values)).await.unwrap();
        store.commit(tx).await.unwrap();
    }

    /// Makes the database refuse rows: `what` is an event such as `INSERT ON fire`, `is_it` is the
    /// condition on the row. Only one such refusal can be active.
    pub(crate) async fn refuse(&self, what: &str, is_it: &str) {
        if self.database.store.dialect().is_postgres() {
            let function = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
                'BEGIN RAISE ''refused'' USING ERRCODE = ''23514''; END'";
            self.write(function, []).await;
            let trigger = format!(
                "CREATE TRIGGER refuse BEFORE {what} FOR EACH ROW WHEN ({is_it}) \
                 EXECUTE FUNCTION refuse()"
            );
            self.write(&trigger, []).await;
        } else {
            let trigger = format!(
                "CREATE TRIGGER refuse BEFORE {what} WHEN {is_it} \
                 BEGIN SELECT RAISE(ABORT, 'refused'); END"
            );
            self.write(&trigger, []).await;
        }
    }

    /// Waits until the schedule has `count` runs that have settled; returns them.
    pub(crate) async fn settled(&self, schedule: Uuid, count: usize) -> Vec<run::Model> {
        self.until(&format!("{count} runs have settled"), || async {
            let mut runs = self.runs(schedule).await;
            runs.retain(|run| !run.state.is_live());
            (runs.len() >= count).then_some(runs)
        })
        .await
    }
}

/// Milliseconds of an instant, as in the tables.
pub(crate) fn ms(text: &str) -> Timestamp {
    at(text).into()
}
