//! Maintenance windows: what they explain in the ledger, and what no claim may do to the schedules
//! that they have marked.

use std::collections::BTreeMap;

use carillon::store::Store;
use chrono::TimeDelta;
use entity::{
    Timestamp, fire,
    maintenance_window::{Column, Entity, Model, State},
    schedule,
};
use sea_orm::{ColumnTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder};
use uuid::Uuid;

use super::removals;

/// The windows that can be cancelled, oldest first.
pub(crate) async fn open(store: &Store) -> Vec<Model> {
    let open = Entity::find().filter(Column::State.is_in([State::Planned, State::Active]));
    open.order_by_asc(Column::Id).all(store.read()).await.unwrap()
}

/// All windows of a world, each for all schedules, including those that retention has removed.
#[derive(Default)]
pub(crate) struct Windows(Vec<Times>);

/// When a window begins and ends.
#[derive(FromQueryResult)]
struct Times {
    starts_at: Timestamp,
    ends_at: Timestamp,
}

impl Windows {
    pub(crate) async fn read(store: &Store) -> Self {
        let left = Entity::find().all(store.read()).await.unwrap().into_iter();
        let left = left.map(|row| Times { starts_at: row.starts_at, ends_at: row.ends_at });
        let gone = removals::gone::<Times>(store, "maintenance_window").await;
        Self(left.chain(gone).collect())
    }

    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether all instants of a row may have fallen into the pause of a window. An instant from
    /// before the window is part of the pause if its jitter takes it there. The pause of a cancelled
    /// window ends when the service learns of it, at the latest at the window's end.
    pub(crate) fn cover(&self, row: &fire::Model, jitter: TimeDelta) -> bool {
        let (first, last) = (row.scheduled_at.utc(), row.last_scheduled_at.utc());
        self.0
            .iter()
            .any(|window| window.starts_at.utc() - jitter <= first && last < window.ends_at.utc())
    }

    /// The beginning of the last window up to the instant `at`: a claim that stopped before it may
    /// have been made at the same moment as the claim of `at`.
    pub(crate) fn known_from(&self, at: i64) -> i64 {
        let starts = self.0.iter().map(|window| window.starts_at.0);
        starts.filter(|start| *start <= at).max().unwrap_or(i64::MIN)
    }

    /// The latest instant that a claim of the instant `at` certainly knew, if it was made at `now`:
    /// a claim stops before a window begins.
    pub(crate) fn known_until(&self, at: i64, now: i64) -> i64 {
        let starts = self.0.iter().map(|window| window.starts_at.0);
        starts.filter(|start| at < *start).map(|start| start - 1).fold(now, i64::min)
    }
}

/// The cursors of schedules that wait for their pause to begin: from when on, the version, and the
/// cursor.
#[derive(Default)]
pub(crate) struct Marks(BTreeMap<Uuid, (Timestamp, i32, Option<Timestamp>)>);

impl Marks {
    /// A request may move every cursor.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// Checks that no claim has moved a cursor that had reached a planned pause.
    pub(crate) async fn look(&mut self, store: &Store) -> Result<(), String> {
        let marked = schedule::Entity::find()
            .filter(schedule::Column::PauseFrom.is_not_null())
            .filter(schedule::Column::Enabled.eq(true));
        let mut reached = BTreeMap::new();
        for row in marked.all(store.read()).await.unwrap() {
            let Some(from) = row.pause_from else { continue };
            if row.next_fire_at.is_none_or(|at| at < from) {
                continue;
            }
            let now = (from, row.version, row.next_fire_at);
            let was = self.0.get(&row.id).copied();
            let is_same =
                |was: &(Timestamp, i32, Option<Timestamp>)| (was.0, was.1) == (from, row.version);
            if was.filter(is_same).is_some_and(|was| was != now) {
                return Err(format!("an instant of a planned pause was claimed: {was:?}, {row:?}"));
            }
            reached.insert(row.id, now);
        }
        self.0 = reached;
        Ok(())
    }
}
