//! Queries about the viewer and the health of the cluster.

use async_graphql::{Context, Object};

use super::names::{ROOT, namespace_id, usual, within};
use crate::api::{
    broker::BrokerStatus,
    context::ContextExt,
    error::Result,
    health::Health,
    node::{NODES, Node, Shard},
    overview::Overview,
    page::{bounded, cost},
    retention::{NamespaceRetention, RetentionPreview, RetentionThought},
    viewer::Viewer,
    zone_names::ZoneNames,
};

/// The cost of counting the rows that would be removed, in addition to the answer, so that a
/// request may contain only a few.
const COUNTED: usize = 10_000;

/// The cost of the list of time zones: its length.
const ZONES: usize = 600;

/// The cost factor of the list of shards: its length.
const SHARDS: usize = 256;

/// Queries about the viewer and the health of the cluster.
#[derive(Default)]
pub(crate) struct ReadingFleet;

/// Queries about the viewer and the health of the cluster.
#[Object]
impl ReadingFleet {
    /// The caller; null without a session or token. All other fields require one, and fail with
    /// PASSWORD_CHANGE_REQUIRED in a session that was opened with a one-time password.
    async fn me(&self, cx: &Context<'_>) -> Option<Viewer> {
        cx.who().map(Into::into)
    }

    /// The IANA time zones that a schedule may use.
    #[graphql(complexity = "ROOT + ZONES")]
    async fn timezones(&self, cx: &Context<'_>) -> Result<ZoneNames> {
        cx.viewer()?;
        Ok(ZoneNames)
    }

    /// The server processes that are alive, or ended within the last day, by name; at most 1000.
    #[graphql(complexity = "ROOT + NODES * child_complexity")]
    async fn server_nodes(&self, cx: &Context<'_>) -> Result<Vec<Node>> {
        cx.viewer()?;
        Node::all(cx).await
    }

    /// The brokers to which the node that answers has published events within the last ten minutes,
    /// those first that it cannot reach. Other nodes have connections of their own. For callers with
    /// a role in every namespace, because tasks of all namespaces share the connections. A server of
    /// SQS queues counts as connected if the last request reached it.
    #[graphql(complexity = "ROOT + cost(Some(first), None, child_complexity)")]
    async fn brokers(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 50, desc = "The number of entries, 1 to 200.")] first: i32,
    ) -> Result<Vec<BrokerStatus>> {
        cx.signed_in()?.sees_everything()?;
        let most = usize::try_from(bounded("first", first)?).unwrap_or_default();
        Ok(BrokerStatus::all(cx, most))
    }

    /// The 256 shards that schedules are divided into, and the nodes that claim due schedules in
    /// them.
    #[graphql(complexity = "ROOT + SHARDS * child_complexity")]
    async fn shards(&self, cx: &Context<'_>) -> Result<Vec<Shard>> {
        cx.viewer()?;
        Shard::all(cx).await
    }

    /// The health of one namespace, or of all that the caller may see.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn health(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "If absent, all namespaces that you may see.")] namespace: Option<String>,
    ) -> Result<Health> {
        cx.viewer()?;
        Health::now(cx, namespace).await
    }

    /// How long a namespace keeps settled history, and its schedules with a retention of their own.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn retention(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
    ) -> Result<NamespaceRetention> {
        cx.viewer()?;
        NamespaceRetention::of(cx, namespace_id(cx, &namespace).await?).await
    }

    /// What the next retention round would remove; with `if`, what it would remove after that
    /// change. Covers `namespace`, or all namespaces if absent. For administrators of single
    /// namespaces it always covers one: `namespace`, or else that of `if`. It counts rows, so query
    /// it rarely.
    #[graphql(complexity = "COUNTED + child_complexity")]
    async fn retention_preview(
        &self,
        cx: &Context<'_>,
        #[graphql(
            desc = "If absent, all namespaces; for administrators of single namespaces, the \
                    namespace of `if`."
        )]
        namespace: Option<String>,
        #[graphql(name = "if", desc = "A change of one retention; if absent, nothing changes.")]
        thought: Option<RetentionThought>,
    ) -> Result<RetentionPreview> {
        let right = cx.admin()?;
        let (within, thought) = (namespace.as_deref(), thought.map(Into::into));
        let preview = cx.commands().retention_preview(&right, within, thought.as_ref()).await?;
        Ok(RetentionPreview(preview))
    }

    /// A summary of one namespace, or of all that the caller may see.
    #[graphql(complexity = "ROOT + child_complexity")]
    async fn overview(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
    ) -> Result<Overview> {
        cx.viewer()?;
        Overview::now(cx, within(cx, namespace.as_deref()).await?).await
    }
}
