//! The user's own password.

use leptos::{ev::SubmitEvent, prelude::*};

use super::super::kit::{check, general_error, of};
use crate::{api, components::Field, data::use_actor, model::Failure};

/// The form that changes the user's own password.
#[component]
pub(super) fn Password() -> impl IntoView {
    let text = || RwSignal::new(String::new());
    let (old, new, again) = (text(), text(), text());
    let revoke = RwSignal::new(false);
    let wrong = RwSignal::new(None::<Failure>);
    let busy = RwSignal::new(false);
    let actor = use_actor();
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        if new.get_untracked() != again.get_untracked() {
            let other = Failure::of_field("again", "It differs from the new password.");
            return wrong.set(Some(other));
        }
        wrong.set(None);
        busy.set(true);
        let ask = api::settings::change_password(
            old.get_untracked(),
            new.get_untracked(),
            revoke.get_untracked(),
        );
        actor.send(ask, move |outcome| {
            let _gone = busy.try_set(false);
            match outcome {
                Ok(_) => {
                    actor.say(
                        "Your password is changed. Your other sessions have ended.".to_owned(),
                    );
                    for field in [old, new, again] {
                        let _gone = field.try_set(String::new());
                    }
                }
                Err(failure) => drop(wrong.try_set(Some(failure))),
            }
        });
    };
    let field =
        move |id: &'static str, label: &'static str, value, name: &'static str, complete| {
            Field::new(id, label, value)
                .kind("password")
                .autocomplete(complete)
                .required()
                .error(of(wrong, name))
        };
    view! {
        <form class="panel form-section narrow-form" on:submit=submit novalidate>
            <h2>"Change your password"</h2>
            {field("old-password", "Current password", old, "oldPassword", "current-password").text()}
            {field("new-password", "New password", new, "newPassword", "new-password")
                .hint("12 to 256 characters, and not easy to guess.").text()}
            {field("again", "New password, again", again, "again", "new-password").text()}
            {check("revoke-tokens", "Revoke my tokens as well", revoke, "Otherwise programs that use them keep working.")}
            <div role="alert">{move || general_error(wrong)}</div>
            <p class="form-foot">
                <button type="submit" class="button button-primary" aria-disabled=move || busy.get().to_string()>"Change password"</button>
            </p>
        </form>
    }
}
