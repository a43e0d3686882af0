//! The browsers in which the user is signed in.

use leptos::prelude::*;

use super::super::kit::{Asked, Change, empty, form, none, use_asked};
use crate::{
    api,
    components::{
        AsyncView, Look, badge_of, button, heading, silent_heading, table, when, when_relative,
    },
    data::{Loading, use_load},
    model::Session,
};

/// The list of sessions.
#[component]
pub(super) fn Sessions() -> impl IntoView {
    let sessions = use_load(|| Some(api::settings::sessions(None)));
    let loading = sessions.loading;
    let end = use_asked::<Session>();
    view! {
        <AsyncView
            loading=loading
            what="sessions"
            is_empty=Signal::derive(move || sessions.with(Vec::is_empty).unwrap_or_default())
            empty=|| empty("No session", "You are signed in without one.")
        >
            {sessions.draw(move |sessions| list(sessions, end))}
        </AsyncView>
        {end.dialog("Sign out a browser", move |session| end_form(&session, end, loading))}
    }
}

fn list(sessions: &[Session], end: Asked<Session>) -> AnyView {
    let headings = vec![
        heading("From", ""),
        heading("Began", ""),
        heading("Used", "wide"),
        heading("Ends", "wide"),
        silent_heading("Actions"),
    ];
    let rows: Vec<_> = sessions.iter().map(|session| row(session, end)).collect();
    table("Sessions", "table", headings, rows.into_any())
}

/// The location of the browser, by its address.
fn place(session: &Session) -> String {
    session.address.clone().unwrap_or_else(|| "unknown".to_owned())
}

fn row(session: &Session, end: Asked<Session>) -> AnyView {
    let address = place(session);
    let action = if session.is_current {
        badge_of("active", "This one")
    } else {
        button(Look::Danger, None, "Sign out", end.ask(session))
    };
    let time = |at: Option<crate::time::Moment>| at.map_or_else(none, |at| when_relative(at, None));
    view! {
        <tr data-testid="session-row">
            <th scope="row">{address}</th>
            <td>{time(session.began_at)}</td>
            <td class="wide">{time(session.used_at)}</td>
            <td class="wide">{when(session.expires_at, None)}</td>
            <td class="actions-cell"><div class="row-actions">{action}</div></td>
        </tr>
    }
    .into_any()
}

fn end_form(session: &Session, end: Asked<Session>, loading: Loading) -> AnyView {
    let (id, place) = (session.id.clone(), place(session));
    let used = session.used_at.map(|at| view! { " It was last used "{when_relative(at, None)}"." });
    let fields = view! {
        <p>"The browser at "<strong>{place}</strong>" is signed out, and its open connections end within seconds."{used}</p>
    };
    let plan = move |_| {
        Ok(Change {
            ask: api::settings::revoke_session(id.clone()),
            said: "That browser is signed out.".to_owned(),
        })
    };
    let done = move |_| loading.reload();
    form(end.open, (Look::Danger, "Sign out"), RwSignal::new(None), fields.into_any(), plan, done)
}
