//! Credentials: tokens for programs, the browsers in which the user is signed in, and the user's password.
//!
//! - `new_token`: a new token, shown once
//! - `sessions`: signed-in browsers, with a button to sign each out
//! - `password`: the user's own password

mod new_token;
mod password;
mod sessions;

use leptos::prelude::*;

use super::{
    cursors,
    kit::{self, Asked, Change, empty, form, name_field, named_with, none, note, use_asked},
    place,
};
use crate::{
    api,
    components::{
        AsyncView, Dialog, Heading, Look, Tab, badge_of, button, heading, live, pager, rows,
        silent_heading, table, when, when_relative,
    },
    data::{Loading, use_listing},
    model::ApiToken,
    route::Route,
    state::{use_address, use_session, use_title},
    time::Moment,
};

const SIZE: usize = 100;
/// In the address, that the tokens of all users are listed.
const ALL: &str = "all";
const TABS: &[Tab] = &[
    Tab { name: "", words: "Tokens" },
    Tab { name: "sessions", words: "Sessions" },
    Tab { name: "password", words: "Password" },
];

/// The page with tokens, sessions and password.
#[component]
pub(crate) fn Tokens() -> impl IntoView {
    use_title(|| "Tokens and sessions".to_owned());
    let address = use_address();
    let tab = Memo::new(move |_| address.query("tab"));
    view! {
        <header class="page-head">
            <h1>"Tokens and sessions"</h1>
        </header>
        {kit::tabs("Tokens and sessions", TABS)}
        {live(move || match tab.get().as_str() {
            "sessions" => view! { <sessions::Sessions/> }.into_any(),
            "password" => view! { <password::Password/> }.into_any(),
            _ => view! { <List/> }.into_any(),
        })}
    }
}

/// The list of tokens.
#[component]
fn List() -> impl IntoView {
    let (address, session) = (use_address(), use_session());
    // Who may not list those of all users sees their own, also by such a link.
    let lists_all = Memo::new(move |_| session.administers_all() && address.query("of") == ALL);
    let all = RwSignal::new(lists_all.get_untracked());
    Effect::new(move |before: Option<()>| {
        let is_all = all.get();
        if before.is_some() && lists_all.get_untracked() != is_all {
            let of = if is_all { ALL } else { "" };
            address.replace(&address.with(&[("of", of), ("after", ""), ("before", "")]));
        }
    });
    // A link, and the browser's way back, change the address alone.
    Effect::new(move |_| {
        let is_all = lists_all.get();
        if all.get_untracked() != is_all {
            all.set(is_all);
        }
    });
    let tokens = use_listing(SIZE, move || {
        let text = Some(named_with(address));
        api::settings::tokens(lists_all.get(), text, place(address), SIZE)
    });
    let loading = tokens.load.loading;
    let new = RwSignal::new(false);
    kit::open_if_asked(new, Route::Tokens, || true);
    let made = RwSignal::new(None::<String>);
    let revoke = use_asked::<ApiToken>();
    let everybody = move || {
        let may = session.administers_all();
        may.then(|| kit::check("all-tokens", "Everyone's tokens", all, ""))
    };
    let nothing = move || {
        if named_with(address).is_empty() {
            empty(
                "No token yet",
                "Programs authenticate with a token: it may do at most what you may, or less if you choose so.",
            )
        } else {
            empty("No token matches", "No name of a token or of its owner contains this text.")
        }
    };
    view! {
        <div class="filter-line">
            {button(Look::Primary, None, "New token", move || new.set(true))}
            {move || everybody()}
        </div>
        {name_field(address, "Which tokens")}
        {kit::shown_once(made, "Your new token", "It is shown only once. Send it as Authorization: Bearer, and keep it where only your program can read it.")}
        <AsyncView
            loading=loading
            what="tokens"
            is_empty=Signal::derive(move || tokens.list.is_empty())
            empty=nothing
        >
            {table("Tokens", "table", headings(), rows(tokens.list, move |row| line(row, revoke)))}
            {pager(tokens.beside(), "tokens", move |to| address.go(&address.with(&cursors(&to))))}
        </AsyncView>
        <Dialog open=new title="New token">{new_token::new_token(new, made, loading)}</Dialog>
        {revoke.dialog("Revoke token", move |row| revoke_form(&row, revoke, loading))}
    }
}

fn headings() -> Vec<Heading> {
    vec![
        heading("Token", ""),
        heading("May", ""),
        heading("State", ""),
        heading("Used", "wide"),
        heading("Created", "wide"),
        silent_heading("Actions"),
    ]
}

fn line(row: &ApiToken, revoke: Asked<ApiToken>) -> AnyView {
    let owner = row.owner.clone().map(|owner| note(format!("of {owner}")));
    let scope = row.namespace.clone().map_or_else(
        || "everywhere its owner may".to_owned(),
        |namespace| format!("in {namespace}"),
    );
    let payloads = row.sees_payloads.then(|| note("sees payloads"));
    let is_over = row.expires_at.is_some_and(|at| at <= Moment::now());
    let state = match (row.revoked_at, row.expires_at) {
        (Some(at), _) => view! { {badge_of("cancelled", "Revoked")}<span class="cell-note">{when(at, None)}</span> }.into_any(),
        (None, Some(at)) if is_over => view! { {badge_of("cancelled", "Expired")}<span class="cell-note">{when(at, None)}</span> }.into_any(),
        (None, Some(at)) => view! { {badge_of("active", "Works")}<span class="cell-note">"until "{when_relative(at, None)}</span> }.into_any(),
        (None, None) => badge_of("active", "Works"),
    };
    let used = row.used_at.map_or_else(none, |at| when_relative(at, None));
    let action = (row.revoked_at.is_none() && !is_over)
        .then(|| button(Look::Danger, None, "Revoke", revoke.ask(row)));
    view! {
        <tr data-testid="token-row">
            <th scope="row" class="name-cell">{row.name.clone()}{owner}</th>
            <td>{row.role.word()}{note(scope)}{payloads}</td>
            <td>{state}</td>
            <td class="wide">{used}</td>
            <td class="wide">{when(row.created_at, None)}{note(row.created_by.clone())}</td>
            <td class="actions-cell"><div class="row-actions">{action}</div></td>
        </tr>
    }
    .into_any()
}

fn revoke_form(row: &ApiToken, revoke: Asked<ApiToken>, loading: Loading) -> AnyView {
    let (id, name) = (row.id.clone(), row.name.clone());
    let last = row.used_at.map_or_else(
        || view! { "It was never used." }.into_any(),
        |at| view! { "It was last used "{when_relative(at, None)}"." }.into_any(),
    );
    let fields = view! {
        <p>"Programs that use "<strong>{name.clone()}</strong>" are refused permanently from now on. "{last}</p>
    };
    let plan = move |_| {
        Ok(Change {
            ask: api::settings::revoke_token(id.clone()),
            said: format!("{name} is revoked."),
        })
    };
    let done = move |_| loading.reload();
    form(revoke.open, (Look::Danger, "Revoke"), RwSignal::new(None), fields.into_any(), plan, done)
}
