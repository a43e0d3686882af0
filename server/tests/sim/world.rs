//! Executes a seed: nodes on one database, the events, a calm, and the final checks.

use std::{
    fmt::Write,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use carillon::{
    clock::ManualClock,
    engine::{EngineError, EngineSettings},
    model::Retention,
    store::reads::runs::LIVE,
};
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use entity::{run, task_run};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use super::{
    backfills,
    database::{Database, Kind},
    expectation::Expectations,
    invariants::Ended,
    node::{Node, Went},
    operator,
    removals::{self, Removals},
    scenario::{Ending, Event, Fault, Order, Scenario},
    windows::{self, Marks},
    witness::Witness,
    workshop,
};

/// The events, one line each. The caller keeps them, so that they survive a panic.
pub(crate) type Trace = Arc<Mutex<Vec<String>>>;

/// Counts that show how much happened in a world.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) fires: usize,
    pub(crate) runs: usize,
    pub(crate) attempts: usize,
    pub(crate) backfills: usize,
    /// The number of rows that retention removed.
    pub(crate) removed: usize,
    pub(crate) rounds: usize,
}

struct World {
    nodes: Vec<Node>,
    /// The clock by which leases and heartbeats are measured.
    database_clock: ManualClock,
    /// The time that all clocks would show if none had been stepped.
    true_now: DateTime<Utc>,
    /// The latest time that any clock has shown.
    latest: DateTime<Utc>,
    cache: Arc<timetable::Cache>,
    expected: Expectations,
    witness: Witness,
    marks: Marks,
    removals: Removals,
    trace: Trace,
    rounds: usize,
    _database: Database,
}

/// Executes the scenario; returns the size of the world, or the violation.
pub(crate) async fn live(scenario: &Scenario, kind: Kind, trace: Trace) -> Result<Size, String> {
    carillon::random::seed(scenario.seed);
    workshop::clear();
    let mut world = World::new(scenario, kind, trace).await;
    let commands = operator::commands(&world.nodes[0], &world.cache);
    operator::furnish(&commands, &mut world.expected).await;
    for plan in &scenario.plans {
        let order = Order::Create(Box::new(plan.clone()));
        world.order(0, 0, &order).await?;
    }
    for index in 0..world.nodes.len() {
        world.start(index).await;
    }
    for event in &scenario.events {
        world.happen(event).await?;
        world.look().await?;
    }
    world.calm(scenario).await?;
    let ended = Ended::read(&world.expected, workshop::seen_after(0), world.latest).await?;
    ended.check(&mut world.expected, scenario.is_steady()).await?;
    let (rounds, removed) = (world.rounds, world.removals.count());
    Ok(Size { rounds, removed, ..ended.size() })
}

/// Compiled timings, shared by all worlds.
pub(crate) fn cache() -> Arc<timetable::Cache> {
    static CACHE: OnceLock<Arc<timetable::Cache>> = OnceLock::new();
    CACHE.get_or_init(|| Arc::new(timetable::Cache::new(10_000))).clone()
}

impl World {
    async fn new(scenario: &Scenario, kind: Kind, trace: Trace) -> Self {
        let start = scenario.start.trunc_subsecs(3);
        let database_clock = ManualClock::new(start);
        let mut database = Database::new(kind).await;
        database.store = database.store.clone().with_lease_clock(database_clock.clock());
        let settings = EngineSettings {
            capacity: scenario.capacity,
            batch: scenario.batch,
            lost_after: Duration::from_secs(scenario.lost_after_seconds),
            retention: scenario.kept_days.map(|days| Retention {
                days: i32::try_from(days).unwrap(),
                ..Retention::default()
            }),
            ..EngineSettings::default()
        };
        let flows = scenario.has_flows();
        let node =
            |index| Node::new(index, &database.store, &settings, ManualClock::new(start), flows);
        Self {
            nodes: (0..scenario.nodes).map(node).collect(),
            database_clock,
            true_now: start,
            latest: start,
            cache: cache(),
            expected: Expectations::new(database.store.clone(), scenario.kept_days),
            witness: Witness::default(),
            marks: Marks::default(),
            removals: Removals::default(),
            trace,
            rounds: 0,
            _database: database,
        }
    }

    fn tell(&self, line: impl AsRef<str>) {
        let now = self.true_now.format("%m-%d %H:%M:%S%.3f");
        self.trace.lock().unwrap().push(format!("{now}  {}", line.as_ref()));
    }

    async fn look(&mut self) -> Result<(), String> {
        self.marks.look(self.expected.store()).await?;
        let noted = removals::noted(self.expected.store()).await;
        self.witness.look(self.expected.store(), noted.journal, self.true_now).await?;
        self.removals.look(&self.expected, noted.removed, self.latest).await
    }

    async fn happen(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Step { node, service } => {
                let index = node % self.nodes.len();
                let services = self.nodes[index].services();
                if services > 0 {
                    self.go(index, service % services).await?;
                }
            }
            Event::Rounds { node, heed } => {
                let index = node % self.nodes.len();
                if *heed {
                    self.nodes[index].heed();
                }
                for service in self.nodes[index].due() {
                    self.go(index, service).await?;
                }
            }
            Event::End { pick, ending } => self.end(*pick, *ending).await,
            Event::Pass { ms } => self.pass(Duration::from_millis(*ms)).await,
            Event::Next => self.pass_to_next().await,
            Event::Order { node, pick, order } => {
                self.order(node % self.nodes.len(), *pick, order).await?;
            }
            Event::Fault { node, fault } => self.fail(node % self.nodes.len(), *fault).await,
        }
        Ok(())
    }

    /// Continues a service; returns whether the service had something to report.
    async fn go(&mut self, index: usize, service: usize) -> Result<bool, String> {
        let node = &mut self.nodes[index];
        if !node.goes_on() {
            return Ok(false);
        }
        self.rounds += 1;
        let name = node.name(service);
        let went = node.go(service).await;
        let mut line = format!("node {index}: {name}");
        for struck in node.gate.take_struck() {
            let _ = write!(line, ", {struck}");
        }
        match went {
            Went::Well(None) => return Ok(false),
            Went::Well(Some(report)) => self.tell(format!("{line}: {report}")),
            Went::Ill(EngineError::Defect) => return Err(format!("{line}: a defect")),
            Went::Ill(error) => self.tell(format!("{line}: failed to {error}")),
            Went::Waiting(how) => self.tell(format!("{line}: {how}")),
            Went::Crashed => self.tell(format!("{line}: the process is gone")),
        }
        Ok(true)
    }

    /// Ends one of the attempts whose node can receive the result.
    async fn end(&mut self, pick: usize, ending: Ending) {
        let hears = |&(node, life): &(usize, u32)| {
            let node: &Node = &self.nodes[node];
            !node.frozen && node.place().1 == life
        };
        let open = workshop::open();
        let open: Vec<usize> = (0..open.len()).filter(|&number| hears(&open[number])).collect();
        if open.is_empty() {
            return;
        }
        let number = open[pick % open.len()];
        let (node, _) = workshop::open()[number];
        let execution = workshop::end(number, ending);
        let (run, task, attempt) = (execution.run, execution.task, execution.attempt);
        self.tell(format!("node {node}: attempt {attempt} at {task} of run {run}: {ending:?}"));
        self.nodes[node].quiet().await;
    }

    async fn pass(&mut self, by: Duration) {
        self.true_now += TimeDelta::from_std(by).unwrap();
        self.database_clock.pass(by);
        for node in &self.nodes {
            node.clock.pass(by);
            node.quiet().await;
        }
        self.note_latest();
        self.tell(format!("{by:?} pass"));
    }

    fn note_latest(&mut self) {
        let clocks = self.nodes.iter().map(|node| node.clock.now());
        let clocks = clocks.chain([self.database_clock.now(), self.true_now, self.latest]);
        self.latest = clocks.max().unwrap();
    }

    async fn pass_to_next(&mut self) {
        let left = |node: &Node| Some(node.next_due()? - node.clock.now());
        let next = self.nodes.iter().filter_map(left).min().unwrap_or(TimeDelta::seconds(1));
        self.pass(next.to_std().unwrap()).await;
    }

    async fn order(&mut self, index: usize, pick: usize, order: &Order) -> Result<(), String> {
        let (node, cache) = (&self.nodes[index], &self.cache);
        let told = operator::order(node, cache, &mut self.expected, pick, order).await?;
        self.marks.forget();
        self.tell(format!("through node {index}: {told}"));
        Ok(())
    }

    async fn start(&mut self, index: usize) {
        if self.nodes[index].is_up() {
            return;
        }
        match self.nodes[index].start(&self.cache).await {
            Ok(()) => self.tell(format!("node {index} starts")),
            Err(error) => self.tell(format!("node {index} does not start: failed to {error}")),
        }
    }

    async fn fail(&mut self, index: usize, fault: Fault) {
        let node = &mut self.nodes[index];
        match fault {
            Fault::Start => return self.start(index).await,
            Fault::Crash if node.is_up() => node.crash().await,
            Fault::Leave if node.goes_on() => match node.leave().await {
                None => return,
                Some(Ok(())) => {}
                Some(Err(error)) => return self.tell(format!("node {index}: failed to {error}")),
            },
            Fault::Freeze if node.goes_on() => node.frozen = true,
            Fault::Thaw if node.frozen => node.frozen = false,
            Fault::Crash | Fault::Leave | Fault::Freeze | Fault::Thaw => return,
            Fault::StepClock(ms) => {
                step(&node.clock, ms);
                node.quiet().await;
            }
            Fault::StepAll(ms) => {
                step(&self.database_clock, ms);
                for node in &self.nodes {
                    step(&node.clock, ms);
                    node.quiet().await;
                }
            }
            Fault::Strike(edges, strike) => node.gate.strike(edges, strike),
            Fault::Break(statements, may_pass) => node.gate.break_statement(statements, may_pass),
        }
        self.note_latest();
        self.tell(format!("node {index}: {fault:?}"));
    }

    /// Ends all faults, lets every attempt succeed, and lets the services proceed by their timers
    /// and wake-ups until long after the latest time that any clock has shown.
    async fn calm(&mut self, scenario: &Scenario) -> Result<(), String> {
        self.tell("calm");
        for node in &mut self.nodes {
            node.gate.calm();
            node.frozen = false;
            node.clock.set(self.true_now);
            node.quiet().await;
        }
        self.database_clock.set(self.true_now);
        let nobody = !self.nodes.iter().any(Node::is_up);
        for index in 0..self.nodes.len() {
            if scenario.revival || (nobody && index == 0) {
                self.start(index).await;
            }
        }
        for _ in windows::open(self.expected.store()).await {
            self.order(0, 0, &Order::CancelWindow(0)).await?;
        }
        for row in self.expected.living().await.iter().filter(|row| !row.enabled) {
            let living = self.expected.living().await;
            let pick = living.iter().position(|other| other.id == row.id).unwrap();
            self.order(0, pick, &Order::Resume(scenario.missed)).await?;
        }
        for pick in 0..backfills::open(self.expected.store()).await.len() {
            self.order(0, 0, &Order::ResumeBackfill(pick)).await?;
        }
        self.come_to_rest().await?;
        let behind = (self.latest - self.true_now).num_seconds().unsigned_abs();
        // First more time passes than a heartbeat's expiry and any delay of recovery; then enough
        // for spaced, delayed and skipped instants; then one ordinary hour.
        for seconds in [5, 31, 31, 120, 301, behind + 5, 601, 3_600, 5, 5] {
            self.pass(Duration::from_secs(seconds)).await;
            self.come_to_rest().await?;
        }
        // Backfills run their instants one after the other, each when a service has its next round.
        for _ in 0..60 {
            if backfills::open(self.expected.store()).await.is_empty() {
                break;
            }
            self.pass(Duration::from_secs(6)).await;
            self.come_to_rest().await?;
        }
        // Now retention removes history that is old enough.
        for seconds in [26 * 3_600, 3_700, 5].into_iter().filter(|_| scenario.kept_days.is_some()) {
            self.pass(Duration::from_secs(seconds)).await;
            self.come_to_rest().await?;
        }
        Ok(())
    }

    /// Executes rounds until nothing more can proceed without time passing.
    async fn come_to_rest(&mut self) -> Result<(), String> {
        for _ in 0..2_000 {
            let mut rests = true;
            for node in &mut self.nodes {
                node.heed();
            }
            // All nodes send heartbeats before the other services: otherwise a leap of time would
            // look like the death of a node.
            for pulse in [true, false] {
                for index in 0..self.nodes.len() {
                    for service in self.nodes[index].due() {
                        let name = self.nodes[index].name(service);
                        if (name == "pulse") == pulse {
                            let told = self.go(index, service).await?;
                            // The settler and the service `steps` always want another round, so
                            // only their reports count.
                            rests &= ["settler", "steps"].contains(&name) && !told;
                        }
                    }
                }
            }
            let ended = !workshop::open().is_empty();
            while !workshop::open().is_empty() {
                self.end(0, Ending::Success).await;
            }
            rests &= !ended;
            self.look().await?;
            if rests {
                return Ok(());
            }
        }
        let alive = self.alive().await;
        Err(format!("the services never come to rest, with {alive:#?}"))
    }

    /// The live runs, with their attempts.
    async fn alive(&self) -> Vec<(run::Model, Vec<task_run::Model>)> {
        let store = self.expected.store();
        let alive = run::Entity::find().filter(run::Column::State.is_in(LIVE));
        let mut found = Vec::new();
        for run in alive.all(store.read()).await.unwrap() {
            let attempts = store.attempts_of(run.id).await.unwrap();
            found.push((run, attempts));
        }
        found
    }
}

fn step(clock: &ManualClock, ms: i64) {
    clock.set(clock.now() + TimeDelta::milliseconds(ms));
}
