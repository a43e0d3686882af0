use std::collections::{HashMap, HashSet};

use entity::Timestamp;
use uuid::Uuid;

use super::rule::ActiveRule;
use crate::store::{Store, StoreError, alerts::standing, reads::search::TimedSearch};

/// The schedules that each rule covers, with their names.
#[derive(Debug, Default)]
pub(super) struct RuleScopes {
    /// The index of each rule's scope; rules with the same search share a scope.
    of: HashMap<Uuid, usize>,
    found: Vec<HashMap<Uuid, String>>,
}

impl RuleScopes {
    /// Finds which of `schedules` (by namespace) each rule covers.
    /// Each distinct search runs only once.
    pub(super) async fn read(
        store: &Store,
        rules: &[ActiveRule],
        schedules: &HashMap<Uuid, HashSet<Uuid>>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let mut scopes = Self::default();
        let mut asked: HashMap<(Uuid, &str), usize> = HashMap::new();
        for active in rules {
            let namespace = active.row.namespace_id;
            let Some(ids) = schedules.get(&namespace) else { continue };
            let key = (namespace, active.rule.search.trim());
            let place = match asked.get(&key) {
                Some(place) => *place,
                None => {
                    let ids: Vec<Uuid> = ids.iter().copied().collect();
                    let sought = active.search.clone().map(|search| TimedSearch {
                        search,
                        at: now,
                        in_errors: false,
                    });
                    let found = standing::sought(store, namespace, &ids, sought).await?;
                    scopes.found.push(found.into_iter().collect());
                    asked.insert(key, scopes.found.len() - 1);
                    scopes.found.len() - 1
                }
            };
            scopes.of.insert(active.row.id, place);
        }
        Ok(scopes)
    }

    /// The name of a schedule; `None` if the rule does not cover it.
    pub(super) fn name(&self, rule: Uuid, schedule: Uuid) -> Option<&str> {
        let place = self.of.get(&rule)?;
        self.found.get(*place)?.get(&schedule).map(String::as_str)
    }

    #[cfg(test)]
    pub(super) fn of_all(rules: &[ActiveRule], schedules: &[(Uuid, &str)]) -> Self {
        let named = schedules.iter().map(|(id, name)| (*id, (*name).to_owned()));
        Self {
            of: rules.iter().map(|active| (active.row.id, 0)).collect(),
            found: vec![named.collect()],
        }
    }
}

/// Groups schedules by namespace.
pub(super) fn by_namespace(
    rows: impl Iterator<Item = (Uuid, Uuid)>,
) -> HashMap<Uuid, HashSet<Uuid>> {
    let mut by: HashMap<Uuid, HashSet<Uuid>> = HashMap::new();
    for (namespace, schedule) in rows {
        by.entry(namespace).or_default().insert(schedule);
    }
    by
}
