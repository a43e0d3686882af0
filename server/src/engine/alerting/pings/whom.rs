use chrono::{DateTime, Utc};

/// Whether what happened then is still worth saying.
pub(super) fn is_fresh(happened_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    now - happened_at <= chrono::TimeDelta::hours(1)
}
