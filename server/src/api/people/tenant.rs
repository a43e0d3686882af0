use async_graphql::{ComplexObject, Context, SimpleObject};
use entity::namespace;
use uuid::Uuid;

use super::quota::NamespaceQuotas;
use crate::{
    api::{context::ContextExt, error::Result, scalar::Instant, viewer::Role},
    commands::CommandError,
    store::namespaces,
};

/// The cost of quotas, for which the schedules and runs of the namespace are counted.
const COUNTED: usize = 20;

/// A tenant: an isolated set of schedules, workflows and runs.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Namespace {
    id: Uuid,
    name: String,
    /// How many days the namespace's settled history is kept; null uses the server's configuration.
    retention_days: Option<i32>,
    created_at: Instant,
    /// Your role in the namespace.
    role: Option<Role>,
    /// Whether its tasks may run programs on the machine of the server that answers.
    runs_programs: bool,
    /// Whether the server that answers has a key for secrets (`secrets.key_file`). Without one it
    /// refuses to set secrets, and to create or change alert channels other than email.
    secrets_available: bool,
}

/// A tenant: an isolated set of schedules, workflows and runs.
#[ComplexObject]
impl Namespace {
    /// The namespace's quotas and their usage.
    #[graphql(complexity = "COUNTED + child_complexity")]
    async fn quotas(&self, cx: &Context<'_>) -> Result<NamespaceQuotas> {
        Ok(cx.commands().used_quotas(self.id, &self.name).await?.into())
    }
}

impl Namespace {
    pub(super) fn of(cx: &Context<'_>, row: namespace::Model) -> Self {
        let grant = cx.who().and_then(|who| who.grants.within(row.id));
        let runs_programs = cx.commands().executor.runs_programs_in(&row.name);
        Self {
            id: row.id,
            name: row.name,
            retention_days: row.retention_days,
            created_at: row.created_at.into(),
            role: grant.map(|grant| grant.role.into()),
            runs_programs,
            secrets_available: cx.commands().has_secrets_key(),
        }
    }
}

/// A namespace after a mutation.
#[derive(SimpleObject)]
pub(crate) struct NamespacePayload {
    namespace: Namespace,
}

impl NamespacePayload {
    pub(super) async fn load(cx: &Context<'_>, id: Uuid) -> Result<Self> {
        let row = namespaces::by_ids(cx.store().read(), &[id]).await?.pop();
        let row = row.ok_or_else(|| CommandError::not_found("namespace", id))?;
        Ok(Self { namespace: Namespace::of(cx, row) })
    }
}
