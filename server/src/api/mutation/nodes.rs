//! Draining and undraining nodes.

use async_graphql::{Context, Object, SimpleObject};
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{context::ContextExt, error::Result, node::Node},
    commands::Call,
};

/// Mutations of nodes.
#[derive(Default)]
pub(crate) struct OrderingNodes;

/// Mutations of nodes.
#[Object]
impl OrderingNodes {
    /// Drains a node: from its next heartbeat on, it claims no fires and takes no runs. Work that
    /// it already holds continues, and it remains a member. A restart ends the drain. For
    /// administrators of the instance.
    async fn drain_node(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The node's id.")] id: Uuid,
        #[graphql(desc = "Reason for the audit log: 1 to 500 characters.")] reason: String,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<ServerNodePayload> {
        let right = cx.owner()?;
        let call = Call::new("drainNode", &json!([id, reason]).to_string(), idempotency_key)?;
        let id = cx.commands().drain_node(&right, id, &reason, &call).await?;
        Ok(ServerNodePayload { node: Node::one(cx, id).await? })
    }

    /// Puts a drained node back into service. For administrators of the instance.
    async fn undrain_node(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The node's id.")] id: Uuid,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<ServerNodePayload> {
        let right = cx.owner()?;
        let call = Call::new("undrainNode", &json!([id, reason]).to_string(), idempotency_key)?;
        let id = cx.commands().undrain_node(&right, id, reason.as_deref(), &call).await?;
        Ok(ServerNodePayload { node: Node::one(cx, id).await? })
    }
}

/// A node after a mutation.
#[derive(SimpleObject)]
pub(crate) struct ServerNodePayload {
    node: Node,
}
