//! The clock here beside the database's, by which all nodes agree on the time.

use chrono::{DateTime, TimeDelta, Utc};
use sea_orm::ConnectionTrait;

use super::{
    handle::{Cluster, NodeReadiness},
    issues::describe,
    offset::Reading,
};
use crate::{
    clock::Clock,
    engine::{Signals, signals::Kind},
    store::{Store, StoreError},
};

/// What a node compares with, and whom it wakes when its clock has become right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) clock: &'a Clock,
    pub(crate) store: &'a Store,
    pub(crate) signals: &'a Signals,
}

impl Comparison<'_> {
    /// What the node may do. A clock that seems to have been stepped is compared first: the
    /// database's may have been stepped along.
    pub(crate) async fn standing(self) -> Result<NodeReadiness, StoreError> {
        self.standing_by(self.store.read()).await
    }

    /// The same, asked through a connection that the caller has: what a wait for another one takes
    /// would count as not knowing when the database read its clock.
    pub(crate) async fn standing_by<C: ConnectionTrait>(
        self,
        connection: &C,
    ) -> Result<NodeReadiness, StoreError> {
        let standing = self.cluster.standing(self.clock);
        let NodeReadiness::ClockOff(_) = standing else { return Ok(standing) };
        self.wrong_by(connection).await?;
        Ok(self.cluster.standing(self.clock))
    }

    /// How far the clock is ahead, if it is wrong.
    async fn wrong_by<C: ConnectionTrait>(
        self,
        connection: &C,
    ) -> Result<Option<TimeDelta>, StoreError> {
        if self.cluster.wrong_by(self.clock).is_none() {
            return Ok(None);
        }
        let asked = self.clock.wall();
        // Apart, as it is rare: each attempt asks for the time.
        let database = Box::pin(self.store.lease_time_by(connection)).await?;
        self.note(asked, database.utc());
        Ok(self.cluster.wrong_by(self.clock))
    }

    /// The time as the nodes agree on it: that of the clock here, or what it would show if it were
    /// right. Whatever goes into the ledger has its time from here: what one node writes is read by
    /// the others, and by itself when its clock is right again.
    pub(crate) async fn agreed_now<C: ConnectionTrait>(
        self,
        connection: &C,
    ) -> Result<DateTime<Utc>, StoreError> {
        let wrong_by = self.wrong_by(connection).await?;
        Ok(self.right_by(wrong_by))
    }

    /// The same; where the database does not answer, what was last known of its clock counts.
    pub(crate) async fn agreed_now_in_any_case(self) -> DateTime<Utc> {
        match self.agreed_now(self.store.read()).await {
            Ok(now) => now,
            Err(error) => {
                // The services say that the database is away; attempts ask one by one.
                tracing::debug!("failed to compare the clock with the database's: {error}");
                self.right_by(self.cluster.wrong_by(self.clock))
            }
        }
    }

    /// The time of a clock that is off by that, or right.
    fn right_by(self, wrong_by: Option<TimeDelta>) -> DateTime<Utc> {
        wrong_by.map_or_else(|| self.clock.now(), |offset| self.clock.wall() - offset)
    }

    /// What the clock here shows when it is `at` for all: to wait for that.
    pub(crate) fn shown_at(self, at: DateTime<Utc>) -> DateTime<Utc> {
        let Some(offset) = self.cluster.wrong_by(self.clock) else { return at };
        at.checked_add_signed(offset - self.clock.correction()).unwrap_or(at)
    }

    /// Remembers what the database's clock showed after `asked` by the wall clock; says whether the clock here has
    /// become right or wrong by that.
    pub(crate) fn note(self, asked: DateTime<Utc>, database: DateTime<Utc>) -> bool {
        let (offset, turned) =
            self.cluster.note(self.clock, Reading::of(self.clock, asked, database));
        match turned {
            Some(true) => {
                tracing::info!("the clock is right again: this node schedules");
                self.signals.wake_here(Kind::Planner);
                self.signals.wake_here(Kind::Dispatcher);
                self.signals.wake_here(Kind::Backfill);
            }
            Some(false) => {
                let offset = describe(offset);
                tracing::error!(
                    "the clock here is {offset}: nothing is scheduled until it is right"
                );
            }
            None => {}
        }
        turned.is_some()
    }
}
