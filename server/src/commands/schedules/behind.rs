//! Accounts for schedules that are far behind, before a command that ends their timing. Instants
//! that were not claimed and can no longer run are accounted for in steps. Otherwise the command
//! would do that in its own transaction, which must not grow with a year of fires.
//!
//! These steps only write rows that must be written in any case, whether or not the command
//! succeeds.

use chrono::{DateTime, TimeDelta, Utc};
use entity::schedule::Model;
use uuid::Uuid;

use crate::{
    access::Permit,
    commands::{CommandError, Commands},
    engine::planning::closing,
    store::schedules,
};

impl Commands {
    /// Accounts for a schedule's instants that were not claimed and can no longer run, if there are
    /// more than one transaction should write.
    pub(in crate::commands) async fn shorten(
        &self,
        permit: Permit<'_>,
        id: Uuid,
    ) -> Result<(), CommandError> {
        let now = self.clock.now();
        let row = schedules::by_id(self.store.read(), id).await?;
        if !row.as_ref().is_some_and(|row| is_far_behind(row, now)) {
            return Ok(());
        }
        let prepared = self.prepare_ended(permit, id).await?;
        loop {
            let tx = self.store.begin().await?;
            self.has_right_clock(&tx).await?;
            self.has_right_zones(&tx).await?;
            let row = self.permitted(&tx, permit, id).await?;
            let (Self { store, cache, .. }, prepared) = (self, prepared.as_ref());
            let part = closing::shorten(store, cache, &tx, id, !row.enabled, prepared, now);
            if !part.await? {
                return Ok(tx.rollback().await?);
            }
            self.store.commit(tx).await?;
        }
    }

    /// Accounts like [`Self::shorten`] for schedules that a deployment of the module may change or
    /// delete: those that the module declares at present, if the deployment `prunes` or names them,
    /// and other schedules that the deployment names, if it `adopts`.
    pub(in crate::commands) async fn shorten_before_deployment(
        &self,
        permit: Permit<'_>,
        namespace: Uuid,
        module: &str,
        names: &[String],
        prunes: bool,
        adopts: bool,
    ) -> Result<(), CommandError> {
        let (read, now) = (self.store.read(), self.clock.now());
        let behind = schedules::far_behind(read, namespace, module, names, now.into()).await?;
        for row in behind {
            let is_named = names.contains(&row.name);
            let concerns = match row.module.as_deref() {
                Some(owner) => owner == module && (is_named || prunes),
                None => is_named && adopts,
            };
            if !concerns {
                continue;
            }
            match self.shorten(permit, row.id).await {
                // A schedule that was deleted in the meantime has been accounted for.
                Ok(()) | Err(CommandError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether the schedule's cursor is before its catch-up window: the instants in between never run.
fn is_far_behind(row: &Model, now: DateTime<Utc>) -> bool {
    let window = now - TimeDelta::milliseconds(row.catch_up_window_ms);
    row.deleted_at.is_none() && row.next_scheduled_at.is_some_and(|at| at.utc() < window)
}
