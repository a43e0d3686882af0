//! Explains why a fire was claimed late, from the facts that a claim knows.
//!
//! The text names a cause only if the cause is known. Otherwise it says only how late the fire was.

use chrono::{DateTime, SecondsFormat, Utc};
use timetable::misfire::{Entry, Fate, ON_TIME};

use crate::{
    engine::{EngineError, core::Core},
    store::{DatabaseTransaction, nodes::SchedulerGap},
};

/// The facts that a claim knows about the time before it.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Lateness {
    failing_since: Option<DateTime<Utc>>,
    gap: Option<SchedulerGap>,
}

impl Lateness {
    /// Reads the facts at `now`; `None` if no entry is late, which is the usual case.
    pub(in crate::engine) async fn of<'a>(
        core: &Core,
        tx: &DatabaseTransaction,
        mut entries: impl Iterator<Item = &'a Entry>,
        now: DateTime<Utc>,
    ) -> Result<Option<Self>, EngineError> {
        if !entries.any(|entry| is_late(entry, now)) {
            return Ok(None);
        }
        let gap = core.store.scheduler_gap(tx, core.node_id().await).await?;
        Ok(Some(Self { failing_since: core.rounds.failing_since(), gap }))
    }

    /// The cause that delayed the fire of an entry, if it was late and the cause is known.
    pub(in crate::engine) fn of_entry(&self, entry: &Entry, now: DateTime<Utc>) -> Option<String> {
        if !is_late(entry, now) {
            return None;
        }
        let at = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
        let due = entry.fire.at;
        if let Some(since) = self.failing_since.filter(|since| *since <= due + ON_TIME) {
            return Some(format!(
                "the database was not available from {} to {}",
                at(since),
                at(now)
            ));
        }
        let SchedulerGap { last_before, started_at } = self.gap?;
        let (started, last) = (started_at.utc(), last_before.map(|last| last.utc()));
        if started <= due || last.is_some_and(|last| due < last) {
            return None;
        }
        Some(match last {
            Some(last) => format!(
                "no scheduler was running: the last one was seen at {}, and the next started at {}",
                at(last),
                at(started)
            ),
            None => format!("no scheduler was running before {}", at(started)),
        })
    }
}

fn is_late(entry: &Entry, now: DateTime<Utc>) -> bool {
    match entry.fate {
        Fate::Suppressed => false,
        Fate::Run => now - entry.due_at > ON_TIME,
        Fate::CatchUp | Fate::Collapsed | Fate::Missed | Fate::OutsideWindow | Fate::OverLimit => {
            now - entry.fire.at > ON_TIME
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::Offset;
    use entity::Timestamp;
    use timetable::{Fire, FireKind};

    use super::*;

    fn second(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn entry(at: i64) -> Entry {
        let at = second(at);
        let fire = Fire { at, local: at.naive_utc(), offset: Utc.fix(), kind: FireKind::Normal };
        Entry { last: at, count: 1, due_at: at, fate: Fate::Run, calendar: None, fire }
    }

    fn gap(last: Option<i64>, started: i64) -> Option<SchedulerGap> {
        let last_before = last.map(|last| Timestamp(last * 1_000));
        Some(SchedulerGap { last_before, started_at: Timestamp(started * 1_000) })
    }

    #[test]
    fn a_fire_between_two_lives_of_the_scheduler_names_them() {
        let known = Lateness { failing_since: None, gap: gap(Some(10), 70) };
        let told = known.of_entry(&entry(30), second(71));
        let seen = "no scheduler was running: the last one was seen at 1970-01-01T00:00:10Z, and the \
                    next started at 1970-01-01T00:01:10Z";
        assert_eq!(told.as_deref(), Some(seen));
        // Another scheduler or this one was running, so no cause is named.
        assert_eq!(known.of_entry(&entry(5), second(71)), None);
        assert_eq!(known.of_entry(&entry(75), second(90)), None);
        // This fire is on time.
        assert_eq!(known.of_entry(&entry(30), second(32)), None);
    }

    #[test]
    fn a_fire_that_came_while_the_database_was_away_says_so() {
        let known = Lateness { failing_since: Some(second(20)), gap: gap(None, 1) };
        let told = known.of_entry(&entry(30), second(200)).unwrap();
        assert!(
            told.starts_with("the database was not available from 1970-01-01T00:00:20Z"),
            "{told}"
        );
        assert_eq!(known.of_entry(&entry(5), second(200)), None);
    }
}
