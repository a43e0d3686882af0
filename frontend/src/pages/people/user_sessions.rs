//! The browsers in which a user is signed in, and the dialogs that end one session or all.

use leptos::prelude::*;

use super::super::kit::{Asked, empty, end_session_form, end_sessions_form, use_asked};
use crate::{
    api,
    components::{AsyncView, Look, badge_of, button, when_relative},
    data::use_load,
    model::{Session, User},
};

/// The dialogs about the sessions of a user.
#[derive(Clone, Copy)]
pub(super) struct UserSessions {
    list: Asked<User>,
    one: Asked<Session>,
    all: Asked<User>,
    /// Changes when sessions have ended, so that the open list loads again.
    turn: RwSignal<u32>,
}

pub(super) fn use_user_sessions() -> UserSessions {
    UserSessions { list: use_asked(), one: use_asked(), all: use_asked(), turn: RwSignal::new(0) }
}

impl UserSessions {
    /// Returns a callback that opens the list of a user's sessions.
    pub(super) fn ask(self, user: &User) -> impl Fn() + 'static + use<> {
        self.list.ask(user)
    }

    /// The dialogs, closed until they are opened. Those that end sessions open above the list.
    pub(super) fn dialogs(self) -> AnyView {
        let again = move || {
            let _gone = self.turn.try_update(|turn| *turn = turn.wrapping_add(1));
        };
        view! {
            {self.list.dialog("Sessions", move |user| self.content(&user))}
            {self.one.dialog("Sign out a browser", move |session| {
                end_session_form(&session, self.one.open, again)
            })}
            {self.all.dialog("Sign out everywhere", move |user| {
                end_sessions_form(user.id.clone(), user.name.clone(), self.all.open, again)
            })}
        }
        .into_any()
    }

    fn content(self, user: &User) -> AnyView {
        let id = user.id.clone();
        let sessions = use_load(move || {
            self.turn.track();
            Some(api::settings::sessions(Some(id.clone())))
        });
        let user = user.clone();
        view! {
            <div class="dialog-body">
                <p class="muted">{format!("Where {} is signed in, the latest first.", user.name)}</p>
                <AsyncView
                    loading=sessions.loading
                    what="the sessions"
                    is_empty=Signal::derive(move || sessions.with(Vec::is_empty).unwrap_or_default())
                    empty=|| empty("Not signed in", "No browser has an open session.")
                >
                    {
                        let user = user.clone();
                        sessions.draw(move |sessions| self.drawn(&user, sessions))
                    }
                </AsyncView>
            </div>
        }
        .into_any()
    }

    fn drawn(self, user: &User, sessions: &[Session]) -> AnyView {
        let rows: Vec<_> = sessions.iter().map(|session| self.row(session)).collect();
        let has_others = sessions.iter().any(|session| !session.is_current);
        let all = has_others
            .then(|| button(Look::Danger, None, "Sign out everywhere", self.all.ask(user)));
        view! {
            <ul class="session-list">{rows}</ul>
            <footer class="dialog-foot">{all}</footer>
        }
        .into_any()
    }

    fn row(self, session: &Session) -> AnyView {
        let action = if session.is_current {
            badge_of("active", "This one")
        } else {
            button(Look::Plain, None, "Sign out", self.one.ask(session))
        };
        let began = session.began_at.map(|at| view! { "Signed in "{when_relative(at, None)}". " });
        let used = session.used_at.map(|at| view! { "Last used "{when_relative(at, None)}"." });
        view! {
            <li data-testid="user-session">
                <div>
                    <strong>{session.program()}</strong>{format!(" at {}", session.place())}
                    <span class="cell-note">{began}{used}</span>
                </div>
                {action}
            </li>
        }
        .into_any()
    }
}
