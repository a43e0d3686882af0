use async_graphql::{Context, ID, InputObject, Object};
use entity::concurrency_group;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::{GroupLoad, GroupRow, NamespaceName},
    scalar::{Instant, Long},
};
use crate::store::groups::GroupUsage;

/// A limit on the number of concurrent runs, shared by the schedules that refer to it.
pub(crate) struct ConcurrencyGroup(pub(crate) concurrency_group::Model);

/// A limit on the number of concurrent runs, shared by the schedules that refer to it.
#[Object]
impl ConcurrencyGroup {
    pub(crate) async fn id(&self) -> ID {
        self.0.id.into()
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// Maximum number of the group's runs in progress at once.
    async fn max_runs(&self) -> i32 {
        self.0.max_runs
    }

    /// The number of the current version, from 1.
    async fn version(&self) -> i32 {
        self.0.version
    }

    /// The module file that declares the group, if one does.
    async fn module(&self) -> Option<&str> {
        self.0.module.as_deref()
    }

    /// The number of the group's runs in progress.
    async fn running(&self, cx: &Context<'_>) -> Result<i64> {
        Ok(self.load(cx).await?.running)
    }

    /// The number of the group's runs that wait: for room in the group, for a node, or for their
    /// next attempt.
    async fn waiting(&self, cx: &Context<'_>) -> Result<Long> {
        Ok(self.load(cx).await?.waiting.into())
    }

    /// How many schedules refer to the group.
    async fn schedules(&self, cx: &Context<'_>) -> Result<i64> {
        Ok(self.load(cx).await?.schedules)
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    async fn updated_at(&self) -> Instant {
        self.0.updated_at.into()
    }
}

impl ConcurrencyGroup {
    async fn load(&self, cx: &Context<'_>) -> Result<GroupUsage> {
        Ok(cx.rows().load_one(GroupLoad(self.0.id)).await?.unwrap_or_default())
    }
}

/// The name of the group with this id.
pub(super) async fn group_name(cx: &Context<'_>, id: Option<Uuid>) -> Result<Option<String>> {
    let Some(id) = id else { return Ok(None) };
    Ok(cx.rows().load_one(GroupRow(id)).await?.map(|group| group.name))
}

/// A concurrency group to create.
#[derive(InputObject)]
pub(crate) struct CreateConcurrencyGroupInput {
    /// The namespace's name.
    #[graphql(default = "default")]
    pub(super) namespace: String,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    pub(super) name: String,
    /// The limit of concurrent runs, 1 to 10000.
    pub(super) max_runs: i64,
}

/// Absent fields keep their current values.
#[derive(InputObject)]
pub(crate) struct UpdateConcurrencyGroupInput {
    /// The concurrency group's id.
    pub(super) id: Uuid,
    /// The version that the change is based on; fails with CONFLICT if the database has a newer
    /// one.
    pub(super) expected_version: i32,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    pub(super) name: Option<String>,
    /// The limit of concurrent runs, 1 to 10000. Runs over a lowered limit continue.
    pub(super) max_runs: Option<i64>,
}
