use async_graphql::{ComplexObject, Context, SimpleObject};

use entity::user::Role;
use uuid::Uuid;

use super::{
    context::ContextExt, error::Result, health_finding::HealthFinding, page::DECLARED,
    query::namespace_id,
};
use crate::{
    clock::Clock,
    commands::CommandError,
    config,
    engine::{
        cluster::Cluster,
        maintenance::health::{self, Check},
    },
    store::{Store, StoreError, reads::health::HealthScope},
};

/// The health of a namespace or of the whole cluster.
#[derive(Clone, SimpleObject)]
#[graphql(complex)]
pub(crate) struct Health {
    healthy: bool,
    /// What is wrong, one sentence each: the messages of `findings`.
    issues: Vec<String>,
    #[graphql(complexity = "DECLARED * child_complexity")]
    checks: Vec<HealthCheck>,
    version: String,
    zone_data: ZoneData,
    database: String,
    #[graphql(skip)]
    examined: Vec<Check>,
    /// None for all namespaces.
    #[graphql(skip)]
    namespace: Option<Uuid>,
}

#[ComplexObject]
impl Health {
    /// What is wrong, the worst first, each with what to do about it; `/healthz` reports the same.
    // The cost of counting per schedule where something is wrong.
    #[graphql(complexity = "200 + DECLARED * child_complexity")]
    async fn findings(&self, cx: &Context<'_>) -> Result<Vec<HealthFinding>> {
        HealthFinding::all(cx, &self.examined, self.namespace).await
    }
}

/// One check and its result.
#[derive(Clone, SimpleObject)]
pub(crate) struct HealthCheck {
    name: String,
    healthy: bool,
    value: String,
    limit: Option<String>,
}

/// The time zone rules in use.
#[derive(Clone, SimpleObject)]
pub(crate) struct ZoneData {
    version: String,
    source: String,
}

/// The namespaces whose health is checked, verified to be visible to the caller.
#[derive(Clone)]
pub(super) struct Watched {
    store: Store,
    pub(super) clock: Clock,
    cluster: Cluster,
    limits: config::Health,
    scope: HealthScope,
}

impl Watched {
    /// Of one namespace or of all, if the caller may see them.
    pub(super) async fn of(cx: &Context<'_>, namespace: Option<String>) -> Result<Self> {
        let limits = cx.data_unchecked::<config::Health>().within(namespace.as_deref(), None);
        let namespace = match namespace {
            Some(name) => Some(namespace_id(cx, &name).await?),
            None => {
                let has = cx.signed_in()?.grants.role_everywhere();
                let needs = Role::Viewer;
                has.ok_or(CommandError::Forbidden { needs, has, everywhere: true })?;
                None
            }
        };
        Ok(Self {
            store: cx.store().clone(),
            clock: cx.commands().clock.clone(),
            cluster: cx.data_unchecked::<Cluster>().clone(),
            limits,
            scope: HealthScope { namespace, tag: None },
        })
    }

    /// None for all namespaces.
    pub(super) fn namespace(&self) -> Option<Uuid> {
        self.scope.namespace
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
            namespace: scope.namespace,
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
    /// The current health of one namespace or of all.
    pub(crate) async fn now(cx: &Context<'_>, namespace: Option<String>) -> Result<Self> {
        Ok(Watched::of(cx, namespace).await?.look().await?)
    }

    /// The names of the checks that fail.
    pub(super) fn failing(&self) -> Vec<&str> {
        let failing = self.checks.iter().filter(|check| !check.healthy);
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
