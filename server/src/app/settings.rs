//! The settings of the server's parts, read from the configuration.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use secrecy::ExposeSecret;

use super::{AppError, open_files::open_files};
use crate::{
    config::Config,
    engine,
    store::{Migrations, Options},
    target::{CommandLimits, CommandPolicy, Policy, UserError, programs_user},
    web,
};

/// Bounds for the idle-in-transaction timeout.
const MIN_IDLE: Duration = Duration::from_secs(5);
const MAX_IDLE: Duration = Duration::from_secs(30);

/// The limits on HTTP connections.
pub(super) fn limits(config: &Config) -> web::ConnectionLimits {
    let many = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let connections = &config.connections;
    let limits = match connections.max {
        Some(max) => web::ConnectionLimits::with_connections(many(max)),
        None => web::ConnectionLimits::with_files(open_files(), config.database.connections),
    };
    let per_address = connections.per_address.map_or(limits.per_address, many);
    web::ConnectionLimits { per_address, ..limits }
}

/// How the configured database is opened.
pub fn database(config: &Config) -> Options {
    Options {
        migrations: if config.database.migrate { Migrations::Apply } else { Migrations::Refuse },
        connections: config.database.connections,
        // A node that counts as dead must hold no locks: in particular, it must not lock the row of
        // a lease past its term. But a short expiry must not end a transaction that is merely slow.
        idle_transaction: (config.engine.heartbeat_expiry.0 / 2).clamp(MIN_IDLE, MAX_IDLE),
        ..Options::new(config.database.url.expose_secret())
    }
}

pub(super) fn policy(config: &Config) -> Result<Policy, AppError> {
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path)
            .map_err(|source| AppError::CaFile { path: path.clone(), source })
    };
    Ok(Policy {
        commands: config.allow_commands,
        command: if config.allow_commands {
            command_policy(config)?
        } else {
            CommandPolicy::default()
        },
        private_addresses: config.egress.private_addresses,
        output_limit_bytes: usize::try_from(config.targets.output_limit_bytes)
            .unwrap_or(usize::MAX),
        ca_pem: config.egress.ca_file.as_ref().map(read).transpose()?,
    })
}

/// The policy for programs, if they may run at all.
fn command_policy(config: &Config) -> Result<CommandPolicy, UserError> {
    let commands = &config.commands;
    let is_everywhere = commands.namespaces.iter().any(|name| name == "*");
    let limit = |limit: u64| Some(limit).filter(|limit| *limit > 0);
    let user_of = commands.user_of.iter().map(|(namespace, name)| {
        let user = programs_user(Some(name)).map_err(|error| error.of_namespace(namespace));
        user.map(|user| (namespace.clone(), user))
    });
    Ok(CommandPolicy {
        namespaces: (!is_everywhere).then(|| commands.namespaces.clone()),
        programs: commands.programs.iter().map(PathBuf::from).collect(),
        variables: commands.variables.clone(),
        user: programs_user(commands.user.as_deref())?,
        user_of: user_of.collect::<Result<_, UserError>>()?,
        users: commands.users.clone(),
        limits: CommandLimits {
            processes: limit(commands.max_processes),
            open_files: limit(commands.max_open_files),
            file_bytes: limit(commands.max_file_bytes),
            memory_bytes: limit(commands.max_memory_bytes),
        },
        is_apart: true,
    })
}

/// The configured retention of old history.
pub fn retention(config: &Config) -> crate::model::Retention {
    let retention = &config.retention;
    crate::model::Retention {
        days: i32::try_from(retention.days).unwrap_or(i32::MAX),
        interval: retention.interval.0,
        answers: retention.idempotency.0,
    }
}

/// The quotas of a namespace that has none of its own.
pub fn quotas(config: &Config) -> crate::model::Quotas {
    let limit = |value: u64| (value > 0).then(|| i64::try_from(value).unwrap_or(i64::MAX));
    crate::model::Quotas {
        schedules: limit(config.quotas.schedules),
        fires_a_minute: limit(config.quotas.fires_a_minute),
        live_runs: limit(config.quotas.live_runs),
        log_bytes_a_day: limit(config.quotas.log_bytes_a_day),
        log_bytes_a_run: limit(config.quotas.log_bytes_a_run),
        log_bytes: limit(config.quotas.log_bytes),
        history_rows: limit(config.quotas.history_rows),
    }
}

pub(super) fn settings(config: &Config, address: SocketAddr) -> engine::EngineSettings {
    let defaults = engine::EngineSettings::default();
    engine::EngineSettings {
        node_name: config.node_name(address),
        roles: config.node.roles,
        tags: config.node.tags.clone(),
        second_owner_after: config.cluster.second_owner_after.0,
        capacity: match config.node.capacity {
            Some(capacity) => usize::try_from(capacity).unwrap_or(usize::MAX),
            None => defaults.capacity,
        },
        quotas: quotas(config),
        max_share: config.node.max_share.unwrap_or(defaults.max_share),
        heartbeat_interval: config.engine.heartbeat_interval.0,
        heartbeat_expiry: config.engine.heartbeat_expiry.0,
        recovery_interval: config.engine.recovery_interval.0,
        lost_after: config.engine.lost_after.0,
        public_url: config.public_url.clone(),
        retention: Some(retention(config)),
        ..defaults
    }
}
