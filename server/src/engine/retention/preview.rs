//! What a round would remove: for whoever sets a retention, before it is too late.

use chrono::{DateTime, Utc};

use super::{Retention, days};
use crate::{
    engine::EngineError,
    store::{
        Store,
        retention::{Family, Figure, Instead, Oldest, Policies},
    },
};

/// What a round would remove, and what it would leave.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The retention of all.
    pub policies: Policies,
    /// The rows that would go, by table and namespace.
    pub figures: Vec<Figure>,
    /// How many partitions would be dropped, if nothing in them is needed.
    pub partitions: usize,
    /// The oldest rows that would stay.
    pub oldest: Vec<Oldest>,
}

/// Looks, and removes nothing. What somebody thinks of can be seen `instead` of what is.
pub async fn preview(
    settings: &Retention,
    store: &Store,
    now: DateTime<Utc>,
    instead: Option<Instead>,
) -> Result<Preview, EngineError> {
    let policies = store.retention_policies(settings.days, instead).await?;
    let rule = store.retention_rule(policies, settings.days, now.into());
    let mut rule = rule.if_it_were(instead, store);
    let mut partitions = 0;
    if store.dialect().is_postgres() {
        for family in Family::ALL {
            let layout = store.partitions(store.read(), family).await?;
            partitions += days::to_drop(&layout, rule.last()).len();
            rule = rule.keeping(family, days::kept_from(&layout, rule.last()));
        }
    }
    let mut figures = store.old_figures(&rule).await?;
    figures.extend(store.leftover_figures(&rule, settings.answers).await?);
    let oldest = store.oldest_kept(&rule).await?;
    Ok(Preview { policies, figures, partitions, oldest })
}
