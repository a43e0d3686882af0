//! Stops runs that must make way for a fire of their schedule: they are asked to stop, or ended.
//! Runs of backfills do not block fires and are left alone.

use std::collections::HashSet;

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::{BulkValues, returned_ids},
        days::DayRange,
    },
};

/// A fire that other runs of its schedule block.
#[derive(Clone, Debug)]
pub struct BlockedFire {
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The key of the fire.
    pub fire_id: Uuid,
    /// The reason for stopping the runs. It names the fire.
    pub reason: String,
}

/// The condition for a live run that does not belong to a backfill.
const IS_ALIVE: &str =
    "run.state IN ('queued', 'running', 'retrying') AND run.trigger <> 'backfill'";

/// The time at which a run ends: not before it was created or began, because either may just have
/// happened on another node with a different clock.
const FINISHED: &str = "CASE WHEN coalesce(run.started_at, run.created_at) > {0} \
    THEN coalesce(run.started_at, run.created_at) ELSE {0} END";

impl Store {
    /// Asks up to `most` live runs that block the fires in `ways` to stop, unless they have
    /// already been asked. Waiting runs are cancelled immediately, running ones through their node.
    /// Returns these runs.
    pub async fn cancel_live(
        &self,
        tx: &DatabaseTransaction,
        ways: &[BlockedFire],
        most: Option<usize>,
        now: Timestamp,
    ) -> Result<HashSet<Uuid>, StoreError> {
        let is_asked = " AND run.cancel_requested_at IS NULL";
        let found = self.in_the_way(tx, ways, is_asked, most).await?;
        if found.is_empty() {
            return Ok(HashSet::new());
        }
        let sql = format!(
            "UPDATE run SET cancel_requested_at = {{0}}, cancel_by = 'carillon', \
               cancel_reason = v.reason, \
               finished_at = CASE WHEN run.state = 'running' THEN NULL ELSE {FINISHED} END, \
               state = CASE WHEN run.state = 'running' THEN run.state ELSE 'cancelled' END, \
               changed = {} \
             FROM v WHERE run.id = v.run_id AND {IS_ALIVE}{is_asked} {{days}} RETURNING run.id",
            self.dialect().stamp("run")
        );
        let statement = runs_of(&found).statement(self.dialect(), &sql, vec![now.0.into()]);
        returned_ids(tx, statement).await
    }

    /// Ends up to `most` live runs that block the fires in `ways`, and skips intents that have
    /// not become runs yet. The nodes that held these runs lose them. Returns these runs.
    pub async fn terminate_live(
        &self,
        tx: &DatabaseTransaction,
        ways: &[BlockedFire],
        most: Option<usize>,
        now: Timestamp,
    ) -> Result<HashSet<Uuid>, StoreError> {
        if ways.is_empty() {
            return Ok(HashSet::new());
        }
        // The fires come first: a hand-off in progress has locked them, and the next statement also
        // reads the runs that its commit creates.
        let sql = format!(
            "UPDATE fire SET verdict = 'skipped', reason = 'replaced', detail = v.detail, \
               decided_at = {{0}}, changed = {} \
             FROM v WHERE fire.schedule_id = v.schedule_id AND fire.id <> v.fire_id \
               AND fire.verdict = 'pending' AND fire.claimed_by IS NOT NULL \
               AND fire.run_id IS NULL",
            self.dialect().stamp("fire")
        );
        let intents = ways_of(ways).statement(self.dialect(), &sql, vec![now.0.into()]);
        tx.execute_raw(intents).await?;
        let found = self.in_the_way(tx, ways, "", most).await?;
        if found.is_empty() {
            return Ok(HashSet::new());
        }
        let sql = format!(
            "UPDATE run SET cancel_requested_at = coalesce(run.cancel_requested_at, {{0}}), \
               cancel_by = coalesce(run.cancel_by, 'carillon'), \
               cancel_reason = coalesce(run.cancel_reason, v.reason), \
               finished_at = {FINISHED}, \
               state = 'cancelled', epoch = run.epoch + 1, hard_deadline_at = NULL, changed = {} \
             FROM v WHERE run.id = v.run_id AND {IS_ALIVE} {{days}} RETURNING run.id",
            self.dialect().stamp("run")
        );
        let statement = runs_of(&found).statement(self.dialect(), &sql, vec![now.0.into()]);
        let ended = returned_ids(tx, statement).await?;
        if !ended.is_empty() {
            let days = DayRange::of_keys("task_run.run_id", ended.iter().copied());
            let ended_runs = BulkValues::default().uuid("run_id", ended.iter().copied()).days(days);
            let statement = ended_runs.statement(
                self.dialect(),
                "UPDATE task_run SET state = 'cancelled', \
                   finished_at = CASE WHEN task_run.started_at > {0} \
                     THEN task_run.started_at ELSE {0} END, \
                   error = 'ended for a later fire' \
                 FROM v WHERE task_run.run_id = v.run_id AND task_run.state = 'running' {days}",
                vec![now.0.into()],
            );
            tx.execute_raw(statement).await?;
        }
        Ok(ended)
    }

    /// The live runs that block the fires in `ways`, up to
    /// `most`, each with the reason for stopping it.
    async fn in_the_way(
        &self,
        tx: &DatabaseTransaction,
        ways: &[BlockedFire],
        more: &str,
        most: Option<usize>,
    ) -> Result<Vec<InTheWay>, StoreError> {
        if ways.is_empty() || most == Some(0) {
            return Ok(Vec::new());
        }
        let limit = most.map_or_else(String::new, |most| format!(" LIMIT {most}"));
        let sql = format!(
            "SELECT run.id AS run_id, v.reason AS reason FROM v \
               JOIN run ON run.schedule_id = v.schedule_id \
             WHERE run.id <> v.fire_id AND {IS_ALIVE}{more} ORDER BY run.id{limit}"
        );
        let statement = ways_of(ways).statement(self.dialect(), &sql, vec![]);
        Ok(InTheWay::find_by_statement(statement).all(tx).await?)
    }
}

/// A run that must make way for a fire.
#[derive(FromQueryResult)]
struct InTheWay {
    run_id: Uuid,
    reason: String,
}

fn runs_of(found: &[InTheWay]) -> BulkValues {
    BulkValues::default()
        .uuid("run_id", found.iter().map(|run| run.run_id))
        .text("reason", found.iter().map(|run| run.reason.clone()))
        .days(DayRange::of_keys("run.id", found.iter().map(|run| run.run_id)))
}

fn ways_of(ways: &[BlockedFire]) -> BulkValues {
    BulkValues::default()
        .uuid("schedule_id", ways.iter().map(|way| way.schedule_id))
        .uuid("fire_id", ways.iter().map(|way| way.fire_id))
        .text("reason", ways.iter().map(|way| way.reason.clone()))
        .text("detail", ways.iter().map(|way| way.fire_id.to_string()))
}
