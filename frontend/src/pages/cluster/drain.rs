//! Draining and undraining a node. The dialog explains the effect beforehand.

use leptos::prelude::*;

use super::members::SHARDS;
use crate::{
    api,
    components::{Field, Look, button},
    data::Loading,
    model::{Member, NodeState},
    pages::kit::{Asked, Change, form, of, use_asked},
    state::{Session, use_session},
};

/// A node, and the effect of the change on it and on the other nodes.
#[derive(Clone)]
struct Subject {
    id: String,
    name: String,
    effect: Vec<String>,
}

/// The actions on nodes, for administrators of the instance.
#[derive(Clone, Copy)]
pub(super) struct Drains {
    session: Session,
    nodes: Loading,
    drain: Asked<Subject>,
    undrain: Asked<Subject>,
}

pub(super) fn use_drains(nodes: Loading) -> Drains {
    Drains { session: use_session(), nodes, drain: use_asked(), undrain: use_asked() }
}

impl Drains {
    /// The button of a node. A node that is already leaving has none.
    pub(super) fn button(self, node: &Member, all: &[Member]) -> AnyView {
        if !self.session.administers_all() {
            return ().into_any();
        }
        let subject = |effect| Subject { id: node.id.clone(), name: node.name.clone(), effect };
        match node.state {
            NodeState::Alive => {
                let ask = self.drain.ask(&subject(drained(node, all)));
                button(Look::Plain, None, "Drain", ask)
            }
            NodeState::Drained => {
                let ask = self.undrain.ask(&subject(undrained(node)));
                button(Look::Plain, None, "Undrain", ask)
            }
            NodeState::Draining | NodeState::Left | NodeState::Dead => ().into_any(),
        }
    }

    /// The dialogs, closed until a button opens one.
    pub(super) fn dialogs(self) -> AnyView {
        let drain = self.drain.dialog("Drain the node", move |node| self.drain_form(&node));
        let undrain = self.undrain.dialog("Undrain the node", move |node| self.undrain_form(&node));
        view! { {drain}{undrain} }.into_any()
    }

    fn drain_form(self, node: &Subject) -> AnyView {
        let (reason, wrong) = (RwSignal::new(String::new()), RwSignal::new(None));
        let fields = view! {
            {told(node)}
            {Field::new("drain-reason", "Reason", reason).first().required().error(of(wrong, "reason"))
                .hint("Shown beside the node, and kept in the audit log.").text()}
        };
        let Subject { id, name, .. } = node.clone();
        let plan = move |key| {
            let reason = reason.get_untracked().trim().to_owned();
            let ask = api::cluster::drain_node(id.clone(), reason, key);
            Ok(Change { ask, said: format!("{name} takes on nothing more.") })
        };
        let (nodes, look) = (self.nodes, (Look::Danger, "Drain"));
        form(self.drain.open, look, wrong, fields.into_any(), plan, move |_| nodes.reload())
    }

    fn undrain_form(self, node: &Subject) -> AnyView {
        let (reason, wrong) = (RwSignal::new(String::new()), RwSignal::new(None));
        let fields = view! {
            {told(node)}
            {Field::new("undrain-reason", "Reason (optional)", reason).first()
                .error(of(wrong, "reason")).text()}
        };
        let Subject { id, name, .. } = node.clone();
        let plan = move |key| {
            let reason = Some(reason.get_untracked().trim().to_owned());
            let reason = reason.filter(|reason| !reason.is_empty());
            let ask = api::cluster::undrain_node(id.clone(), reason, key);
            Ok(Change { ask, said: format!("{name} is in service again.") })
        };
        let (nodes, look) = (self.nodes, (Look::Primary, "Undrain"));
        form(self.undrain.open, look, wrong, fields.into_any(), plan, move |_| nodes.reload())
    }
}

fn told(node: &Subject) -> AnyView {
    let line = |words: &String| view! { <li>{words.clone()}</li> }.into_any();
    let lines: Vec<_> = node.effect.iter().map(line).collect();
    view! {
        <p><strong>{node.name.clone()}</strong></p>
        <ul aria-label="What happens">{lines}</ul>
    }
    .into_any()
}

fn has(node: &Member, role: &str) -> bool {
    node.roles.iter().any(|known| known == role)
}

/// The effect of draining a node, one sentence each.
fn drained(node: &Member, all: &[Member]) -> Vec<String> {
    let others = |role: &str| {
        let is_other = |other: &&Member| {
            other.id != node.id && other.state == NodeState::Alive && has(other, role)
        };
        all.iter().filter(is_other).count()
    };
    let mut effect = vec![
        "From its next heartbeat on it claims no fires and takes no runs. It stays a member; a restart of it ends the drain."
            .to_owned(),
    ];
    if node.runs > 0 {
        effect.push(format!("What it works on ({}) continues here until it ends.", node.runs));
    }
    if has(node, "scheduler") {
        effect.push(match others("scheduler") {
            0 => "No other node schedules: nothing fires until one does.".to_owned(),
            count => format!(
                "Its {} of {SHARDS} shards go to the other schedulers ({count}).",
                node.first_shards
            ),
        });
    }
    if has(node, "worker") {
        effect.push(match others("worker") {
            0 => "No other node takes runs: they wait until one does.".to_owned(),
            count => format!("Other nodes ({count}) take the runs."),
        });
    }
    effect
}

/// The effect of undraining a node, one sentence each.
fn undrained(node: &Member) -> Vec<String> {
    let shares = "From its next heartbeat on it claims fires and takes runs again.".to_owned();
    let drain = node.drain.as_ref();
    let why = drain.map(|drain| format!("{} drained it: {}", drain.by, drain.reason));
    std::iter::once(shares).chain(why).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pages::cluster::problems::tests::member;

    #[test]
    fn draining_the_only_node_is_said_to_stop_everything() {
        let node = member(&json!({ "roles": ["scheduler", "worker"], "runs": 3 }));
        let gone = member(&json!({ "id": "b2", "roles": ["scheduler"], "state": "DEAD" }));
        let effect = drained(&node, &[node.clone(), gone]).join(" ");
        assert!(effect.contains("What it works on (3) continues"), "{effect}");
        assert!(effect.contains("nothing fires"), "{effect}");
        assert!(effect.contains("No other node takes runs"), "{effect}");
    }

    #[test]
    fn its_shards_go_to_the_others() {
        let node = member(&json!({ "roles": ["scheduler"], "firstShards": 128 }));
        let other = member(&json!({ "id": "b2", "roles": ["scheduler", "worker"] }));
        let effect = drained(&node, &[node.clone(), other]);
        assert_eq!(effect.len(), 2, "{effect:#?}");
        assert_eq!(effect[1], "Its 128 of 256 shards go to the other schedulers (1).");
    }

    #[test]
    fn who_undrains_reads_why_it_was_drained() {
        let drain = json!({ "by": "ada", "at": "2026-03-01T12:00:00Z", "reason": "new disks" });
        let node = member(&json!({ "state": "DRAINED", "drain": drain }));
        assert_eq!(undrained(&node)[1], "ada drained it: new disks");
    }
}
