//! The fields of the target, its limits and its retries; or of an existing workflow.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors, permits::runs_programs};
use crate::{
    api,
    components::{Choice, Field, live},
    data::use_load,
    pages::{
        suggest,
        task_form::{FieldErrors, Place, kinds, limits, target_fields},
    },
    state::use_address,
};

const WORKFLOW: Choice = ("workflow", "An existing workflow");

/// The section with the target.
pub(super) fn target(draft: Draft, errors: Errors) -> AnyView {
    let fields = draft.task;
    let errors_of = FieldErrors::new(move |names| errors.of(&names));
    let place = Place::new("", errors_of);
    let kind = Memo::new(move |_| fields.kind.get());
    let rest = move || match kind.get().as_str() {
        "workflow" => workflow(draft, errors),
        _ => limits(fields, place),
    };
    view! {
        <fieldset class="panel form-section">
            <legend>"What"</legend>
            {kinds(fields, place, &[WORKFLOW])}
            <div role="status">{refused(kind)}</div>
            {target_fields(fields, place)}
            {live(rest)}
        </fieldset>
    }
    .into_any()
}

/// A note if the server runs no programs for the namespace, although the target is one.
fn refused(kind: Memo<String>) -> AnyView {
    let address = use_address();
    let is_command = Memo::new(move |_| kind.with(|kind| kind == "command"));
    let targets = use_load(move || is_command.get().then(api::namespace_targets));
    live(move || {
        let namespace = address.namespace();
        let is_refused = targets.with(|known| !runs_programs(known, &namespace));
        if !is_command.get() || is_refused != Some(true) {
            return ().into_any();
        }
        let words = "This server runs no programs for this namespace, so it refuses a command. Its settings \
                     allow_commands and commands.namespaces permit them.";
        view! { <p class="hint" data-testid="no-programs">{words}</p> }.into_any()
    })
}

fn workflow(draft: Draft, errors: Errors) -> AnyView {
    Field::new("workflow", "Workflow", draft.workflow)
        .required()
        .picks(suggest::workflows())
        .error(errors.of(&["workflow"]))
        .text()
}
