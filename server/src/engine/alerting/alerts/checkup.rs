//! Checks whether alerts would reach people.
//! It examines the state of each channel and sends nothing.

use std::collections::{BTreeSet, HashMap};

use uuid::Uuid;

use super::channel_config::ChannelConfig;
use crate::{
    store::{
        Store, StoreError,
        alerts::{
            channels,
            sendings::{self, AttemptedMessage},
        },
        namespaces,
    },
    vault::{Vault, VaultError},
};

/// The state of a channel, for health checks.
#[derive(Debug)]
pub struct Checkup {
    /// The name of the channel's namespace.
    pub namespace: String,
    /// The channel's name.
    pub name: String,
    /// Why the available keys cannot decrypt the channel's configuration; `None` if they can.
    pub locked: Option<VaultError>,
    /// How many of the channel's most recent messages failed in a row, up to [`Checkup::MAX`].
    pub failures: usize,
    /// The error of the last failed message.
    pub error: Option<String>,
}

/// Maximum number of channels that are checked.
const CHANNELS: u64 = 5_000;

impl Checkup {
    /// Maximum number of messages that are checked per channel.
    pub const MAX: u32 = 3;

    /// Checks all channels of all namespaces, sorted by name.
    pub async fn of_all(store: &Store, vault: &Vault) -> Result<Vec<Self>, StoreError> {
        let rows = channels::all(store.read(), CHANNELS).await?;
        let ids: BTreeSet<Uuid> = rows.iter().map(|row| row.namespace_id).collect();
        let mut names = HashMap::new();
        for ids in ids.into_iter().collect::<Vec<_>>().chunks(500) {
            let found = namespaces::by_ids(store.read(), ids).await?;
            names.extend(found.into_iter().map(|row| (row.id, row.name)));
        }
        let mut last: HashMap<Uuid, Vec<AttemptedMessage>> = HashMap::new();
        for sending in sendings::last(store, Self::MAX).await? {
            last.entry(sending.channel_id).or_default().push(sending);
        }
        let mut found: Vec<Self> = rows
            .into_iter()
            .map(|row| {
                let locked = ChannelConfig::read(&row, vault).err();
                let tried = last.remove(&row.id).unwrap_or_default();
                let failures = tried.iter().take_while(|sending| sending.failed == 1).count();
                let error = tried.into_iter().next().filter(|_| failures > 0);
                Self {
                    namespace: names.get(&row.namespace_id).cloned().unwrap_or_default(),
                    name: row.name,
                    locked,
                    failures,
                    error: error.and_then(|sending| sending.error),
                }
            })
            .collect();
        found.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok(found)
    }
}
