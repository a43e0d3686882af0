//! All users, for administrators of the instance.

use leptos::prelude::*;

use super::{
    super::{
        cursors,
        kit::{self, Asked, Change, empty, form, name_field, named_with, none, note, use_asked},
        place,
    },
    invite, user_forms,
    user_sessions::{UserSessions, use_user_sessions},
};
use crate::{
    api,
    components::{
        AsyncView, Dialog, Heading, Look, badge_of, button, heading, pager, rows, silent_heading,
        table, when_relative,
    },
    data::{Loading, use_actor, use_listing},
    model::{RoleGrant, User},
    state::{Said, use_address, use_session},
    time::amount,
};

const SIZE: usize = 100;

/// The dialogs about a user.
#[derive(Clone, Copy)]
struct Dialogs {
    role: Asked<User>,
    password: Asked<User>,
    disable: Asked<User>,
    delete: Asked<User>,
    sessions: UserSessions,
    loading: Loading,
}

/// The list of users.
#[component]
pub(super) fn Users() -> impl IntoView {
    let address = use_address();
    let users = use_listing(SIZE, move || {
        let text = Some(named_with(address));
        api::settings::users(text, place(address), SIZE)
    });
    let loading = users.load.loading;
    let dialogs = Dialogs {
        role: use_asked(),
        password: use_asked(),
        disable: use_asked(),
        delete: use_asked(),
        sessions: use_user_sessions(),
        loading,
    };
    let (new, account) = (RwSignal::new(false), RwSignal::new(false));
    let made = RwSignal::new(None::<String>);
    let nothing = move || {
        if named_with(address).is_empty() {
            empty("No users yet", "Invite a colleague.")
        } else {
            empty("No user matches", "No name contains this text.")
        }
    };
    view! {
        <div class="filter-line">
            {button(Look::Primary, None, "Invite", move || new.set(true))}
            {button(Look::Plain, None, "New service account", move || account.set(true))}
        </div>
        {kit::shown_once(made, "Their one-time password", "It is shown only once: give it to the user, who chooses their own at the next sign-in.")}
        {name_field(address, "Which people")}
        <AsyncView
            loading=loading
            what="people"
            is_empty=Signal::derive(move || users.list.is_empty())
            empty=nothing
        >
            {table("People", "table", headings(), rows(users.list, move |row| line(row, dialogs)))}
            {pager(users.beside(), "people", move |to| address.go(&address.with(&cursors(&to))))}
        </AsyncView>
        <Dialog open=new title="Invite a user">{invite::invite(new, made, loading)}</Dialog>
        <Dialog open=account title="New service account">{invite::account(account, loading)}</Dialog>
        {dialogs.role.dialog("Change role", move |user| user_forms::role(&user, dialogs.role.open, loading))}
        {dialogs.password.dialog("New password", move |user| user_forms::password(&user, dialogs.password.open, made, loading))}
        {dialogs.disable.dialog("Disable", move |user| disable_form(&user, dialogs))}
        {dialogs.delete.dialog("Delete user", move |user| delete_form(&user, dialogs))}
        {dialogs.sessions.dialogs()}
    }
}

fn headings() -> Vec<Heading> {
    vec![
        heading("Name", ""),
        heading("Everywhere", ""),
        heading("In namespaces", "wide"),
        heading("State", "wide"),
        heading("Signed in", "wide"),
        silent_heading("Actions"),
    ]
}

fn line(user: &User, dialogs: Dialogs) -> AnyView {
    let kind = match (&user.issuer, user.is_service_account) {
        (_, true) => Some(note("service account")),
        (Some(issuer), false) => Some(note(format!("by {issuer}"))),
        (None, false) => None,
    };
    let role = user.role.map_or_else(none, |role| role.word().into_any());
    let payloads = user.sees_payloads.then(|| note("sees payloads"));
    let grant = |grant: &RoleGrant| {
        let place = grant.namespace.clone().unwrap_or_else(|| "everywhere".to_owned());
        let sees = if grant.sees_payloads { ", sees payloads" } else { "" };
        view! { <span class="line">{format!("{place}: {}{sees}", grant.role.word())}</span> }
            .into_any()
    };
    let grants: Vec<_> = user.memberships.iter().map(grant).collect();
    let given: Vec<_> = user.given_elsewhere.iter().map(grant).collect();
    let given = (!given.is_empty())
        .then(|| view! { <span class="cell-note">"by their groups"{given}</span> }.into_any());
    let state = match (user.disabled_at, user.must_change_password) {
        (Some(at), _) => view! { {badge_of("cancelled", "Disabled")}<span class="cell-note">{when_relative(at, None)}</span> }.into_any(),
        (None, true) => view! { {badge_of("active", "May sign in")}{note("has not chosen a password yet")} }.into_any(),
        (None, false) => badge_of("active", "May sign in"),
    };
    let seen = user.signed_in_at.map_or_else(none, |at| when_relative(at, None));
    view! {
        <tr data-testid="user-row">
            <th scope="row" class="name-cell">{user.name.clone()}{kind}</th>
            <td>{role}{payloads}</td>
            <td class="wide">{grants}{given}</td>
            <td class="wide">{state}</td>
            <td class="wide">{seen}</td>
            <td class="actions-cell">{actions(user, dialogs)}</td>
        </tr>
    }
    .into_any()
}

fn actions(user: &User, dialogs: Dialogs) -> AnyView {
    // A reset would end the administrator's own session before the new password can be read.
    let is_own = untrack(|| use_session().viewer()).is_some_and(|viewer| viewer.name == user.name);
    let has_password = !user.is_service_account && user.issuer.is_none() && !is_own;
    let password =
        has_password.then(|| button(Look::Plain, None, "Password", dialogs.password.ask(user)));
    let sessions = (!user.is_service_account)
        .then(|| button(Look::Plain, None, "Sessions", dialogs.sessions.ask(user)));
    let turn = if user.disabled_at.is_some() {
        let (actor, id, name) = (use_actor(), user.id.clone(), user.name.clone());
        button(Look::Plain, None, "Enable", move || {
            let ask = api::settings::enable_user(id.clone());
            actor.act(ask, format!("{name} may sign in again."), move |_| dialogs.loading.reload());
        })
    } else {
        button(Look::Plain, None, "Disable", dialogs.disable.ask(user))
    };
    view! {
        <div class="row-actions">
            {button(Look::Plain, None, "Role", dialogs.role.ask(user))}
            {password}
            {sessions}
            {turn}
            {button(Look::Danger, None, "Delete", dialogs.delete.ask(user))}
        </div>
    }
    .into_any()
}

fn disable_form(user: &User, dialogs: Dialogs) -> AnyView {
    let (id, name) = (user.id.clone(), user.name.clone());
    let (actor, disabled) = (use_actor(), (id.clone(), name.clone()));
    let fields = view! {
        <p><strong>{name}</strong>" may no longer sign in: their sessions end within seconds, and their tokens are refused. "
        "Everything they created stays. This can be undone."</p>
    };
    let plan =
        move |_| Ok(Change { ask: api::settings::disable_user(id.clone()), said: String::new() });
    let done = move |_| {
        dialogs.loading.reload();
        let (id, name) = disabled.clone();
        let said = Said::new(format!("{name} is disabled."));
        actor.say(said.undo(move || {
            let ask = api::settings::enable_user(id.clone());
            actor.act(ask, format!("{name} may sign in again."), move |_| dialogs.loading.reload());
        }));
    };
    form(
        dialogs.disable.open,
        (Look::Danger, "Disable"),
        RwSignal::new(None),
        fields.into_any(),
        plan,
        done,
    )
}

fn delete_form(user: &User, dialogs: Dialogs) -> AnyView {
    let (id, name) = (user.id.clone(), user.name.clone());
    let memberships = amount(user.memberships.len() as i64, "membership", "memberships");
    let fields = view! {
        <p>"Removes "<strong>{name.clone()}</strong>{format!(" permanently, with {memberships} and all sessions, tokens and feeds. ")}
        "What they did stays in the audit log. To keep them out for a while, disable them instead."</p>
    };
    let plan = move |_| {
        Ok(Change {
            ask: api::settings::delete_user(id.clone()),
            said: format!("{name} is deleted."),
        })
    };
    let done = move |_| dialogs.loading.reload();
    form(
        dialogs.delete.open,
        (Look::Danger, "Delete"),
        RwSignal::new(None),
        fields.into_any(),
        plan,
        done,
    )
}
