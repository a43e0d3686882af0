//! The theme and the density of the signed-in user. The server keeps them, so they are the same in every browser.
//!
//! The page begins with the browser's copy, so its look does not change while it loads, and takes the server's values
//! where they differ. A choice is sent at once; one that was made on the sign-in page is sent after signing in. A user
//! who has never chosen keeps the browser's copy, unless it is that of another user.
//!
//! A failure to load or to save is not shown: the choice applies in this browser in any case.

use leptos::{prelude::*, task::spawn_local};

use super::session;
use crate::{
    api,
    model::{Code, Density, Theme},
    state::{Personal, Remembered, Session, use_density, use_remembered, use_theme},
};

/// Where the browser keeps whose theme it has: a user's name, or nothing.
const THEME_OWNER: &str = "carillon.theme-of";
/// Where the browser keeps whose density it has.
const DENSITY_OWNER: &str = "carillon.density-of";

/// Whose copy of each choice the browser has.
#[derive(Clone, Copy)]
struct Owners {
    theme: Remembered,
    density: Remembered,
}

/// Loads the choices whenever a user has signed in, and sends those of the user. The app calls it once.
pub(super) fn follow(session: Session) {
    let (theme, density) = (use_theme(), use_density());
    // In a session that was opened with a one-time password, the settings can be neither read nor changed.
    let user = Memo::new(move |_| {
        let viewer = session.viewer().filter(|viewer| !viewer.must_change_password);
        viewer.map(|viewer| viewer.name)
    });
    let owners =
        Owners { theme: use_remembered(THEME_OWNER), density: use_remembered(DENSITY_OWNER) };
    Effect::new(move |_| {
        // A choice on the sign-in page belongs to no user yet. The other choice stays that of its user.
        if user.with(Option::is_none) {
            if theme.unsent().is_some() {
                owners.theme.set("");
            }
            if density.unsent().is_some() {
                owners.density.set("");
            }
        }
    });
    adopt_kept(session, user, theme, density, owners);
    send_chosen(session, user, theme, density);
}

fn adopt_kept(
    session: Session,
    user: Memo<Option<String>>,
    theme: Personal<Theme>,
    density: Personal<Density>,
    owners: Owners,
) {
    Effect::new(move |before: Option<Option<String>>| {
        let now = user.get();
        if before.flatten().is_some() {
            theme.leave();
            density.leave();
        }
        if let Some(asking) = now.clone() {
            spawn_local(async move {
                let answer = api::settings::appearance().send().await;
                // Another user may have signed in since.
                if user.get_untracked().as_ref() != Some(&asking) {
                    return;
                }
                match answer {
                    Ok(kept) => {
                        let kept_for = |owner: Remembered| {
                            let before = untrack(|| owner.get());
                            let is_of_other = !before.is_empty() && before != asking;
                            owner.set(&asking);
                            if is_of_other { kept.or_usual() } else { kept }
                        };
                        if let Some(kept) = kept_for(owners.theme).theme {
                            theme.adopt(kept);
                        }
                        if let Some(kept) = kept_for(owners.density).density {
                            density.adopt(kept);
                        }
                    }
                    Err(failure) => session::notice(session, &failure),
                }
            });
        }
        now
    });
}

/// Sends one change at a time, so that the last choice is also the last that the server hears of.
fn send_chosen(
    session: Session,
    user: Memo<Option<String>>,
    theme: Personal<Theme>,
    density: Personal<Density>,
) {
    let is_sending = RwSignal::new(false);
    Effect::new(move |_| {
        let (new_theme, new_density) = (theme.unsent(), density.unsent());
        let is_ready = user.with(Option::is_some) && !is_sending.get();
        if !is_ready || (new_theme.is_none() && new_density.is_none()) {
            return;
        }
        is_sending.set(true);
        spawn_local(async move {
            let outcome = api::settings::save_appearance(new_theme, new_density).send().await;
            if let Err(failure) = &outcome {
                session::notice(session, failure);
            }
            // If the session has ended, the choice is sent after the next sign-in. Anything else is not tried again.
            let has_ended =
                matches!(&outcome, Err(failure) if failure.code == Code::Unauthenticated);
            if let Some(theme_sent) = new_theme.filter(|_| !has_ended) {
                theme.sent(theme_sent);
            }
            if let Some(density_sent) = new_density.filter(|_| !has_ended) {
                density.sent(density_sent);
            }
            is_sending.set(false);
        });
    });
}
