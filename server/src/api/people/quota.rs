use async_graphql::{InputObject, SimpleObject};

use crate::{
    api::scalar::{Instant, Long},
    commands::UsedQuotas,
    model::OwnQuotas,
};

/// A namespace's quotas of the server's resources, and their usage.
#[derive(SimpleObject)]
pub(crate) struct NamespaceQuotas {
    /// Schedules that are not deleted.
    schedules: Quota,
    /// Fires a minute. Usage is the sum over the namespace's schedules, each in its busiest minute.
    fires_a_minute: Quota,
    /// Runs in progress at once.
    live_runs: Quota,
    /// Bytes of log lines a day. Usage is what the answering node has counted today.
    log_bytes_a_day: Quota,
    /// Bytes of log lines of one run. The quota applies to each run separately, so usage is always
    /// 0.
    log_bytes_a_run: Quota,
    /// Bytes of log lines that are kept. Usage is counted every half minute.
    log_bytes: Quota,
    /// Fires, runs and attempts that are kept. Fires are counted within a minute, runs when they
    /// settle.
    history_rows: Quota,
    /// Settled history from before this instant was removed because of the quota of rows, although
    /// its retention had not passed; null if that never happened.
    history_since: Option<Instant>,
}

/// The usage and the limit of one resource.
#[derive(SimpleObject)]
pub(crate) struct Quota {
    /// The current usage.
    used: Long,
    /// The limit that applies; null for none.
    limit: Option<Long>,
    /// The limit set for the namespace, 0 for none; null uses the server's configuration.
    own: Option<Long>,
}

impl From<UsedQuotas> for NamespaceQuotas {
    fn from(used: UsedQuotas) -> Self {
        let UsedQuotas { limits, own, usage, live_runs, log_bytes_today, history, cut } = used;
        let quota = |used: i64, limit: Option<i64>, own: Option<i64>| Quota {
            used: used.into(),
            limit: limit.map(Into::into),
            own: own.map(Into::into),
        };
        // Rounded up to whole fires.
        let fires = (usage.fires_an_hour + 59).div_euclid(60);
        Self {
            schedules: quota(usage.schedules, limits.schedules, own.schedules),
            fires_a_minute: quota(fires, limits.fires_a_minute, own.fires_a_minute),
            live_runs: quota(live_runs, limits.live_runs, own.live_runs),
            log_bytes_a_day: quota(log_bytes_today, limits.log_bytes_a_day, own.log_bytes_a_day),
            log_bytes_a_run: quota(0, limits.log_bytes_a_run, own.log_bytes_a_run),
            log_bytes: quota(history.log_bytes, limits.log_bytes, own.log_bytes),
            history_rows: quota(history.row_count, limits.history_rows, own.history_rows),
            history_since: cut.map(Into::into),
        }
    }
}

/// Quotas of a namespace: 0 means no limit; absent or null uses the server's configuration.
#[derive(InputObject)]
pub(crate) struct NamespaceQuotasInput {
    /// Schedules that are not deleted.
    schedules: Option<i64>,
    /// Fires a minute.
    fires_a_minute: Option<i64>,
    /// Runs in progress at once.
    live_runs: Option<i64>,
    /// Bytes of log lines a day.
    log_bytes_a_day: Option<i64>,
    /// Bytes of log lines of one run.
    log_bytes_a_run: Option<i64>,
    /// Bytes of log lines that are kept.
    log_bytes: Option<i64>,
    /// Fires, runs and attempts that are kept.
    history_rows: Option<i64>,
}

impl From<NamespaceQuotasInput> for OwnQuotas {
    fn from(input: NamespaceQuotasInput) -> Self {
        let NamespaceQuotasInput {
            schedules,
            fires_a_minute,
            live_runs,
            log_bytes_a_day,
            log_bytes_a_run,
            log_bytes,
            history_rows,
        } = input;
        Self {
            schedules,
            fires_a_minute,
            live_runs,
            log_bytes_a_day,
            log_bytes_a_run,
            log_bytes,
            history_rows,
        }
    }
}
