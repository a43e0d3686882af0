//! The browsers in which the user is signed in.

use leptos::prelude::*;

use super::super::kit::{Asked, empty, end_session_form, end_sessions_form, none, use_asked};
use crate::{
    api,
    components::{
        AsyncView, Look, badge_of, button, heading, silent_heading, table, when, when_relative,
    },
    data::use_load,
    model::{Profile, Session},
};

/// The list of sessions.
#[component]
pub(super) fn Sessions() -> impl IntoView {
    let sessions = use_load(|| Some(api::settings::sessions(None)));
    let loading = sessions.loading;
    let me = use_load(|| Some(api::settings::profile()));
    let (end, all) = (use_asked::<Session>(), use_asked::<Profile>());
    let again = move || loading.reload();
    let has_others = Memo::new(move |_| {
        let others = |sessions: &Vec<Session>| sessions.iter().any(|session| !session.is_current);
        sessions.with(others).unwrap_or_default()
    });
    let everywhere = move || {
        let me = me.get().filter(|_| has_others.get())?;
        let everywhere = button(Look::Danger, None, "Sign out everywhere else", all.ask(&me));
        Some(view! { <div class="filter-line">{everywhere}</div> }.into_any())
    };
    view! {
        {move || everywhere()}
        <AsyncView
            loading=loading
            what="sessions"
            is_empty=Signal::derive(move || sessions.with(Vec::is_empty).unwrap_or_default())
            empty=|| empty("No session", "You are signed in without one.")
        >
            {sessions.draw(move |sessions| list(sessions, end))}
        </AsyncView>
        {end.dialog("Sign out a browser", move |session| end_session_form(&session, end.open, again))}
        {all.dialog("Sign out everywhere else", move |me| {
            end_sessions_form(me.id.clone(), me.name.clone(), all.open, again)
        })}
    }
}

fn list(sessions: &[Session], end: Asked<Session>) -> AnyView {
    let headings = vec![
        heading("From", ""),
        heading("Browser", ""),
        heading("Began", ""),
        heading("Used", "wide"),
        heading("Ends", "wide"),
        silent_heading("Actions"),
    ];
    let rows: Vec<_> = sessions.iter().map(|session| row(session, end)).collect();
    table("Sessions", "table", headings, rows.into_any())
}

fn row(session: &Session, end: Asked<Session>) -> AnyView {
    let action = if session.is_current {
        badge_of("active", "This one")
    } else {
        button(Look::Danger, None, "Sign out", end.ask(session))
    };
    let time = |at: Option<crate::time::Moment>| at.map_or_else(none, |at| when_relative(at, None));
    view! {
        <tr data-testid="session-row">
            <th scope="row">{session.place()}</th>
            <td>{session.program()}</td>
            <td>{time(session.began_at)}</td>
            <td class="wide">{time(session.used_at)}</td>
            <td class="wide">{when(session.expires_at, None)}</td>
            <td class="actions-cell"><div class="row-actions">{action}</div></td>
        </tr>
    }
    .into_any()
}
