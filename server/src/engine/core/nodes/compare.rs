//! Compares this node's clock with the database's, by which all nodes agree on the time.

use chrono::{DateTime, TimeDelta, Utc};
use sea_orm::ConnectionTrait;

use super::{
    handle::{Cluster, NodeReadiness},
    issues::describe,
    offset::Reading,
};
use crate::{
    clock::Clock,
    engine::{Signals, signals::SignalKind},
    store::{Store, StoreError},
};

/// What a node compares, and what it wakes when its clock has become right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) clock: &'a Clock,
    pub(crate) store: &'a Store,
    pub(crate) signals: &'a Signals,
}

impl Comparison<'_> {
    /// Whether the node may schedule. If its clock seems to have been stepped, it is compared
    /// first: the database's clock may have been stepped too.
    pub(crate) async fn standing(self) -> Result<NodeReadiness, StoreError> {
        self.standing_by(self.store.read()).await
    }

    /// The same, through the caller's connection: the time spent waiting for another connection
    /// would add to the uncertainty about when the database read its clock.
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
        // Boxed because it is rare, and each attempt needs the time.
        let database = Box::pin(self.store.lease_time_by(connection)).await?;
        self.note(asked, database.utc());
        Ok(self.cluster.wrong_by(self.clock))
    }

    /// The time on which the nodes agree: that of this node's clock, or what it would show if it
    /// were right. All entries in the ledger take their time from here: other nodes read what one
    /// node writes, and so does the node itself once its clock is right again.
    pub(crate) async fn agreed_now<C: ConnectionTrait>(
        self,
        connection: &C,
    ) -> Result<DateTime<Utc>, StoreError> {
        let wrong_by = self.wrong_by(connection).await?;
        Ok(self.right_by(wrong_by))
    }

    /// The same; if the database does not answer, its last known clock counts.
    pub(crate) async fn agreed_now_in_any_case(self) -> DateTime<Utc> {
        match self.agreed_now(self.store.read()).await {
            Ok(now) => now,
            Err(error) => {
                // The services log that the database is away; attempts would log it one by one.
                tracing::debug!("failed to compare the clock with the database's: {error}");
                self.right_by(self.cluster.wrong_by(self.clock))
            }
        }
    }

    /// The time, for a clock that is off by this much, or right.
    fn right_by(self, wrong_by: Option<TimeDelta>) -> DateTime<Utc> {
        wrong_by.map_or_else(|| self.clock.now(), |offset| self.clock.wall() - offset)
    }

    /// What this node's clock shows when the agreed time is `at`: to wait for that instant.
    pub(crate) fn shown_at(self, at: DateTime<Utc>) -> DateTime<Utc> {
        let Some(offset) = self.cluster.wrong_by(self.clock) else { return at };
        at.checked_add_signed(offset - self.clock.correction()).unwrap_or(at)
    }

    /// Records what the database's clock showed after `asked` by the wall clock; returns whether
    /// this node's clock has thereby become right or wrong.
    pub(crate) fn note(self, asked: DateTime<Utc>, database: DateTime<Utc>) -> bool {
        let (offset, turned) =
            self.cluster.note(self.clock, Reading::of(self.clock, asked, database));
        match turned {
            Some(true) => {
                tracing::info!("the clock is right again: this node schedules");
                self.signals.wake_here(SignalKind::Planner);
                self.signals.wake_here(SignalKind::Dispatcher);
                self.signals.wake_here(SignalKind::Backfill);
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
