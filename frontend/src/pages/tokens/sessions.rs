//! The browsers in which the user is signed in.

use leptos::prelude::*;

use super::super::kit::{empty, none};
use crate::{
    api,
    components::{
        AsyncView, Look, badge_of, button, heading, silent_heading, table, when, when_relative,
    },
    data::{Loading, use_actor, use_load},
    model::Session,
};

/// The list.
#[component]
pub(super) fn Sessions() -> impl IntoView {
    let sessions = use_load(|| Some(api::settings::sessions(None)));
    let loading = sessions.loading;
    view! {
        <AsyncView
            loading=loading
            what="sessions"
            is_empty=Signal::derive(move || sessions.with(Vec::is_empty).unwrap_or_default())
            empty=|| empty("No session", "You are signed in without one.")
        >
            {sessions.draw(move |sessions| list(sessions, loading))}
        </AsyncView>
    }
}

fn list(sessions: &[Session], loading: Loading) -> AnyView {
    let headings = vec![
        heading("From", ""),
        heading("Began", ""),
        heading("Used", "wide"),
        heading("Ends", "wide"),
        silent_heading("Actions"),
    ];
    let rows: Vec<_> = sessions.iter().map(|session| row(session, loading)).collect();
    table("Sessions", "table", headings, rows.into_any())
}

fn row(session: &Session, loading: Loading) -> AnyView {
    let address = session.address.clone().unwrap_or_else(|| "unknown".to_owned());
    let action = if session.is_current {
        badge_of("active", "This one")
    } else {
        let (actor, id) = (use_actor(), session.id.clone());
        button(Look::Danger, None, "Sign out", move || {
            let said =
                "That browser is signed out. Its open connections end within seconds.".to_owned();
            actor.act(api::settings::revoke_session(id.clone()), said, move |_| loading.reload());
        })
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
