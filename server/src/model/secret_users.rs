//! Which schedules, workflows and channels of a namespace name which secrets.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;
use uuid::Uuid;

use super::{Definition, Ping};
use crate::{
    store::{
        Store, StoreError,
        alerts::channels,
        secret_users::{self, WorkflowSchedule},
    },
    target::{Http, Target},
};

/// The kind of an object that refers to a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UserKind {
    /// A schedule, in a task of the workflow that it runs or in the address of its watchdog.
    Schedule,
    /// A workflow, in one of its tasks.
    Workflow,
    /// An alert channel, in its address or its key.
    Channel,
}

/// An object that refers to a secret. These are sorted by kind and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretUser {
    /// The kind.
    pub kind: UserKind,
    /// The object's name.
    pub name: String,
    /// The object's key.
    pub id: Uuid,
}

/// The objects of a namespace that refer to secrets.
#[derive(Clone, Debug, Default)]
pub struct SecretUsers {
    /// The users of each secret, by the secret's name.
    pub users: HashMap<String, BTreeSet<SecretUser>>,
    /// Whether the namespace has more workflows, watchdogs or channels than were examined.
    pub is_cut: bool,
}

/// The number of definitions that are read at once, because they may be large.
const PAGE: usize = 200;

impl SecretUsers {
    /// Reads the current definitions of a namespace.
    pub async fn of_namespace(store: &Store, namespace: Uuid) -> Result<Self, StoreError> {
        let mut found =
            Self { users: HashMap::new(), is_cut: secret_users::is_cut(store, namespace).await? };
        found.add_workflows(store, namespace).await?;
        for row in secret_users::pingers(store, namespace).await? {
            let Ok(ping) = serde_json::from_value::<Ping>(row.ping) else { continue };
            let names: BTreeSet<String> =
                ping.addresses().flat_map(|(_, url)| Ping::request(url).secret_names()).collect();
            found.add(names, &SecretUser { kind: UserKind::Schedule, name: row.name, id: row.id });
        }
        for row in channels::list(store.read(), namespace, secret_users::MAX_CHANNELS).await? {
            found.add(
                named_by(&row.shown),
                &SecretUser { kind: UserKind::Channel, name: row.name, id: row.id },
            );
        }
        Ok(found)
    }

    /// Adds the workflows, and the schedules that run them. If only the schedule with its own name
    /// runs a workflow, the workflow is that schedule's task.
    async fn add_workflows(&mut self, store: &Store, namespace: Uuid) -> Result<(), StoreError> {
        let mut naming: BTreeMap<Uuid, (String, BTreeSet<String>)> = BTreeMap::new();
        for page in secret_users::examined(store, namespace).await?.chunks(PAGE) {
            for row in secret_users::mentions(store, page).await? {
                let Ok(definition) = serde_json::from_value::<Definition>(row.definition) else {
                    continue;
                };
                let names: BTreeSet<String> =
                    definition.tasks.iter().flat_map(|task| task.target.secret_names()).collect();
                if !names.is_empty() {
                    naming.insert(row.id, (row.name, names));
                }
            }
        }
        let ids: Vec<Uuid> = naming.keys().copied().collect();
        let mut runners: HashMap<Uuid, Vec<WorkflowSchedule>> = HashMap::new();
        let rows = secret_users::runners(store, &ids).await?;
        self.is_cut |= rows.len() == secret_users::MAX_EXAMINED;
        for row in rows {
            runners.entry(row.workflow_id).or_default().push(row);
        }
        for (id, (name, names)) in naming {
            let runners = runners.remove(&id).unwrap_or_default();
            let is_own = matches!(&*runners, [only] if only.name == name);
            for WorkflowSchedule { id, name, .. } in runners {
                self.add(names.clone(), &SecretUser { kind: UserKind::Schedule, name, id });
            }
            if !is_own {
                self.add(names, &SecretUser { kind: UserKind::Workflow, name, id });
            }
        }
        Ok(())
    }

    fn add(&mut self, names: BTreeSet<String>, user: &SecretUser) {
        for name in names {
            self.users.entry(name).or_default().insert(user.clone());
        }
    }
}

/// The key under which the row of a channel stores the names of its secrets.
pub(crate) const CHANNEL_SECRETS: &str = "secrets";

/// The secrets that a channel refers to, according to its unencrypted part.
fn named_by(kept: &Value) -> BTreeSet<String> {
    let listed = kept[CHANNEL_SECRETS].as_array().into_iter().flatten().filter_map(Value::as_str);
    // A channel that was saved before they were listed still shows most of them.
    let shown = ["url", "signing_secret", "key"].into_iter().filter_map(|part| kept[part].as_str());
    let shown = shown.flat_map(|text| Target::Http(Http::post(text)).secret_names());
    listed.map(str::to_owned).chain(shown).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_channel_uses_the_secrets_that_it_lists_and_shows() {
        let names = |kept: Value| named_by(&kept).into_iter().collect::<Vec<_>>();
        let shown = json!({ "url": "https://h/{{ secrets.a }}", "key": "{{ secrets.b }}" });
        assert_eq!(names(shown), ["a", "b"]);
        let masked = json!({ "url": "https://h/?t=***", "secrets": ["t"] });
        assert_eq!(names(masked), ["t"]);
        assert_eq!(names(json!({ "to": ["ada@example.com"] })), [""; 0]);
    }
}
