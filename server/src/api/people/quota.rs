use async_graphql::{InputObject, SimpleObject};

use crate::{api::scalar::Long, commands::UsedQuotas, model::OwnQuotas};

/// How much of the server a namespace may use, and how much it uses.
#[derive(SimpleObject)]
pub(crate) struct NamespaceQuotas {
    /// Schedules that are not deleted.
    schedules: Quota,
    /// Fires a minute. Usage is the sum over its schedules, each in its busiest minute.
    fires_a_minute: Quota,
    /// Runs at work at once.
    live_runs: Quota,
    /// Bytes of log lines a day. Usage is what the answering node has counted today.
    log_bytes_a_day: Quota,
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
        let UsedQuotas { limits, own, usage, live_runs, log_bytes } = used;
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
            log_bytes_a_day: quota(log_bytes, limits.log_bytes_a_day, own.log_bytes_a_day),
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
    /// Runs at work at once.
    live_runs: Option<i64>,
    /// Bytes of log lines a day.
    log_bytes_a_day: Option<i64>,
}

impl From<NamespaceQuotasInput> for OwnQuotas {
    fn from(input: NamespaceQuotasInput) -> Self {
        let NamespaceQuotasInput { schedules, fires_a_minute, live_runs, log_bytes_a_day } = input;
        Self { schedules, fires_a_minute, live_runs, log_bytes_a_day }
    }
}
