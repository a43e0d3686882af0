//! Previews which rows a retention round would remove, for users who change a retention setting.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::days;
use crate::{
    engine::EngineError,
    model::Retention,
    store::{
        Store,
        retention::{Figure, Oldest, Policies, ProposedRetention, TableFamily},
    },
};

/// The rows that a round would remove, and those that would remain.
#[derive(Clone, Debug)]
pub struct RemovalPreview {
    /// The retention policies of all namespaces, or of the requested one.
    pub policies: Policies,
    /// Number of rows that would be removed, by table and namespace.
    pub figures: Vec<Figure>,
    /// Number of partitions that would be dropped if no row in them is needed.
    /// Always 0 for a single namespace.
    pub partitions: usize,
    /// The oldest rows that would remain, by table.
    pub oldest: Vec<Oldest>,
}

/// Computes a preview without removing anything. `instead` replaces current settings by proposed
/// ones. With `within`, only that namespace is reported.
pub async fn preview(
    settings: &Retention,
    store: &Store,
    now: DateTime<Utc>,
    instead: Option<ProposedRetention>,
    within: Option<Uuid>,
) -> Result<RemovalPreview, EngineError> {
    let policies = store.retention_policies(settings.days, instead, None).await?;
    let rule = store.retention_rule(policies, settings.days, now.into());
    let mut rule = rule.if_it_were(instead, store);
    let mut partitions = 0;
    if store.dialect().is_postgres() {
        for family in TableFamily::ALL {
            let layout = store.partitions(store.read(), family).await?;
            partitions += days::to_drop(&layout, rule.last()).len();
            rule = rule.keeping(family, days::kept_from(&layout, rule.last()));
        }
    }
    let mut figures = store.old_figures(&rule, within).await?;
    let oldest = store.oldest_kept(&rule, within).await?;
    if within.is_some() {
        let policies = store.retention_policies(settings.days, instead, within).await?;
        return Ok(RemovalPreview { policies, figures, partitions: 0, oldest });
    }
    figures.extend(store.leftover_figures(&rule, settings.answers).await?);
    Ok(RemovalPreview { policies, figures, partitions, oldest })
}
