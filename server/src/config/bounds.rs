//! Numbers and durations that must lie within bounds.

use std::time::Duration;

use super::{Config, Span, check::BadSetting};

/// The largest quota.
const MAX_QUOTA: u64 = 1_000_000_000_000_000;

impl Config {
    /// The first duration that is out of bounds, or contradicts another.
    pub(super) fn check_pace(&self) -> Result<(), BadSetting> {
        const DAY: Span = Span(Duration::from_hours(24));
        const SPLIT_SECOND: Span = Span(Duration::from_millis(100));
        const SECOND: Span = Span::seconds(1);
        let engine = &self.engine;
        between("engine.heartbeat_interval", engine.heartbeat_interval, SPLIT_SECOND, DAY)?;
        between("engine.heartbeat_expiry", engine.heartbeat_expiry, SPLIT_SECOND, DAY)?;
        between("engine.lost_after", engine.lost_after, SECOND, DAY)?;
        between("engine.recovery_interval", engine.recovery_interval, SPLIT_SECOND, DAY)?;
        let after = self.cluster.second_owner_after;
        between("cluster.second_owner_after", after, SPLIT_SECOND, Span::seconds(60))?;
        let year = Span(Duration::from_hours(366 * 24));
        between("retention.interval", self.retention.interval, Span::seconds(60), DAY)?;
        between("retention.idempotency", self.retention.idempotency, Span::seconds(60), year)?;
        between("shutdown_grace", self.shutdown_grace, Span(Duration::ZERO), DAY)?;
        // A single late heartbeat must not make a node count as dead.
        let least = Span(engine.heartbeat_interval.0 * 3);
        if engine.heartbeat_expiry < least {
            return Err(BadSetting::new(
                "engine.heartbeat_expiry",
                engine.heartbeat_expiry,
                format!("is less than three times engine.heartbeat_interval ({least})"),
                "raise it, or lower the interval",
            ));
        }
        between("session.idle", self.session.idle, Span::seconds(60), year)?;
        between("session.absolute", self.session.absolute, Span::seconds(60), year)?;
        if self.session.absolute < self.session.idle {
            return Err(BadSetting::new(
                "session.absolute",
                self.session.absolute,
                format!("is shorter than session.idle ({})", self.session.idle),
                "raise it, or lower session.idle",
            ));
        }
        Ok(())
    }

    /// The first number that is out of bounds.
    pub(super) fn check_sizes(&self) -> Result<(), BadSetting> {
        number("database.connections", self.database.connections, 2, 1_000)?;
        let limit = self.targets.output_limit_bytes;
        number("targets.output_limit_bytes", limit, 1_024, 64 * 1024 * 1024)?;
        let connections = &self.connections;
        let sizes = [
            ("connections.max", connections.max, 16),
            ("connections.per_address", connections.per_address, 1),
            ("connections.sockets_per_address", Some(connections.sockets_per_address), 1),
            ("connections.sockets_per_person", Some(connections.sockets_per_person), 1),
        ];
        for (field, value, least) in sizes {
            value.map_or(Ok(()), |value| number(field, value, least, 1_000_000))?;
        }
        number("retention.days", self.retention.days, 1, 3_650)?;
        for (name, quota) in [
            ("quotas.schedules", self.quotas.schedules),
            ("quotas.fires_a_minute", self.quotas.fires_a_minute),
            ("quotas.live_runs", self.quotas.live_runs),
            ("quotas.log_bytes_a_day", self.quotas.log_bytes_a_day),
            ("quotas.log_bytes_a_run", self.quotas.log_bytes_a_run),
            ("quotas.log_bytes", self.quotas.log_bytes),
            ("quotas.history_rows", self.quotas.history_rows),
        ] {
            if quota > MAX_QUOTA {
                let help = format!("give 1 to {MAX_QUOTA}, or 0 for no limit");
                return Err(BadSetting::new(name, quota, "is too large", help));
            }
        }
        if let Some(capacity) = self.node.capacity {
            number("node.capacity", capacity, 1, 10_000)?;
        }
        match self.node.max_share {
            Some(share) => number("node.max_share", share, 1, 100),
            None => Ok(()),
        }
    }
}

/// Checks that a duration is at least `least` and at most `most`.
pub(super) fn between(
    field: &'static str,
    value: Span,
    least: Span,
    most: Span,
) -> Result<(), BadSetting> {
    if value < least || value > most {
        let problem = if value < least { "is too short" } else { "is too long" };
        return Err(BadSetting::new(field, value, problem, format!("give {least} to {most}")));
    }
    Ok(())
}

fn number(field: &'static str, value: u32, least: u32, most: u32) -> Result<(), BadSetting> {
    if value < least || value > most {
        let problem = if value < least { "is too small" } else { "is too large" };
        return Err(BadSetting::new(field, value, problem, format!("give {least} to {most}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::check::tests::problem_of;

    #[test]
    fn an_error_about_a_setting_names_its_bounds() {
        assert_eq!(
            problem_of(|config| config.engine.heartbeat_interval = Span(Duration::ZERO)),
            "engine.heartbeat_interval: '0s' is too short; give 100ms to 1d"
        );
        assert_eq!(
            problem_of(|config| config.node.capacity = Some(0)),
            "node.capacity: '0' is too small; give 1 to 10000"
        );
        assert_eq!(
            problem_of(|config| config.node.max_share = Some(101)),
            "node.max_share: '101' is too large; give 1 to 100"
        );
    }

    #[test]
    fn settings_that_contradict_each_other_are_named_together() {
        assert_eq!(
            problem_of(|config| config.engine.heartbeat_expiry = Span::seconds(6)),
            "engine.heartbeat_expiry: '6s' is less than three times engine.heartbeat_interval \
             (15s); raise it, or lower the interval"
        );
    }
}
