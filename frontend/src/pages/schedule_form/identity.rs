//! The fields for name, note and tags.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::{components::Field, pages::suggest};

/// The section with the schedule's name, note and tags.
pub(super) fn identity(draft: Draft, errors: Errors) -> AnyView {
    view! {
        <fieldset class="panel form-section">
            <legend>"Schedule"</legend>
            {Field::new("name", "Name", draft.name).required().error(errors.of(&["name"])).text()}
            {Field::new("tags", "Tags", draft.tags).picks(suggest::tags()).error(errors.of(&["tags"]))
                .hint("Separated by commas.").text()}
            {Field::new("note", "Note", draft.note).error(errors.of(&["note"])).area(2)}
        </fieldset>
    }
    .into_any()
}
