//! The quotas of a namespace: sets them, and enforces them when schedules are saved.
//!
//! A namespace's usage is counted only now and then and cached; schedules saved by this process
//! since then are added. Only if the usage comes near a limit does the saving transaction count
//! again. It takes a lock on the namespace, and first waits for all transactions of this process
//! that were admitted without the lock. So the limit holds whatever other requests save at the same
//! time.
//!
//! - `counter`: the cached counts, and the usage that open transactions add to them

mod counter;

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use sea_orm::ConnectionTrait;
use serde::{Deserialize, Serialize};
use serde_json::json;
use timetable::Timetable;
use uuid::Uuid;

pub(super) use self::counter::QuotaCounter;
use self::counter::{AdmittedUsage, QuotaCount};
use super::{BadInput, Call, CommandError, Commands, audit::AuditEntry};
use crate::{
    access::Owner,
    model::{OwnQuotas, Quotas, check},
    store::{DatabaseTransaction, history::History, namespaces, quotas::Usage},
};

/// Maximum number of schedules to count if there is no limit.
const MAX_COUNTED: i64 = 1_000_000;

/// The largest quota that can be set.
pub const MAX_QUOTA: i64 = 1_000_000_000_000_000;

/// Quotas after a command.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct SetQuotas {
    /// The namespace.
    pub id: Uuid,
}

/// A namespace's quotas and its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedQuotas {
    /// The effective limits.
    pub limits: Quotas,
    /// The limits set for this namespace.
    pub own: OwnQuotas,
    /// Usage by schedules.
    pub usage: Usage,
    /// Runs in progress.
    pub live_runs: i64,
    /// Bytes of log lines today, as counted by this node.
    pub log_bytes_today: i64,
    /// The history that is kept.
    pub history: History,
    /// The latest instant before which settled history was removed because of the quota of rows;
    /// `None` if that never happened.
    pub cut: Option<Timestamp>,
}

impl Commands {
    /// Refuses a change that exceeds the quotas of the namespaces. Takes their locks in the order
    /// of their keys, so that two changes never wait for each other.
    pub(super) async fn admit(
        &self,
        tx: &DatabaseTransaction,
        more: BTreeMap<Uuid, Usage>,
    ) -> Result<(), (Uuid, Box<CommandError>)> {
        for (namespace, more) in more {
            let admitted = self.admit_one(tx, namespace, more).await;
            admitted.map_err(|error| (namespace, Box::new(error)))?;
        }
        Ok(())
    }

    pub(super) async fn admit_one(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        more: Usage,
    ) -> Result<(), CommandError> {
        let order = tx.number();
        if let Some(admitted) = self.counted.admits(namespace, order, more, self.clock.instant()) {
            tx.keep(admitted);
            return Ok(());
        }
        self.store.lock_quotas(tx, namespace).await?;
        // The previous holder of the lock may have made a count that suffices.
        if let Some(admitted) = self.counted.admits(namespace, order, more, self.clock.instant()) {
            tx.keep(admitted);
            return Ok(());
        }
        let counting = self.counted.begin(namespace);
        // Transactions that were admitted far from the limit hold no lock, and a count does not see
        // them until they end.
        let unsettled = self.counted.settled_but(namespace, order).await;
        let mut count = self.count(tx, namespace).await?;
        count.usage = count.usage.plus(unsettled);
        if let Some(error) = count.broken_by(more) {
            return Err(error);
        }
        tx.keep(self.counted.admit(namespace, order, more, count));
        drop(counting);
        Ok(())
    }

    /// Admits schedules without a lock if no limit is near; returns `None` if one is. The caller
    /// must keep the result until the schedules are saved.
    pub(super) async fn admit_far_from_quotas(
        &self,
        more: &BTreeMap<Uuid, Usage>,
    ) -> Result<Option<Vec<AdmittedUsage>>, CommandError> {
        let order = DatabaseTransaction::next_number();
        let mut all = Vec::with_capacity(more.len());
        for (namespace, more) in more {
            let admits = || self.counted.admits(*namespace, order, *more, self.clock.instant());
            if let Some(admitted) = admits() {
                all.push(admitted);
                continue;
            }
            let Some(before) = self.counted.before(*namespace) else { return Ok(None) };
            let count = self.count(self.store.read(), *namespace).await?;
            self.counted.set(*namespace, count, &before);
            let Some(admitted) = admits() else { return Ok(None) };
            all.push(admitted);
        }
        Ok(Some(all))
    }

    async fn count(
        &self,
        connection: &impl ConnectionTrait,
        namespace: Uuid,
    ) -> Result<QuotaCount, CommandError> {
        let (usage, set) = self.store.usage(connection, namespace, MAX_COUNTED).await?;
        let limits = OwnQuotas::of_column(set.as_ref()).over(self.quotas);
        Ok(QuotaCount { at: self.clock.instant(), limits, usage })
    }

    /// Sets the given quotas of a namespace; 0 means no limit, and an absent quota falls back to
    /// the server's configuration.
    pub async fn set_quotas(
        &self,
        right: &Owner,
        namespace: &str,
        own: OwnQuotas,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<SetQuotas, CommandError> {
        let fields = [
            ("quotas.schedules", own.schedules),
            ("quotas.firesAMinute", own.fires_a_minute),
            ("quotas.liveRuns", own.live_runs),
            ("quotas.logBytesADay", own.log_bytes_a_day),
            ("quotas.logBytesARun", own.log_bytes_a_run),
            ("quotas.logBytes", own.log_bytes),
            ("quotas.historyRows", own.history_rows),
        ];
        for (field, value) in fields {
            if let Some(value) = value.filter(|value| !(0..=MAX_QUOTA).contains(value)) {
                let help = format!("give 1 to {MAX_QUOTA}, or 0 for no limit");
                return Err(BadInput::new(field, value, "is not a quota", help).into());
            }
        }
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = namespaces::by_name(&tx, namespace).await?;
        let row = row.ok_or_else(|| CommandError::not_found("namespace", namespace))?;
        let set = (own != OwnQuotas::default()).then(|| json!(own));
        namespaces::set_quotas(&tx, row.id, set.clone()).await?;
        let entry = AuditEntry {
            action: "namespace.quotas",
            namespace: Some(row.id),
            subject_id: Some(row.id),
            subject: namespace,
            reason,
            before: Some(json!({ "quotas": row.quotas })),
            after: Some(json!({ "quotas": set })),
        };
        self.audit(&tx, right.who(), entry).await?;
        let done = SetQuotas { id: row.id };
        self.remember(&tx, right.who(), call, &done).await?;
        self.store.commit(tx).await?;
        self.counted.forget(row.id);
        Ok(done)
    }

    /// A namespace's quotas and its usage.
    pub async fn used_quotas(&self, id: Uuid, name: &str) -> Result<UsedQuotas, CommandError> {
        let (usage, set) = self.store.usage(self.store.read(), id, MAX_COUNTED).await?;
        let own = OwnQuotas::of_column(set.as_ref());
        let now = self.clock.now();
        let live_runs = self.store.live_runs_of(id, now.into()).await?;
        let log_bytes_today = self.cluster.meter().log_bytes(name, now);
        let history = self.store.history_of(id, self.retention.days, now).await?;
        let cut = self.store.cut_of(id).await?;
        let limits = own.over(self.quotas);
        Ok(UsedQuotas { limits, own, usage, live_runs, log_bytes_today, history, cut })
    }
}

/// How many times a schedule fires in an hour: sixty times the count in the minute that begins with
/// its next fire. If that minute has only one fire, the time until the following fire decides.
pub(super) fn fires_an_hour(timetable: &Timetable, now: DateTime<Utc>) -> i64 {
    let Some(first) = timetable.next(now) else { return 0 };
    let minute = first.at + TimeDelta::minutes(1);
    let mut count = 1;
    for fire in timetable.fires(first.at, first.at + TimeDelta::hours(1)) {
        if fire.at < minute {
            count += 1;
        } else {
            let gap = (fire.at - first.at).num_seconds().max(1);
            return if count == 1 { 3_600 / gap } else { count * 60 };
        }
    }
    if count == 1 { 0 } else { count * 60 }
}

#[cfg(test)]
mod tests {
    use timetable::Definition;

    use super::*;

    fn an_hour(expression: &str) -> i64 {
        let definition = Definition::new(vec![expression.to_owned()], "UTC");
        let now = "2026-03-01T00:10:00Z".parse().unwrap();
        fires_an_hour(&Timetable::new(&definition).unwrap(), now)
    }

    #[test]
    fn the_rate_is_that_of_the_busiest_minute() {
        let cases = [
            ("* * * * * *", 3_600),
            ("*/5 * * * * *", 720),
            ("*/5 * 9-17 * * *", 720),
            ("* * * * *", 60),
            ("*/15 * * * *", 4),
            ("@hourly", 1),
            ("@daily", 0),
            ("@yearly", 0),
        ];
        for (expression, expected) in cases {
            assert_eq!(an_hour(expression), expected, "{expression}");
        }
    }
}
