use std::{collections::HashSet, future::Future, path::Path, time::Duration};

use carillon::{
    clock::Clock,
    store::{Options, Store},
};
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use entity::{Strings, schedule};
use sea_orm::FromQueryResult;
use tempfile::TempDir;

use super::{
    expansion::Expansion,
    node::Node,
    sink::Sink,
    stalls::Stalls,
    verdict::{self, Verdict},
};
use crate::{engine::world::World, support::TestDatabase};

/// The system under test: schedules that fire every second for a while, on a database; a sink for
/// their executions; and a record of the faults.
pub(super) struct Field {
    name: &'static str,
    /// The test's own connection, which no fault affects.
    pub(super) url: String,
    /// A node that is silent for longer counts as dead.
    pub(super) lease: Duration,
    pub(super) clock: Clock,
    pub(super) sink: Sink,
    pub(super) faults: Vec<Fault>,
    stalls: Stalls,
    expected: Expansion,
    folder: TempDir,
}

/// The period of a fault. A kill is a fault of one moment, which the other nodes must repair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) from: DateTime<Utc>,
    pub(super) until: DateTime<Utc>,
}

/// The delay between the schedules' creation and their first fires: the nodes start in that time.
const START: TimeDelta = TimeDelta::seconds(5);

impl Field {
    /// Inserts `schedules` schedules that soon begin to fire, and do so for `seconds`. No node may
    /// run yet.
    pub(super) async fn new(
        name: &'static str,
        url: &str,
        lease: Duration,
        schedules: usize,
        seconds: i64,
    ) -> Self {
        let sink = Sink::open().await;
        let world = World::new(TestDatabase::at(url).await).await;
        let clock = world.clock.clone();
        let begin = clock.now().trunc_subsecs(0) + START;
        let mut expected = Expansion::new(begin, begin + TimeDelta::seconds(seconds));
        let change = |number: usize, row: &mut schedule::Model| {
            row.expressions = Strings(vec![Expansion::expression(number).to_owned()]);
            row.overlap = schedule::Overlap::Allow;
            row.anchor_at = expected.begin.into();
            row.start_at = Some((expected.begin + TimeDelta::milliseconds(1)).into());
            row.end_at = Some((expected.end + TimeDelta::milliseconds(1)).into());
            row.shard = i16::try_from(number % 256).unwrap();
            let first = expected.instants(number).next().unwrap();
            row.next_scheduled_at = Some(first.into());
            row.next_fire_at = Some(first.into());
        };
        let ids = world.schedules_with(schedules, sink.task(), change).await;
        expected.schedules = ids.into_iter().enumerate().map(|(number, id)| (id, number)).collect();
        world.database.store.clone().close().await.unwrap();
        let (url, folder) = (url.to_owned(), tempfile::tempdir().unwrap());
        let stalls = Stalls::watch(&clock);
        Self { name, url, lease, clock, sink, faults: Vec::new(), stalls, expected, folder }
    }

    /// A server on the database.
    pub(super) fn node(&self, name: &str) -> Node {
        self.node_by(name, &self.url, &[])
    }

    /// A server that reaches the database at another URL, with additional environment variables. On
    /// PostgreSQL, its connections carry the node's name.
    pub(super) fn node_by(&self, name: &str, url: &str, environment: &[(&str, &str)]) -> Node {
        let url = match url.split_once(':') {
            Some(("postgres", _)) => format!("{url}?application_name={name}"),
            Some(_) | None => url.to_owned(),
        };
        Node::start(name, &url, self.lease, self.folder.path(), environment, &[])
    }

    /// Creates a server that another program starts.
    pub(super) fn node_within(&self, starter: &[String], name: &str, url: &str) -> Node {
        Node::start(name, url, self.lease, self.folder.path(), &[], starter)
    }

    /// Servers on the database, all of them ready.
    pub(super) async fn nodes<const N: usize>(&self, names: [&str; N]) -> [Node; N] {
        let mut nodes = names.map(|name| self.node(name));
        for node in &mut nodes {
            node.is_ready().await;
        }
        nodes
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until the first fires are due.
    pub(super) async fn begins(&self) {
        self.clock.sleep_until(self.expected.begin).await;
    }

    /// Waits for a while, without a fault.
    pub(super) async fn pass(&self, duration: Duration) {
        self.clock.sleep(duration).await;
    }

    /// Records a fault of one moment: now.
    pub(super) fn hit(&mut self) {
        let now = self.clock.now();
        self.faults.push(Fault { from: now, until: now });
    }

    /// Records a fault that lasts as long as `future`.
    pub(super) async fn while_hit<T>(&mut self, future: impl Future<Output = T>) -> T {
        let from = self.clock.now();
        let output = future.await;
        self.faults.push(Fault { from, until: self.clock.now() });
        output
    }

    /// Waits until everything is executed, for a test that cannot read the tables meanwhile.
    pub(super) async fn is_executed(&self, nodes: &mut [Node]) {
        self.clock.sleep_until(self.expected.end).await;
        let (keys, until) = (self.expected.keys(), self.deadline());
        loop {
            let done = self.sink.executions();
            let done: HashSet<&str> = done.iter().map(|done| done.key.as_str()).collect();
            if keys.keys().all(|key| done.contains(key.as_str())) || self.clock.now() > until {
                return;
            }
            for node in &mut *nodes {
                node.is_alive();
            }
            self.clock.sleep(Duration::from_millis(100)).await;
        }
    }

    /// The instant by which everything must be settled.
    fn deadline(&self) -> DateTime<Utc> {
        self.clock.now() + TimeDelta::from_std(self.lease * 3).unwrap() + TimeDelta::seconds(120)
    }

    /// How often nodes of any name have logged that their write was refused.
    fn refused(&self) -> usize {
        let files = std::fs::read_dir(self.folder.path()).unwrap().map(|file| file.unwrap().path());
        let logs = files.filter(|file| file.extension().is_some_and(|kind| kind == "log"));
        let logs =
            logs.map(|log| String::from_utf8_lossy(&std::fs::read(log).unwrap()).into_owned());
        let said =
            |log: String| REFUSED.iter().map(|word| log.matches(word).count()).sum::<usize>();
        logs.map(said).sum()
    }

    /// Waits until everything is settled, and compares what happened with what was expected.
    pub(super) async fn ends(&self, nodes: &mut [Node]) -> Verdict {
        let store = Store::open(&Options::new(&self.url)).await.unwrap();
        self.clock.sleep_until(self.expected.end).await;
        // Recovery has to wait for the lease to expire, and the backlog takes a while. The verdict
        // says how long.
        let until = self.deadline();
        loop {
            let left = left(&store).await;
            if left == Left::default() {
                break;
            }
            for node in &mut *nodes {
                node.is_alive();
            }
            if self.clock.now() > until {
                println!("chaos {}: came to a halt with {left:?}", self.name);
                break;
            }
            self.clock.sleep(Duration::from_millis(100)).await;
        }
        let executions = self.sink.executions();
        let mut verdict =
            verdict::judge(&store, &self.expected, &executions, &self.faults, &self.stalls).await;
        verdict.refused = self.refused();
        println!("chaos {}: {verdict}", self.name);
        let bound = self.lease + Duration::from_secs(5);
        verdict.assert_promises_are_kept(bound);
        store.close().await.unwrap();
        verdict
    }
}

impl Drop for Field {
    /// Prints the nodes' logs if the test fails.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            println!(
                "chaos {}: the nodes' logs are in {}",
                self.name,
                self.folder.path().display()
            );
        }
    }
}

/// Log lines of a node whose outcome, or whose run of several tasks, another node had taken over.
const REFUSED: [&str; 2] =
    ["its outcome is not recorded", "the run was taken over; this node leaves it"];

/// The numbers of live fires and runs.
#[derive(Debug, Default, PartialEq, Eq, FromQueryResult)]
struct Left {
    schedules: i64,
    fires: i64,
    runs: i64,
}

async fn left(store: &Store) -> Left {
    let sql = "SELECT \
          (SELECT count(*) FROM schedule WHERE next_fire_at IS NOT NULL) AS schedules, \
          (SELECT count(*) FROM fire WHERE verdict = 'pending') AS fires, \
          (SELECT count(*) FROM run WHERE state IN ('queued', 'running', 'retrying')) AS runs";
    let statement = store.dialect().statement(sql, []);
    Left::find_by_statement(statement).one(store.read()).await.unwrap().unwrap()
}
