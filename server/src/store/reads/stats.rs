//! Sums roll-ups for each step of a chart.

use std::collections::{BTreeMap, HashMap};

use entity::Timestamp;
use sea_orm::{FromQueryResult, Value};
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
    let Within::Some(ids) = within else {
        return hours::steps_in(read, dialect, within, from, until, step_ms).await;
    };
    let mut steps: BTreeMap<i64, Rollup> = BTreeMap::new();
    for id in ids {
        let one = Within::One(*id);
        let found = hours::steps_in(read, dialect, &one, from, until, step_ms).await?;
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
    let count = async |within: &Within| {
        let mut values = vec![from.0.into(), until.0.into()];
        let only = within.compared(&mut values);
        let only = only.map(|only| format!("AND namespace_id {only}")).unwrap_or_default();
        let sql = format!(
            "SELECT {} FROM run_stat WHERE minute >= $1 AND minute < $2 {only}",
            added_up()
        );
        let statement = store.dialect().statement(sql, values);
        let counts = Counts::find_by_statement(statement).one(store.read()).await?;
        Ok::<_, StoreError>(counts.unwrap_or_default())
    };
    let Within::Some(ids) = within else { return count(within).await };
    let mut all = Counts::default();
    for id in ids {
        all.join(&count(&Within::One(*id)).await?);
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

/// The roll-ups of one namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceRollups {
    /// The namespace's name.
    pub name: String,
    /// The roll-up of each step that has events, in order; steps are numbered from 0.
    pub steps: Vec<(i64, Rollup)>,
}

/// The roll-ups of several namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedNamespaces {
    /// The namespaces, the busiest first.
    pub namespaces: Vec<NamespaceRollups>,
    /// Whether there are more namespaces than these.
    pub is_cut: bool,
}

/// The roll-ups of the `most` namespaces in which the most runs ended or fires were lost, in steps
/// of this many milliseconds. A namespace without any is listed if there is room.
pub async fn by_namespace(
    store: &Store,
    within: &Within,
    from: Timestamp,
    until: Timestamp,
    step_ms: i64,
    most: u64,
) -> Result<ComparedNamespaces, StoreError> {
    let (names, is_cut) = busiest(store, within, from, until, most).await?;
    let keys = Within::Some(names.iter().map(|named| named.id).collect());
    let (read, dialect) = (store.read(), store.dialect());
    let mut steps: HashMap<Uuid, Vec<(i64, Rollup)>> = HashMap::new();
    for found in hours::steps_of_each(read, dialect, &keys, from, until, step_ms).await? {
        steps.entry(found.namespace_id).or_default().push((found.step, found.rollup));
    }
    let rollups = |named: NamedKey| NamespaceRollups {
        steps: steps.remove(&named.id).unwrap_or_default(),
        name: named.name,
    };
    Ok(ComparedNamespaces { namespaces: names.into_iter().map(rollups).collect(), is_cut })
}

#[derive(FromQueryResult)]
struct NamedKey {
    id: Uuid,
    name: String,
}

/// The namespaces in which the most runs ended or fires were lost, and whether there are more.
async fn busiest(
    store: &Store,
    within: &Within,
    from: Timestamp,
    until: Timestamp,
    most: u64,
) -> Result<(Vec<NamedKey>, bool), StoreError> {
    let reach = most.saturating_add(1).cast_signed();
    let mut values: Vec<Value> = vec![from.0.into(), until.0.into(), reach.into()];
    let (counted, listed) = match within.compared(&mut values) {
        Some(only) => (format!("AND namespace_id {only}"), format!("AND n.id {only}")),
        None => (String::new(), String::new()),
    };
    let sql = format!(
        "SELECT n.id, n.name FROM namespace n LEFT JOIN (\
           SELECT namespace_id, \
             sum(succeeded + failed + timed_out + cancelled + missed + abandoned) AS events \
           FROM run_stat WHERE minute >= $1 AND minute < $2 {counted} GROUP BY namespace_id\
         ) s ON s.namespace_id = n.id WHERE n.deleted_at IS NULL {listed} \
         ORDER BY coalesce(s.events, 0) DESC, n.name LIMIT $3"
    );
    let statement = store.dialect().statement(sql, values);
    let mut names = NamedKey::find_by_statement(statement).all(store.read()).await?;
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    let is_cut = names.len() > limit;
    names.truncate(limit);
    Ok((names, is_cut))
}
