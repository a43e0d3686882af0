//! The members of a namespace, for its administrators.

use leptos::prelude::*;

use super::super::{
    cursors,
    kit::{self, Asked, Change, check, empty, form, name_field, named_with, note, of, use_asked},
    place, suggest,
};
use crate::{
    api,
    components::{
        AsyncView, Dialog, Field, Heading, Look, button, heading, live, pager, rows,
        silent_heading, table, when,
    },
    data::{Loading, use_listing},
    model::{Failure, Membership, Role},
    state::{use_address, use_session},
};

const SIZE: usize = 100;

const CHOICES: &[(&str, &str)] = &[
    ("Viewer", "look (Viewer)"),
    ("Operator", "operate (Operator)"),
    ("Editor", "edit (Editor)"),
    ("Admin", "administer it (Admin)"),
];

/// The list of members.
#[component]
pub(super) fn Members() -> impl IntoView {
    let (namespace, session) = (kit::use_picked(), use_session());
    let may = Memo::new(move |_| session.administers_in(&namespace.get()));
    let shown = live(move || {
        // Read before `may`: if `may` is read first and does not change, reactive_graph does not notice that the
        // namespace did.
        let shown = namespace.get();
        if may.get() {
            return list(shown);
        }
        view! {
            <div class="empty">{empty("Administrators of the namespace see its members", "They decide who may do what in it.")}</div>
        }
        .into_any()
    });
    view! { {kit::picker("Members of", namespace)}{shown} }
}

/// The members of one namespace. For another namespace it is rebuilt, so that no row of this one stays and is changed
/// there.
fn list(namespace: String) -> AnyView {
    let address = use_address();
    let asked = namespace.clone();
    let members = use_listing(SIZE, move || {
        let text = Some(named_with(address));
        api::settings::memberships(asked.clone(), text, place(address), SIZE)
    });
    let loading = members.load.loading;
    let new = RwSignal::new(false);
    let (change, remove) = (use_asked::<Membership>(), use_asked::<Membership>());
    let (named, changed) = (namespace.clone(), namespace.clone());
    let nothing = move || {
        if named_with(address).is_empty() {
            empty(
                "No member",
                "Users with a role everywhere need no membership. Others work only where they are members.",
            )
        } else {
            empty("No member matches", "No name contains this text.")
        }
    };
    view! {
        <div class="filter-line">
            {button(Look::Primary, None, "Add member", move || new.set(true))}
            <p class="muted">"Of the namespace "<strong>{named}</strong></p>
        </div>
        {name_field(address, "Which members")}
        <AsyncView
            loading=loading
            what="members"
            is_empty=Signal::derive(move || members.list.is_empty())
            empty=nothing
        >
            {table("Members", "table", headings(), rows(members.list, move |row| line(row, change, remove)))}
            {pager(members.beside(), "members", move |to| address.go(&address.with(&cursors(&to))))}
        </AsyncView>
        <Dialog open=new title="Add member">{set_form(None, new, &namespace, loading)}</Dialog>
        {change.dialog("Change member", move |row| set_form(Some(&row), change.open, &changed, loading))}
        {remove.dialog("Remove member", move |row| remove_form(&row, remove, loading))}
    }
    .into_any()
}

fn headings() -> Vec<Heading> {
    vec![
        heading("Name", ""),
        heading("May", ""),
        heading("Since", "wide"),
        silent_heading("Actions"),
    ]
}

fn line(row: &Membership, change: Asked<Membership>, remove: Asked<Membership>) -> AnyView {
    let payloads = row.sees_payloads.then(|| note("sees payloads"));
    view! {
        <tr data-testid="member-row">
            <th scope="row" class="name-cell">{row.user.clone()}</th>
            <td>{row.role.word()}{payloads}</td>
            <td class="wide">{when(row.created_at, None)}</td>
            <td class="actions-cell"><div class="row-actions">
                {button(Look::Plain, None, "Change", change.ask(row))}
                {button(Look::Danger, None, "Remove", remove.ask(row))}
            </div></td>
        </tr>
    }
    .into_any()
}

fn set_form(
    known: Option<&Membership>,
    open: RwSignal<bool>,
    namespace: &str,
    loading: Loading,
) -> AnyView {
    let namespace = namespace.to_owned();
    let name = RwSignal::new(known.map(|row| row.user.clone()).unwrap_or_default());
    let role = RwSignal::new(known.map_or(Role::Viewer, |row| row.role).word().to_owned());
    let payloads = RwSignal::new(known.is_some_and(|row| row.sees_payloads));
    let wrong = RwSignal::new(None);
    let who = match known {
        Some(row) => {
            view! { <p>"What "<strong>{row.user.clone()}</strong>" may do here."</p> }.into_any()
        }
        None => Field::new("member-name", "Name", name)
            .first()
            .required()
            .picks(suggest::users())
            .error(of(wrong, "user"))
            .hint("The name of an existing user.")
            .text(),
    };
    let fields = view! {
        {who}
        {Field::new("member-role", "May", role).error(of(wrong, "role")).choice(CHOICES)}
        {check("member-payloads", "Sees payloads", payloads, "Contexts, outputs, errors and logs. Editors see them in any case.")}
    };
    let action = if known.is_some() { "Change member" } else { "Add member" };
    let plan = move |_| {
        let user = name.get_untracked().trim().to_owned();
        let unknown = || Failure::of_field("role", "Choose their role.");
        let role = Role::of_word(&role.get_untracked()).ok_or_else(unknown)?;
        let said = format!("{user} is a member.");
        let ask =
            api::settings::set_membership(user, namespace.clone(), role, payloads.get_untracked());
        Ok(Change { ask, said })
    };
    let done = move |_| loading.reload();
    form(open, (Look::Primary, action), wrong, fields.into_any(), plan, done)
}

fn remove_form(row: &Membership, remove: Asked<Membership>, loading: Loading) -> AnyView {
    let (user, namespace) = (row.user.clone(), row.namespace.clone());
    let fields = view! {
        <p><strong>{user.clone()}</strong>" keeps only a role everywhere: without one, the namespace no longer exists for them."</p>
    };
    let plan = move |_| {
        let ask = api::settings::remove_membership(user.clone(), namespace.clone());
        Ok(Change { ask, said: format!("{user} is no longer a member.") })
    };
    let done = move |_| loading.reload();
    form(remove.open, (Look::Danger, "Remove"), RwSignal::new(None), fields.into_any(), plan, done)
}
