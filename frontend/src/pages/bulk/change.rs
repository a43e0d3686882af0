//! The fields of a bulk edit: tags, time zone, group, priority. An empty field leaves the property
//! unchanged.

use leptos::prelude::*;

use crate::{
    api::{GroupChange, ScheduleChange},
    components::Field,
    model::Failure,
    pages::{
        kit::{Wrong, check, of},
        suggest,
    },
};

/// The fields of a bulk edit.
#[derive(Clone, Copy)]
pub(super) struct ChangeFields {
    add_tags: RwSignal<String>,
    remove_tags: RwSignal<String>,
    zone: RwSignal<String>,
    group: RwSignal<String>,
    leaves_group: RwSignal<bool>,
    priority: RwSignal<String>,
}

impl ChangeFields {
    pub(super) fn new() -> Self {
        let text = || RwSignal::new(String::new());
        Self {
            add_tags: text(),
            remove_tags: text(),
            zone: text(),
            group: text(),
            leaves_group: RwSignal::new(false),
            priority: text(),
        }
    }

    /// The entered change; tracked.
    ///
    /// # Errors
    /// A text that is not a number, or a form without any input.
    pub(super) fn change(self) -> Result<ScheduleChange, Failure> {
        let some = |text: RwSignal<String>| {
            Some(text.get().trim().to_owned()).filter(|text| !text.is_empty())
        };
        let priority = match some(self.priority).map(|text| text.parse::<i64>()) {
            None => None,
            Some(Ok(priority)) => Some(priority),
            Some(Err(_)) => return Err(Failure::of_field("priority", "Enter a whole number.")),
        };
        let group = match (self.leaves_group.get(), some(self.group)) {
            (true, _) => GroupChange::Leave,
            (false, Some(group)) => GroupChange::Join(group),
            (false, None) => GroupChange::Keep,
        };
        let change = ScheduleChange {
            add_tags: words(&self.add_tags.get()),
            remove_tags: words(&self.remove_tags.get()),
            zone: some(self.zone),
            group,
            priority,
        };
        if change == ScheduleChange::default() {
            return Err(Failure::of_field("change", "Enter what is to change."));
        }
        Ok(change)
    }

    /// The fields, with what the namespace has to choose from.
    pub(super) fn view(self, wrong: Wrong) -> AnyView {
        let nothing = move || {
            let failure = wrong.get().filter(|failure| failure.field.as_deref() == Some("change"));
            failure.map(|failure| {
                let words = failure.message.clone();
                view! { <p class="form-error">{words}</p> }.into_any()
            })
        };
        view! {
            <p class="hint">"What is left empty stays as it is."</p>
            {Field::new("bulk-add-tags", "Add tags", self.add_tags).first().picks(suggest::tags())
                .hint("Separated by commas.").error(of(wrong, "addTags")).text()}
            {Field::new("bulk-remove-tags", "Remove tags", self.remove_tags).picks(suggest::tags()).error(of(wrong, "removeTags")).text()}
            {Field::new("bulk-zone", "Time zone", self.zone).picks(suggest::zones()).error(of(wrong, "zone")).text()}
            {Field::new("bulk-group", "Concurrency group", self.group).picks(suggest::groups()).error(of(wrong, "group")).text()}
            {check("bulk-leaves-group", "Leave their concurrency group", self.leaves_group, "")}
            {Field::new("bulk-priority", "Priority", self.priority).kind("number")
                .hint("From -100 to 100.").error(of(wrong, "priority")).text()}
            <div role="alert">{move || nothing()}</div>
        }
        .into_any()
    }
}

/// The words between commas.
fn words(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn tags_are_words_between_commas() {
        assert_eq!(words(" eu, nightly run ,,"), ["eu", "nightly run"]);
        assert!(words(" ").is_empty());
    }
}
