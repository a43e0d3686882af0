//! Sums roll-ups for each step of a chart.

use std::collections::BTreeMap;

use entity::Timestamp;
use sea_orm::FromQueryResult;
use uuid::Uuid;

use super::within::Within;
use crate::store::{
    Store, StoreError,
    ledger::{
        counts::{Counts, Rollup, added_up},
        hours,
    },
};

/// The roll-ups of the minutes from `from` up to `until`, in steps of this many milliseconds,
/// numbered from 0. Steps without events are left out.
pub async fn steps(
    store: &Store,
    within: &Within,
    from: Timestamp,
    until: Timestamp,
    step_ms: i64,
) -> Result<Vec<(i64, Rollup)>, StoreError> {
    let (read, dialect) = (store.read(), store.dialect());
    let namespaces = match within {
        Within::All => return hours::steps_in(read, dialect, None, from, until, step_ms).await,
        Within::One(id) => std::slice::from_ref(id),
        Within::Some(ids) => ids.as_slice(),
    };
    let mut steps: BTreeMap<i64, Rollup> = BTreeMap::new();
    for namespace in namespaces {
        let namespace = Some(*namespace);
        let found = hours::steps_in(read, dialect, namespace, from, until, step_ms).await?;
        for (step, more) in found {
            steps.entry(step).or_default().join(&more);
        }
    }
    Ok(steps.into_iter().collect())
}

/// The totals of the minutes from `from` up to `until`, without distributions.
pub async fn counts(
    store: &Store,
    within: &Within,
    from: Timestamp,
    until: Timestamp,
) -> Result<Counts, StoreError> {
    let count = async |condition: &str, namespace: Option<Uuid>| {
        let sql = format!(
            "SELECT {} FROM run_stat WHERE minute >= $1 AND minute < $2 {condition}",
            added_up()
        );
        let mut values = vec![from.0.into(), until.0.into()];
        values.extend(namespace.map(Into::into));
        let statement = store.dialect().statement(sql, values);
        let counts = Counts::find_by_statement(statement).one(store.read()).await?;
        Ok::<_, StoreError>(counts.unwrap_or_default())
    };
    let namespaces = match within {
        Within::All => return count("", None).await,
        Within::One(id) => std::slice::from_ref(id),
        Within::Some(ids) => ids.as_slice(),
    };
    let mut all = Counts::default();
    for namespace in namespaces {
        all.join(&count("AND namespace_id = $3", Some(*namespace)).await?);
    }
    Ok(all)
}

/// The roll-up of all minutes from `from` up to `until`.
pub async fn sum(
    store: &Store,
    within: &Within,
    from: Timestamp,
    until: Timestamp,
) -> Result<Rollup, StoreError> {
    let whole = until.0.saturating_sub(from.0);
    let mut steps = steps(store, within, from, until, whole).await?;
    Ok(steps.pop().map(|(_, rollup)| rollup).unwrap_or_default())
}
