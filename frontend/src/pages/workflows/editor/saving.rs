//! Sends the workflow. This code is loaded when the user first saves.

use leptos::prelude::*;

use super::{Editor, Purpose, definition::Definition, errors::Errors};
use crate::{
    api::{self, Ask},
    components::{live, warning_list},
    data::{use_actor, use_once},
    model::{Failure, SavedWorkflow},
    pages::task_form::{refusal, show_wrong_field},
    route::Route,
    state::Address,
};

/// Sends the workflow when this is first drawn, and whenever the user saves again; shows why it was refused.
pub(in crate::pages) fn saver(editor: Editor) -> AnyView {
    let Editor { pane, errors, wants_save, .. } = editor;
    let send = use_save(editor);
    // A text that was just typed must be read before the workflow is saved.
    Effect::new(move |_| {
        if wants_save.get() && !pane.is_pending() {
            wants_save.set(false);
            untrack(|| send.run(()));
        }
    });
    live(move || match errors.sent() {
        Some(failure) => refusal(&failure),
        None => ().into_any(),
    })
}

/// Sends the content of the editor, and shows the outcome.
fn use_save(editor: Editor) -> Callback<()> {
    let (actor, once) = (use_actor(), use_once());
    let Editor { purpose, errors, address, kept, warned, busy, .. } = editor;
    Callback::new(move |()| {
        if busy.get_untracked() {
            return;
        }
        let definition = match sendable(editor) {
            Ok(definition) => definition,
            Err(wrong) => return fail(errors, address, wrong),
        };
        busy.set(true);
        let (change, said) = change(purpose, &definition, once.key());
        let sent = kept.sent();
        actor.send(change, move |outcome| {
            let is_left = busy.try_set(false).is_some();
            once.heard(&outcome);
            match outcome {
                Ok(saved) if saved.warnings.is_empty() || is_left => {
                    sent.forget();
                    actor.say(said);
                    if !is_left {
                        address.go(&Route::Workflow(saved.workflow.id).path());
                    }
                }
                Ok(saved) => {
                    sent.forget();
                    warned.set(Some(saved));
                }
                Err(wrong) if is_left => actor.complain(&wrong),
                Err(wrong) => fail(errors, address, wrong),
            }
        });
    })
}

/// The change, and the notice after it.
fn change(purpose: Purpose, definition: &Definition, key: String) -> (Ask<SavedWorkflow>, String) {
    match purpose {
        Purpose::Create(namespace) => {
            let said = format!("{} is created.", definition.name);
            let input = definition.to_create();
            (api::planning::create_workflow(namespace.get_untracked(), input, key), said)
        }
        Purpose::Change(edited) => edited.with_value(|edited| {
            let said = format!("{} is saved.", edited.name);
            let (id, input) = (edited.id.clone(), definition.to_update());
            (api::planning::update_workflow(id, edited.version, input, key), said)
        }),
    }
}

/// The view that replaces the form if the server saved the workflow with warnings. Another change would have to begin
/// with the saved version.
pub(in crate::pages) fn warnings(saved: RwSignal<Option<SavedWorkflow>>) -> AnyView {
    live(move || saved.get().map_or_else(|| ().into_any(), |saved| with_warnings(&saved)))
}

fn with_warnings(saved: &SavedWorkflow) -> AnyView {
    let (id, name) = (saved.workflow.id.clone(), saved.workflow.name.clone());
    let secrets =
        saved.warnings.iter().any(|warning| warning.code == "secret_not_set").then(|| {
            view! { <a class="button" href=Route::Secrets.path()>"Secrets"</a> }.into_any()
        });
    view! {
        <section class="panel" role="status" aria-label="Saved, with warnings" data-testid="saved-warnings">
            <h2>{format!("{name} is saved, but look at this")}</h2>
            {warning_list(saved.warnings.iter())}
            <p class="actions">
                <a class="button button-primary" href=Route::Workflow(id).path()>"Open the workflow"</a>
                {secrets}
            </p>
        </section>
    }
    .into_any()
}

/// The definition to send, or the first error.
fn sendable(editor: Editor) -> Result<Definition, Failure> {
    let Editor { pane, errors, address, .. } = editor;
    if let Some(wrong) = untrack(|| pane.refusal(address.query("tab") == "text")) {
        return Err(wrong);
    }
    let definition = untrack(|| pane.definition())?;
    if definition.tasks.is_empty() {
        return Err(Failure::of_field("tasks", "There is no task. Add one."));
    }
    errors.graph_failure().map_or(Ok(definition), Err)
}

/// Shows an error in its tab, and moves the focus to its field.
fn fail(errors: Errors, address: Address, wrong: Failure) {
    let tab = if wrong.field.as_deref() == Some("text") { "text" } else { "" };
    if wrong.field.is_some() && untrack(|| address.query("tab")) != tab {
        address.go(&address.with(&[("tab", tab)]));
    }
    errors.set(wrong);
    show_wrong_field();
}
