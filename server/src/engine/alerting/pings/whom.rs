use chrono::{DateTime, Utc};

/// Whether an event is recent enough to be reported.
pub(super) fn is_fresh(happened_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    now - happened_at <= chrono::TimeDelta::hours(1)
}
