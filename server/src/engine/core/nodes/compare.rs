//! Compares this node's clock with the database's clock, which is the common time of all nodes.

use chrono::{DateTime, TimeDelta, Utc};
use sea_orm::ConnectionTrait;

use super::{
    handle::{Cluster, NodeReadiness},
    issues::describe,
    offset::ClockReading,
};
use crate::{
    clock::Clock,
    engine::{Signals, signals::SignalKind},
    store::{Store, StoreError},
};

/// The parts that a comparison needs, including the services to wake when the clock becomes right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) clock: &'a Clock,
    pub(crate) store: &'a Store,
    pub(crate) signals: &'a Signals,
}

impl Comparison<'_> {
    /// Whether the node may schedule. If its clock seems to have been stepped, the clocks are
    /// compared first, because the database's clock may have been stepped too.
    pub(crate) async fn standing(self) -> Result<NodeReadiness, StoreError> {
        self.standing_by(self.store.read()).await
    }

    /// Whether the node may schedule, with the caller's connection.
    /// Waiting for another connection would make it less certain when the database read its clock.
    pub(crate) async fn standing_by<C: ConnectionTrait>(
        self,
        connection: &C,
    ) -> Result<NodeReadiness, StoreError> {
        let standing = self.cluster.standing(self.clock);
        let NodeReadiness::ClockOff(_) = standing else { return Ok(standing) };
        self.wrong_by(connection).await?;
        Ok(self.cluster.standing(self.clock))
    }

    /// How far this node's clock is ahead; `None` if it is right.
    async fn wrong_by<C: ConnectionTrait>(
        self,
        connection: &C,
    ) -> Result<Option<TimeDelta>, StoreError> {
        if self.cluster.wrong_by(self.clock).is_none() {
            return Ok(None);
        }
        let asked = self.clock.wall();
        // The future is boxed because it is rarely needed, while every attempt asks for the time.
        let database = Box::pin(self.store.lease_time_by(connection)).await?;
        self.note(asked, database.utc());
        Ok(self.cluster.wrong_by(self.clock))
    }

    /// The agreed time of the nodes: the time on this node's clock,
    /// corrected if that clock is wrong. All entries in the ledger use it:
    /// other nodes read them, and so does this node when its clock is right again.
    pub(crate) async fn agreed_now<C: ConnectionTrait>(
        self,
        connection: &C,
    ) -> Result<DateTime<Utc>, StoreError> {
        let wrong_by = self.wrong_by(connection).await?;
        Ok(self.right_by(wrong_by))
    }

    /// The agreed time. If the database does not answer, it is computed from the last answer.
    pub(crate) async fn agreed_now_in_any_case(self) -> DateTime<Utc> {
        match self.agreed_now(self.store.read()).await {
            Ok(now) => now,
            Err(error) => {
                // The services log that the database
                // is unreachable; attempts would log it one by one.
                tracing::debug!(%error, "failed to compare the clock with the database's");
                self.right_by(self.cluster.wrong_by(self.clock))
            }
        }
    }

    /// The agreed time of a clock that is off by this much; `None` if the clock is right.
    fn right_by(self, wrong_by: Option<TimeDelta>) -> DateTime<Utc> {
        wrong_by.map_or_else(|| self.clock.now(), |offset| self.clock.wall() - offset)
    }

    /// The time that this node's clock will show when the agreed time is `at`.
    /// It is used to wait for that instant.
    pub(crate) fn shown_at(self, at: DateTime<Utc>) -> DateTime<Utc> {
        let Some(offset) = self.cluster.wrong_by(self.clock) else { return at };
        at.checked_add_signed(offset - self.clock.correction()).unwrap_or(at)
    }

    /// Records the time that the database's clock showed after `asked` by the wall clock.
    /// Returns whether this shows that this node's clock has become right or wrong.
    pub(crate) fn note(self, asked: DateTime<Utc>, database: DateTime<Utc>) -> bool {
        let (offset, turned) =
            self.cluster.note(self.clock, ClockReading::of(self.clock, asked, database));
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
                    %offset,
                    "the clock here is wrong; nothing is scheduled until it is right"
                );
            }
            None => {}
        }
        turned.is_some()
    }
}
