//! Forms that keep what is typed.

use leptos::prelude::*;

use crate::{
    components::Field,
    pages::{
        kit::{KeptFields, restored},
        task_form::lost_sentence,
    },
    state::use_draft,
};

/// A form that has its text again after a reload, but not its credential.
pub(super) fn kept_form() -> AnyView {
    let [name, secret] = ["", ""].map(|text| RwSignal::new(text.to_owned()));
    let kept = KeptFields::new()
        .with("name", name)
        .with_credential("secret", "signing secret", secret)
        .keep("gallery-form");
    view! {
        {kept.note()}
        <div class="field-grid">
            {Field::new("gallery-kept", "Name", name).hint("Type something, and reload the page.").text()}
            {Field::new("gallery-secret", "Signing secret", secret).text()}
        </div>
    }
    .into_any()
}

/// The note above a form whose input came back, except for these credentials.
pub(super) fn restored_draft(lost: &'static [&'static str]) -> AnyView {
    let draft = use_draft("gallery-note", String::new, |_| ());
    draft.came_back();
    let lost: Vec<String> = lost.iter().map(|name| (*name).to_owned()).collect();
    restored(draft, move || lost_sentence(&lost))
}
