//! The deletion of a namespace, and the deleted ones, which can be restored for a week.

use leptos::prelude::*;

use super::super::kit::{Asked, Change, Wrong, form, of};
use crate::{
    api,
    components::{
        AsyncView, Field, Look, button, heading, panel, silent_heading, table, when, when_relative,
    },
    data::{Loading, use_load},
    model::{DeletedNamespace, Failure, Namespace, NamespaceImpact},
    route::Scope,
    state::use_address,
    time::grouped,
};

/// The lists that change when a namespace is created, renamed, deleted or restored.
#[derive(Clone, Copy)]
pub(super) struct Lists {
    pub(super) namespaces: Loading,
    pub(super) deleted: Loading,
    /// What the pickers offer.
    pub(super) names: Loading,
}

impl Lists {
    pub(super) fn reload(self) {
        self.namespaces.reload();
        self.deleted.reload();
        self.names.reload();
    }
}

/// Asks for the name of the namespace and the reason, and says what goes with it.
pub(super) fn delete_form(row: &Namespace, open: RwSignal<bool>, lists: Lists) -> AnyView {
    let wrong: Wrong = RwSignal::new(None);
    let (typed, reason) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let name = row.name.clone();
    let asked = name.clone();
    let impact = use_load(move || Some(api::settings::namespace_impact(asked.clone())));
    let fields = view! {
        <p><strong>{name.clone()}</strong>" and everything in it are hidden from all users, its tokens are refused, and its secrets are not read any more. For 7 days it can be restored here."</p>
        <AsyncView loading=impact.loading what="what is in it">{impact.draw(contents)}</AsyncView>
        {Field::new("delete-name", "Its name, to confirm", typed).first().required().error(of(wrong, "name")).text()}
        {Field::new("delete-reason", "Reason", reason).required().error(of(wrong, "reason")).text()}
    };
    let plan = move |key| {
        confirmed(&name, &typed.get_untracked())?;
        let Some(count) = untrack(|| impact.with(|impact| impact.schedules)) else {
            return Err(Failure::of_field("name", "Wait until it says what is in it."));
        };
        let reason = reason.get_untracked().trim().to_owned();
        let said = format!("{name} is deleted.");
        Ok(Change { ask: api::settings::delete_namespace(name.clone(), reason, count, key), said })
    };
    let (address, gone) = (use_address(), row.name.clone());
    let done = move |_| {
        lists.reload();
        if untrack(|| address.namespace()) == gone {
            address.complete(&Scope::One("default".to_owned()));
        }
    };
    form(open, (Look::Danger, "Delete namespace"), wrong, fields.into_any(), plan, done)
}

/// Fails unless the name was typed.
fn confirmed(name: &str, typed: &str) -> Result<(), Failure> {
    if typed.trim() == name {
        return Ok(());
    }
    Err(Failure::of_field("name", "This is not the name of the namespace."))
}

fn contents(impact: &NamespaceImpact) -> AnyView {
    let lines: Vec<_> = words(impact).into_iter().map(|words| view! { <li>{words}</li> }).collect();
    view! { <ul data-testid="namespace-impact">{lines}</ul> }.into_any()
}

/// What goes with the namespace, one line for each kind.
fn words(impact: &NamespaceImpact) -> Vec<String> {
    let counts = [
        (impact.schedules, "schedule", "schedules"),
        (impact.workflows, "workflow", "workflows"),
        (impact.secrets, "secret", "secrets"),
        (impact.members, "member", "members"),
        (impact.tokens, "token of its own", "tokens of its own"),
        (impact.live_runs, "live run, which finishes", "live runs, which finish"),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let mut lines: Vec<String> = counts
        .map(|(count, one, many)| {
            format!("{} {}", grouped(count), if count == 1 { one } else { many })
        })
        .collect();
    if lines.is_empty() {
        lines.push("Nothing is in it.".to_owned());
    }
    lines
}

/// The deleted namespaces; nothing if there are none.
pub(super) fn list(all: &[DeletedNamespace], restore: Asked<DeletedNamespace>) -> AnyView {
    if all.is_empty() {
        return ().into_any();
    }
    let headings = vec![
        heading("Namespace", ""),
        heading("Deleted", ""),
        heading("By", "wide"),
        heading("Kept until", "wide"),
        silent_heading("Actions"),
    ];
    let row = |row: &DeletedNamespace| {
        // The server restores the namespace of a name that was deleted last. The others follow.
        let is_last =
            all.iter().all(|one| one.name != row.name || one.deleted_at <= row.deleted_at);
        let button = is_last.then(|| button(Look::Plain, None, "Restore", restore.ask(row)));
        view! {
            <tr data-testid="deleted-namespace-row">
                <th scope="row" class="name-cell">{row.name.clone()}</th>
                <td>{when_relative(row.deleted_at, None)}</td>
                <td class="wide">{row.deleted_by.clone()}</td>
                <td class="wide">{when(row.kept_until, None)}</td>
                <td class="actions-cell">{button}</td>
            </tr>
        }
        .into_any()
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let content = table("Deleted namespaces", "table", headings, rows.into_any());
    panel("Deleted", (), content)
}

/// Asks for another name, if that of the namespace is taken.
pub(super) fn restore_form(row: &DeletedNamespace, open: RwSignal<bool>, lists: Lists) -> AnyView {
    let wrong: Wrong = RwSignal::new(None);
    let old = row.name.clone();
    let name = RwSignal::new(old.clone());
    // The server names the field of a malformed name differently from that of a taken one.
    let (taken, malformed) = (of(wrong, "name"), of(wrong, "newName"));
    let error = Signal::derive(move || taken.get().or_else(|| malformed.get()));
    let fields = view! {
        <p>"Everything in it comes back. Its schedules are paused; resume those that should fire."</p>
        {Field::new("restore-namespace", "Name", name).first().required().error(error)
            .hint("Another one, if a namespace has this name by now.").text()}
    };
    let plan = move |key| {
        let typed = name.get_untracked().trim().to_owned();
        let said = format!("{typed} is back.");
        let new = (typed != old).then_some(typed);
        Ok(Change { ask: api::settings::undelete_namespace(old.clone(), new, key), said })
    };
    let done = move |_| lists.reload();
    form(open, (Look::Primary, "Restore"), wrong, fields.into_any(), plan, done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_with_a_namespace_is_said_in_words() {
        let none = NamespaceImpact {
            schedules: 0,
            workflows: 0,
            secrets: 0,
            members: 0,
            tokens: 0,
            live_runs: 0,
        };
        assert_eq!(words(&none), ["Nothing is in it."]);
        let some = NamespaceImpact { schedules: 1_200, secrets: 1, live_runs: 2, ..none };
        let expected = [
            format!("{} schedules", grouped(1_200)),
            "1 secret".to_owned(),
            "2 live runs, which finish".to_owned(),
        ];
        assert_eq!(words(&some), expected);
    }

    #[test]
    fn a_namespace_is_deleted_only_under_its_own_name() {
        assert!(confirmed("billing", " billing ").is_ok());
        assert!(confirmed("billing", "Billing").is_err() && confirmed("billing", "").is_err());
    }
}
