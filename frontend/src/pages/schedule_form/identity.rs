//! Name, note, tags.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::components::{AreaField, TextField};

/// What it is called and why it is there.
#[component]
pub(super) fn Identity(draft: Draft, errors: Errors) -> impl IntoView {
    view! {
        <fieldset class="panel form-section">
            <legend>"Schedule"</legend>
            <TextField id="name" label="Name" value=draft.name is_required=true error=errors.of(&["name"])/>
            <TextField id="tags" label="Tags" value=draft.tags error=errors.of(&["tags"]) hint="Commas apart."/>
            <AreaField id="note" label="Note" value=draft.note rows=2 error=errors.of(&["note"])/>
        </fieldset>
    }
}
