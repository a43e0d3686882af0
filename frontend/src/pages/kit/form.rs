//! A form. It sends the change, closes, and shows a notice. If the change fails, the form stays open and shows the
//! error.

use leptos::{ev::SubmitEvent, prelude::*};
use serde::de::DeserializeOwned;

use super::kept::KeptForm;
use crate::{
    api::Ask,
    components::{Look, button},
    data::{Actor, use_actor, use_once},
    model::Failure,
    time::Moment,
};

/// The change that a form sends, and the notice once it is done.
pub(in crate::pages) struct Change<T = String> {
    pub(in crate::pages) ask: Ask<T>,
    pub(in crate::pages) said: String,
}

/// The error of a form.
pub(in crate::pages) type Wrong = RwSignal<Option<Failure>>;

/// The fields, the error that belongs to no field, and the buttons. `plan` reads the fields, or returns the first
/// error. On success, `open` is set to false, and `done` is called with the server's answer.
pub(in crate::pages) fn form<T: DeserializeOwned + 'static>(
    open: RwSignal<bool>,
    action: (Look, &'static str),
    wrong: Wrong,
    fields: AnyView,
    plan: impl Fn(String) -> Result<Change<T>, Failure> + 'static,
    done: impl Fn(T) + Clone + 'static,
) -> AnyView {
    sending(None, open, action, wrong, fields, plan, done)
}

/// A form whose fields are kept. On success, what is kept is deleted, even if the form is gone by then.
pub(in crate::pages) fn kept_form(
    kept: KeptForm,
    open: RwSignal<bool>,
    action: (Look, &'static str),
    wrong: Wrong,
    fields: AnyView,
    plan: impl Fn(String) -> Result<Change, Failure> + 'static,
    done: impl Fn(String) + Clone + 'static,
) -> AnyView {
    sending(Some(kept), open, action, wrong, fields, plan, done)
}

fn sending<T: DeserializeOwned + 'static>(
    kept: Option<KeptForm>,
    open: RwSignal<bool>,
    action: (Look, &'static str),
    wrong: Wrong,
    fields: AnyView,
    plan: impl Fn(String) -> Result<Change<T>, Failure> + 'static,
    done: impl Fn(T) + Clone + 'static,
) -> AnyView {
    let plan: Box<dyn Fn(String) -> Result<Change<T>, Failure>> = Box::new(plan);
    let actor = use_actor();
    let busy = RwSignal::new(false);
    let once = use_once();
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        wrong.set(None);
        let Change { ask, said } = match plan(once.key()) {
            Ok(change) => change,
            Err(failure) => return wrong.set(Some(failure)),
        };
        busy.set(true);
        let (done, sent) = (done.clone(), kept.map(KeptForm::sent));
        actor.send(ask, move |outcome| {
            once.heard(&outcome);
            let _gone = busy.try_set(false);
            match outcome {
                Ok(answer) => {
                    if let Some(sent) = sent {
                        sent.forget();
                    }
                    open.set(false);
                    if !said.is_empty() {
                        actor.say(said);
                    }
                    done(answer);
                }
                Err(failure) => refuse(wrong, actor, failure),
            }
        });
    };
    let (look, label) = action;
    form_view(open, look, label, wrong, busy, fields, submit)
}

/// The fields of a form, the error that belongs to none of them, and its buttons.
pub(in crate::pages) fn form_view(
    open: RwSignal<bool>,
    look: Look,
    label: &'static str,
    wrong: Wrong,
    busy: RwSignal<bool>,
    fields: AnyView,
    submit: impl FnMut(SubmitEvent) + 'static,
) -> AnyView {
    view! {
        <form on:submit=submit novalidate>
            {fields}
            <div role="alert">{move || general_error(wrong)}</div>
            <footer class="dialog-foot">
                {button(Look::Plain, None, "Cancel", move || open.set(false))}
                <button type="submit" class=look.class() aria-disabled=move || busy.get().to_string()>{label}</button>
            </footer>
        </form>
    }
    .into_any()
}

/// The error of a form that belongs to none of its fields.
pub(in crate::pages) fn general_error(wrong: Wrong) -> Option<AnyView> {
    wrong.get().filter(|failure| failure.field.is_none()).map(|failure| {
        view! { <p class="form-error">{failure.message.clone()}" "{failure.advice()}</p> }
            .into_any()
    })
}

/// Handles the `submit` event of a form whose first button calls `go`.
pub(in crate::pages) fn on_submit(go: impl Fn() + 'static) -> impl Fn(SubmitEvent) + 'static {
    move |event: SubmitEvent| {
        event.prevent_default();
        go();
    }
}

/// Shows the error of a form in it, or as a notice if the form was closed or left.
pub(in crate::pages) fn refuse(wrong: Wrong, actor: Actor, failure: Failure) {
    if let Some(failure) = wrong.try_set(Some(failure)).flatten() {
        actor.complain(&failure);
    }
}

/// The error that belongs to a field, or to a part of it.
pub(in crate::pages) fn of(wrong: Wrong, field: &'static str) -> Signal<Option<Failure>> {
    Signal::derive(move || {
        let is_it = |failure: &Failure| {
            let rest = failure.field.as_deref().and_then(|name| name.strip_prefix(field));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
        };
        wrong.get().filter(is_it)
    })
}

/// The whole number in a field.
///
/// # Errors
/// If the field does not contain a whole number.
pub(in crate::pages) fn number(field: &str, text: RwSignal<String>) -> Result<i64, Failure> {
    let text = text.get_untracked();
    text.trim().parse().map_err(|_| Failure::of_field(field, "Enter a whole number."))
}

/// The instant in a field, on the browser's clock.
///
/// # Errors
/// If the field does not contain an instant.
pub(in crate::pages) fn instant(field: &str, text: RwSignal<String>) -> Result<Moment, Failure> {
    let text = text.get_untracked();
    Moment::parse_local(&text).ok_or_else(|| Failure::of_field(field, "Choose a date and a time."))
}
