//! Name, note, tags.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::components::Field;

/// What it is called and why it is there.
pub(super) fn identity(draft: Draft, errors: Errors) -> AnyView {
    view! {
        <fieldset class="panel form-section">
            <legend>"Schedule"</legend>
            {Field::new("name", "Name", draft.name).required().error(errors.of(&["name"])).text()}
            {Field::new("tags", "Tags", draft.tags).error(errors.of(&["tags"])).hint("Commas apart.").text()}
            {Field::new("note", "Note", draft.note).error(errors.of(&["note"])).area(2)}
        </fieldset>
    }
    .into_any()
}
