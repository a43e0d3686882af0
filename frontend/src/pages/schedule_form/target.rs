//! The fields of the target, its limits and its retries; or of an existing workflow.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::{
    api::{self},
    components::{Choice, Field, live},
    data::use_load,
    pages::task_form::{FieldErrors, Place, kinds, limits, target_fields},
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
            {target_fields(fields, place)}
            {live(rest)}
        </fieldset>
    }
    .into_any()
}

fn workflow(draft: Draft, errors: Errors) -> AnyView {
    let address = use_address();
    let workflows = use_load(move || Some(api::workflows(address.namespace())));
    view! {
        {Field::new("workflow", "Workflow", draft.workflow).required().list("workflows")
            .error(errors.of(&["workflow"])).text()}
        <datalist id="workflows">
            {workflows.draw(|all| options(all.iter().map(|workflow| &workflow.name)))}
        </datalist>
    }
    .into_any()
}

/// The options of a `datalist`.
pub(super) fn options<'a>(names: impl Iterator<Item = &'a String>) -> AnyView {
    let option = |name: &String| view! { <option value=name.clone()></option> }.into_any();
    names.map(option).collect::<Vec<_>>().into_any()
}
