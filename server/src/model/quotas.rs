//! How much of the server one namespace may use.

use serde::{Deserialize, Serialize};

/// The quotas of a namespace. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Schedules that are not deleted.
    pub schedules: Option<i64>,
    /// Fires a minute. When a schedule is saved, this is the sum over all schedules, each in its
    /// busiest minute; when fires are claimed, the number of those that start.
    pub fires_a_minute: Option<i64>,
    /// Runs in progress at the same time.
    pub live_runs: Option<i64>,
    /// Bytes of log lines in 24 hours.
    pub log_bytes_a_day: Option<i64>,
    /// Bytes of log lines of one run, for all of its attempts together.
    pub log_bytes_a_run: Option<i64>,
    /// Bytes of log lines that are kept.
    pub log_bytes: Option<i64>,
    /// Fires, runs and attempts that are kept.
    pub history_rows: Option<i64>,
}

/// The quotas that were set for a namespace: 0 means no limit, and an absent quota falls back to
/// the server's configuration.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "Quotas says it")]
pub struct OwnQuotas {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedules: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fires_a_minute: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_runs: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes_a_day: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes_a_run: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_rows: Option<i64>,
}

impl OwnQuotas {
    /// These quotas, with missing ones taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            schedules: self.schedules.or(other.schedules),
            fires_a_minute: self.fires_a_minute.or(other.fires_a_minute),
            live_runs: self.live_runs.or(other.live_runs),
            log_bytes_a_day: self.log_bytes_a_day.or(other.log_bytes_a_day),
            log_bytes_a_run: self.log_bytes_a_run.or(other.log_bytes_a_run),
            log_bytes: self.log_bytes.or(other.log_bytes),
            history_rows: self.history_rows.or(other.history_rows),
        }
    }

    /// Parses the namespace's column. An unreadable value sets nothing.
    pub fn of_column(column: Option<&serde_json::Value>) -> Self {
        column.and_then(|json| Self::deserialize(json).ok()).unwrap_or_default()
    }

    /// The quotas in force, given the server's configuration `usual`.
    pub fn over(self, usual: Quotas) -> Quotas {
        let one = |own: Option<i64>, usual: Option<i64>| match own {
            None => usual,
            Some(0) => None,
            Some(limit) => Some(limit),
        };
        Quotas {
            schedules: one(self.schedules, usual.schedules),
            fires_a_minute: one(self.fires_a_minute, usual.fires_a_minute),
            live_runs: one(self.live_runs, usual.live_runs),
            log_bytes_a_day: one(self.log_bytes_a_day, usual.log_bytes_a_day),
            log_bytes_a_run: one(self.log_bytes_a_run, usual.log_bytes_a_run),
            log_bytes: one(self.log_bytes, usual.log_bytes),
            history_rows: one(self.history_rows, usual.history_rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_namespaces_quota_overrides_the_configuration_and_zero_means_no_limit() {
        let usual = Quotas { schedules: Some(10), live_runs: Some(5), ..Quotas::default() };
        let of = |json| OwnQuotas::of_column(Some(&json)).over(usual);
        assert_eq!(of(json!({})), usual);
        let own = of(json!({ "schedules": 3, "live_runs": 0, "fires_a_minute": 60 }));
        let expected = Quotas { schedules: Some(3), fires_a_minute: Some(60), ..Quotas::default() };
        assert_eq!(own, expected);
        assert_eq!(of(json!("nonsense")), usual);
        assert_eq!(OwnQuotas::of_column(None).over(usual), usual);
    }
}
