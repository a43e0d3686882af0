//! Checks that nodes that were declared dead were dead.

use std::collections::HashMap;

use carillon::{engine::EngineSettings, store::Store};
use chrono::{DateTime, TimeDelta, Utc};
use entity::node;
use sea_orm::EntityTrait;
use uuid::Uuid;

/// When each node last sent a heartbeat, by a clock that is never stepped.
#[derive(Default)]
pub(crate) struct Lives {
    beats: HashMap<Uuid, DateTime<Utc>>,
}

impl Lives {
    /// Records a heartbeat.
    pub(crate) fn beats(&mut self, node: Uuid, now: DateTime<Utc>) {
        self.beats.insert(node, now);
    }

    /// A life ends when another life with the node's name begins, or after too long a silence. The
    /// silence is measured by the database's clock, or by another node's observation, which does
    /// not depend on that clock.
    pub(crate) async fn ends(
        &self,
        store: &Store,
        id: Uuid,
        now: DateTime<Utc>,
    ) -> Result<(), String> {
        let nodes = node::Entity::find().all(store.read()).await.unwrap();
        let node = nodes.iter().find(|node| node.id == id).ok_or("a row of a node is gone")?;
        let ended = node.ended_at.ok_or_else(|| format!("nobody knows since when: {node:?}"))?;
        let is_next = |other: &&node::Model| {
            other.name == node.name
                && other.incarnation > node.incarnation
                && other.started_at == ended
        };
        let silence = TimeDelta::from_std(EngineSettings::default().heartbeat_expiry).unwrap();
        let in_truth = now - self.beats.get(&id).ok_or("it never lived")?;
        let on_the_databases_clock = ended.utc() - node.heartbeat_at.utc();
        if nodes.iter().any(|other| is_next(&other))
            || in_truth > silence
            || on_the_databases_clock > silence
        {
            return Ok(());
        }
        Err(format!("it was declared dead after {}: {node:?}", in_truth))
    }
}
