//! Compares this node's clock with the database's, which all nodes use as their common time.

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

/// The parts that a comparison needs, including what it wakes when the clock has become right.
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

    /// The same, through the caller's connection. Waiting for another connection would make it less
    /// certain when the database read its clock.
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
        // Boxed because it is rare, while every attempt asks for the time.
        let database = Box::pin(self.store.lease_time_by(connection)).await?;
        self.note(asked, database.utc());
        Ok(self.cluster.wrong_by(self.clock))
    }

    /// The time on which the nodes agree: what this node's clock shows, or would show if it were
    /// right. All entries in the ledger use it, because other nodes read them, and so does this
    /// node once its clock is right again.
    pub(crate) async fn agreed_now<C: ConnectionTrait>(
        self,
        connection: &C,
    ) -> Result<DateTime<Utc>, StoreError> {
        let wrong_by = self.wrong_by(connection).await?;
        Ok(self.right_by(wrong_by))
    }

    /// The same; if the database does not answer, it is computed from the last answer.
    pub(crate) async fn agreed_now_in_any_case(self) -> DateTime<Utc> {
        match self.agreed_now(self.store.read()).await {
            Ok(now) => now,
            Err(error) => {
                // The services log that the database is away; attempts would log it one by one.
                tracing::debug!(%error, "failed to compare the clock with the database's");
                self.right_by(self.cluster.wrong_by(self.clock))
            }
        }
    }

    /// The agreed time, if the clock is off by this much; `None` if it is right.
    fn right_by(self, wrong_by: Option<TimeDelta>) -> DateTime<Utc> {
        wrong_by.map_or_else(|| self.clock.now(), |offset| self.clock.wall() - offset)
    }

    /// What this node's clock will show when the agreed time is `at`; used to wait for that
    /// instant.
    pub(crate) fn shown_at(self, at: DateTime<Utc>) -> DateTime<Utc> {
        let Some(offset) = self.cluster.wrong_by(self.clock) else { return at };
        at.checked_add_signed(offset - self.clock.correction()).unwrap_or(at)
    }

    /// Records what the database's clock showed after `asked` by the wall clock. Returns whether
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
                    %offset,
                    "the clock here is wrong; nothing is scheduled until it is right"
                );
            }
            None => {}
        }
        turned.is_some()
    }
}
