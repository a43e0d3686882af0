use async_graphql::{ComplexObject, Context, SimpleObject};

use super::{
    context::ContextExt, error::Result, health_finding::HealthFinding, page::DECLARED,
    query::within,
};
use crate::{
    clock::Clock,
    config,
    engine::{
        cluster::Cluster,
        maintenance::health::{self, Check},
    },
    store::{
        Store, StoreError,
        reads::{health::HealthScope, within::Within},
    },
};

/// The health of one namespace, or of several.
#[derive(Clone, SimpleObject)]
#[graphql(complex)]
pub(crate) struct Health {
    /// Whether every check has passed.
    healthy: bool,
    /// What is wrong, one sentence per problem: the messages of `findings`.
    issues: Vec<String>,
    /// The checks and their results, the failing ones included.
    #[graphql(complexity = "DECLARED * child_complexity")]
    checks: Vec<HealthCheck>,
    /// The server version of the node that answers.
    version: String,
    /// The time zone rules of the node that answers.
    zone_data: ZoneData,
    /// `PostgreSQL` or `SQLite`.
    database: String,
    #[graphql(skip)]
    examined: Vec<Check>,
    #[graphql(skip)]
    within: Within,
}

#[ComplexObject]
impl Health {
    /// What is wrong, the worst first, with what to do about it. `/healthz` reports the same.
    // The cost of counting per schedule where something is wrong.
    #[graphql(complexity = "200 + DECLARED * child_complexity")]
    async fn findings(&self, cx: &Context<'_>) -> Result<Vec<HealthFinding>> {
        HealthFinding::all(cx, &self.examined, &self.within).await
    }
}

/// One check and its result.
#[derive(Clone, SimpleObject)]
pub(crate) struct HealthCheck {
    /// The name of the check, such as `missed`, `stalled`, `scheduler` or `clocks`.
    name: String,
    /// Whether the check has passed.
    healthy: bool,
    /// The measured value, with its unit if it has one.
    value: String,
    /// The limit that the value must not exceed; null if the check has none.
    limit: Option<String>,
}

/// The time zone rules in use.
#[derive(Clone, SimpleObject)]
pub(crate) struct ZoneData {
    /// The release of the IANA data, such as 2026a.
    version: String,
    /// `system`, `bundled` or `file`: the operating system's, the program's own, or the one that a
    /// setting names.
    source: String,
}

/// The namespaces whose health is checked, verified to be visible to the caller.
#[derive(Clone)]
pub(super) struct HealthWatch {
    store: Store,
    pub(super) clock: Clock,
    cluster: Cluster,
    limits: config::Health,
    scope: HealthScope,
}

impl HealthWatch {
    /// One namespace, or all that the caller may see.
    pub(super) async fn of(cx: &Context<'_>, namespace: Option<String>) -> Result<Self> {
        let limits = cx.data_unchecked::<config::Health>().within(namespace.as_deref(), None);
        let within = match &namespace {
            // Nothing happens in deleted namespaces, so the checks of the whole server are made.
            None if cx.viewer()?.who().grants.role_everywhere().is_some() => Within::All,
            Some(_) | None => within(cx, namespace.as_deref()).await?,
        };
        Ok(Self {
            store: cx.store().clone(),
            clock: cx.commands().clock.clone(),
            cluster: cx.data_unchecked::<Cluster>().clone(),
            limits,
            scope: HealthScope { within, tag: None },
        })
    }

    /// The namespaces.
    pub(super) fn within(&self) -> &Within {
        &self.scope.within
    }

    /// The current health.
    pub(super) async fn look(&self) -> std::result::Result<Health, StoreError> {
        let Self { store, clock, cluster, limits, scope } = self;
        let checks = health::examine(store, clock, cluster, scope, limits).await?;
        let zone_data = timetable::zone_data();
        Ok(Health {
            healthy: checks.iter().all(|check| check.healthy),
            issues: checks.iter().filter_map(|check| check.issue.clone()).collect(),
            examined: checks.clone(),
            within: scope.within.clone(),
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

impl Health {
    /// The current health of one namespace, or of all that the caller may see.
    pub(crate) async fn now(cx: &Context<'_>, namespace: Option<String>) -> Result<Self> {
        Ok(HealthWatch::of(cx, namespace).await?.look().await?)
    }

    /// The names of the checks that fail, and `budgets` if any is exceeded: that is no failure of the
    /// server, but news for those who follow its health.
    pub(super) fn failing(&self) -> Vec<&str> {
        let is_exceeded = |check: &HealthCheck| check.name == "budgets" && check.value != "0";
        let failing = self.checks.iter().filter(|check| !check.healthy || is_exceeded(check));
        failing.map(|check| &*check.name).collect()
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
