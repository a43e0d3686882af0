//! The fields of the target, its limits and its retries; or of an existing workflow.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::{
    components::{Choice, Field, live},
    pages::{
        suggest,
        task_form::{FieldErrors, Place, kinds, limits, target_fields},
    },
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
            {target_fields(fields, place)}
            {live(rest)}
        </fieldset>
    }
    .into_any()
}

fn workflow(draft: Draft, errors: Errors) -> AnyView {
    Field::new("workflow", "Workflow", draft.workflow)
        .required()
        .picks(suggest::workflows())
        .error(errors.of(&["workflow"]))
        .text()
}
