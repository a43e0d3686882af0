use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use uuid::Uuid;

use crate::{
    engine::EngineError,
    store::{
        Store,
        alerts::{
            feeds::{self, Feed},
            rules,
        },
        pings,
    },
};

/// A verdict may be committed minutes after its timestamp, and roll-ups and alerts look ten minutes
/// back for it. So history that is younger than this may not have been read.
const LOOK_BACK: TimeDelta = TimeDelta::minutes(15);

/// How far all readers that read settled history once have got: the roll-ups, the alerts and the
/// pings. Retention must not remove anything beyond that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadHistory {
    /// Runs with stamps up to this one have been read by all readers.
    pub(super) changed: i64,
    /// History that settled before this instant has been read by all readers.
    pub(super) until: Timestamp,
}

impl ReadHistory {
    /// The history that has been read at `now`; `None` if nothing has been read.
    pub(super) async fn at(store: &Store, now: DateTime<Utc>) -> Result<Option<Self>, EngineError> {
        let Some(counted) = store.counted_until().await? else { return Ok(None) };
        let mut read = Self { changed: counted.changed, until: (now - LOOK_BACK).into() };
        if counted.id != Uuid::max() {
            // Other runs may have the same stamp and may be unread.
            read.changed -= 1;
        }
        // Without an enabled rule, the alert service does not read these feeds.
        if rules::is_any_enabled(store.read()).await? {
            read.stop_before_alerts(store).await?;
        }
        if let Some(from) = pings::cursor(store).await? {
            for run in pings::changed(store, from, 1).await? {
                read.stop_before(run.changed, run.finished_at);
            }
        }
        Ok(Some(read))
    }

    /// Stops before the first row that the alert service has not read.
    /// Its cursors only move to rows that concern alerts.
    async fn stop_before_alerts(&mut self, store: &Store) -> Result<(), EngineError> {
        if let Some(from) = feeds::cursor(store, Feed::Failures).await? {
            for run in feeds::failures(store, from, 1).await? {
                self.stop_before(run.changed, run.finished_at);
            }
        }
        if let Some(from) = feeds::cursor(store, Feed::Late).await? {
            for run in feeds::late(store, from, 1).await? {
                self.stop_before(run.changed, run.finished_at);
            }
        }
        if let Some(from) = feeds::cursor(store, Feed::Missed).await? {
            for fire in feeds::missed(store, from, 1).await? {
                self.until = self.until.min(fire.decided_at);
            }
        }
        Ok(())
    }

    /// Narrows the range: the run with this stamp, which settled at that time, has not been read.
    fn stop_before(&mut self, changed: i64, finished_at: Option<Timestamp>) {
        self.changed = self.changed.min(changed - 1);
        self.until = finished_at.map_or(self.until, |at| self.until.min(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_reader_counts() {
        let mut read = ReadHistory { changed: 9, until: Timestamp(50) };
        read.stop_before(12, Some(Timestamp(60)));
        assert_eq!(read, ReadHistory { changed: 9, until: Timestamp(50) });
        read.stop_before(7, None);
        assert_eq!(read, ReadHistory { changed: 6, until: Timestamp(50) });
        read.stop_before(8, Some(Timestamp(40)));
        assert_eq!(read, ReadHistory { changed: 6, until: Timestamp(40) });
    }
}
