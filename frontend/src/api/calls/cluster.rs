//! The nodes of the cluster, and the shards that they claim.

use crate::{
    api::{
        Ask,
        operations::{self, DrainNode, Shards, UndrainNode},
    },
    model::Shard,
};

pub(crate) fn shards() -> Ask<Vec<Shard>> {
    Ask::new::<Shards>(operations::shards::Variables)
}

/// Drains a node; returns its id.
pub(crate) fn drain_node(id: String, reason: String, key: String) -> Ask<String> {
    let key = Some(key);
    Ask::new::<DrainNode>(operations::drain_node::Variables { id, reason, key })
}

/// Undrains a node; returns its id.
pub(crate) fn undrain_node(id: String, reason: Option<String>, key: String) -> Ask<String> {
    let key = Some(key);
    Ask::new::<UndrainNode>(operations::undrain_node::Variables { id, reason, key })
}
