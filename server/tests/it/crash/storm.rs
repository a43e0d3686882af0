use std::{collections::BTreeMap, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use carillon::{
    clock::Clock,
    target::{CommandTarget, Target},
};
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use entity::{lease, node, run};
use sea_orm::{ColumnTrait, EntityTrait, FromQueryResult, QueryFilter};
use tempfile::TempDir;
use uuid::Uuid;

use super::server::Server;
use crate::{
    engine::world::{World, task},
    support::TestDatabase,
};

/// Many schedules that are due at one instant.
pub(super) struct Storm {
    pub(super) world: World,
    /// The instant at which all schedules are due.
    pub(super) at: DateTime<Utc>,
    folder: TempDir,
    /// The position up to which earlier storms have read the witness file.
    pub(super) read: usize,
}

pub(super) const SCHEDULES: usize = 1_000;

/// The progress of a storm in which everything is done: claimed, handed over, executed, settled.
pub(super) const PROGRESS: usize = 4 * SCHEDULES;

/// The progress of a storm, in fires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Progress {
    claimed: usize,
    handed_over: usize,
    executed: usize,
    settled: usize,
}

impl Progress {
    /// The steps done, over all fires: up to [`PROGRESS`].
    pub(super) fn sum(self) -> usize {
        self.claimed + self.handed_over + self.executed + self.settled
    }

    /// Whether some fires are claimed and have no run yet.
    pub(super) fn is_handing_over(self) -> bool {
        self.claimed > self.handed_over
    }
}

#[derive(FromQueryResult)]
struct FireCounts {
    claimed: i64,
    handed_over: i64,
    settled: i64,
}

impl Storm {
    /// Creates the schedules, without making them due.
    pub(super) async fn new(database: TestDatabase) -> Self {
        // Programs run as another user, if this process may switch users: that user must be able to
        // enter the folder.
        let open = std::fs::Permissions::from_mode(0o711);
        let folder = tempfile::Builder::new().permissions(open).tempdir().unwrap();
        let world = World::new(database).await;
        let witness = folder.path().join("witness");
        std::fs::write(&witness, "").unwrap();
        std::fs::set_permissions(&witness, std::fs::Permissions::from_mode(0o666)).unwrap();
        // A kill can split a write only between two pages, and lines of 128 bytes never cross the
        // border of a page.
        let script = format!(
            "printf '%-127s\\n' \"$CARILLON_IDEMPOTENCY_KEY $CARILLON_RUN_ID $CARILLON_ATTEMPT\" \
             >>{}",
            witness.display()
        );
        let command = CommandTarget { script: Some(script), ..CommandTarget::default() };
        world.schedules(SCHEDULES, "@every 365d", task(Target::Command(command))).await;
        Self { world, at: DateTime::UNIX_EPOCH, folder, read: 0 }
    }

    /// Makes all schedules due a moment from now. No server may run.
    pub(super) async fn arm(&mut self) {
        // The instant must differ from the last storm's.
        let soon = self.world.clock.now().trunc_subsecs(0) + TimeDelta::seconds(2);
        self.at = soon.max(self.at + TimeDelta::seconds(1));
        let anchor = self.at - TimeDelta::days(365);
        self.world
            .write(
                "UPDATE schedule SET anchor_at = $1, next_scheduled_at = $2, next_fire_at = $2",
                [anchor.timestamp_millis().into(), self.at.timestamp_millis().into()],
            )
            .await;
    }

    /// The progress of the storm.
    pub(super) async fn progress(&self) -> Progress {
        let store = &self.world.database.store;
        let sql = "SELECT \
              (SELECT count(*) FROM fire WHERE id > $1) AS claimed, \
              (SELECT count(*) FROM fire WHERE id > $1 AND verdict <> 'pending') AS handed_over, \
              (SELECT count(*) FROM run WHERE id > $1 \
                 AND state NOT IN ('queued', 'running', 'retrying')) AS settled";
        let statement = store.dialect().statement(sql, [self.floor().into()]);
        let row =
            FireCounts::find_by_statement(statement).one(store.read()).await.unwrap().unwrap();
        let count = |number: i64| usize::try_from(number).unwrap();
        let executed = self.witnessed().lines().count();
        Progress {
            claimed: count(row.claimed),
            handed_over: count(row.handed_over),
            executed: executed.min(SCHEDULES),
            settled: count(row.settled),
        }
    }

    /// Waits for this progress. Another process writes the tables, so they have to be polled.
    pub(super) async fn reaches(
        &self,
        come: impl Fn(Progress) -> bool,
        server: &mut Server,
        clock: &Clock,
    ) -> Progress {
        let waiting = async {
            loop {
                let progress = self.progress().await;
                if come(progress) {
                    return progress;
                }
                server.is_alive();
                clock.sleep(Duration::from_millis(2)).await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(120), waiting).await {
            Ok(progress) => progress,
            Err(_) => panic!(
                "the storm came to a halt at {:?}: {}\n{}",
                self.progress().await,
                self.unsettled().await,
                server.log()
            ),
        }
    }

    /// Why a storm does not finish: its live runs by state and holder, and the live nodes.
    async fn unsettled(&self) -> String {
        let store = &self.world.database.store;
        let live = run::Entity::find().filter(run::Column::Id.gt(self.floor()));
        let mut held = BTreeMap::<_, usize>::new();
        for run in live.all(store.read()).await.unwrap() {
            if run.state.is_live() {
                let tries = (run.attempt, run.recovery_attempts, run.epoch);
                let key = format!("{:?} by {:?}, tries {tries:?}", run.state, run.node_id);
                *held.entry(key).or_default() += 1;
            }
        }
        let alive = node::Entity::find().filter(node::Column::State.eq(node::State::Alive));
        let alive = alive.all(store.read()).await.unwrap();
        let leases = lease::Entity::find().all(store.read()).await.unwrap();
        format!("live runs {held:#?}, at {:?} {alive:#?} {leases:#?}", self.world.clock.now())
    }

    /// Waits until every fire has its verdict and every run has settled.
    pub(super) async fn drained(&self, server: &mut Server, clock: &Clock) {
        self.reaches(|progress| progress.sum() == PROGRESS, server, clock).await;
    }

    /// What the programs of this storm wrote.
    pub(super) fn witnessed(&self) -> String {
        let all = std::fs::read_to_string(self.folder.path().join("witness")).unwrap();
        all[self.read..].to_owned()
    }

    /// A key between those of earlier storms and those of this storm's fires: keys begin with their
    /// time, and no fire is written before it is due.
    pub(super) fn floor(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.at.timestamp_millis().unsigned_abs()) << 80)
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn url(&self) -> &str {
        &self.world.database.url
    }
}
