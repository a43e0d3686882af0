use async_graphql::{Context, SimpleObject};

use super::{context::Ask, error::Result};
use crate::{
    config,
    engine::health::{self, Check},
    store::reads::health::Scope,
};

/// Whether all is well.
#[derive(SimpleObject)]
pub(crate) struct Health {
    healthy: bool,
    /// What is wrong, a sentence each.
    issues: Vec<String>,
    checks: Vec<HealthCheck>,
    version: String,
    zone_data: ZoneData,
    database: String,
}

/// One question and its answer.
#[derive(SimpleObject)]
pub(crate) struct HealthCheck {
    name: String,
    healthy: bool,
    value: String,
    limit: Option<String>,
}

/// The rules of time zones in use.
#[derive(SimpleObject)]
pub(crate) struct ZoneData {
    version: String,
    source: String,
}

impl Health {
    /// As of now, of one namespace or of all.
    pub(crate) async fn now(cx: &Context<'_>, namespace: Option<String>) -> Result<Self> {
        let (store, commands) = (cx.store(), cx.commands());
        let namespace = match namespace {
            Some(name) => Some(commands.namespace(store.read(), &name).await?),
            None => None,
        };
        let scope = Scope { namespace, tag: None };
        let (cluster, limits) = (cx.data_unchecked(), cx.data_unchecked::<config::Health>());
        let checks = health::examine(store, &commands.clock, cluster, &scope, limits).await?;
        let zone_data = timetable::zone_data();
        Ok(Self {
            healthy: checks.iter().all(|check| check.healthy),
            issues: checks.iter().filter_map(|check| check.issue.clone()).collect(),
            checks: checks.into_iter().map(Into::into).collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            zone_data: ZoneData {
                version: zone_data.version.to_string(),
                source: zone_data.source.to_string(),
            },
            database: if store.dialect().is_postgres() { "PostgreSQL" } else { "SQLite" }
                .to_owned(),
        })
    }
}

impl From<Check> for HealthCheck {
    fn from(check: Check) -> Self {
        Self {
            name: check.name.to_owned(),
            healthy: check.healthy,
            value: check.value,
            limit: check.limit,
        }
    }
}
