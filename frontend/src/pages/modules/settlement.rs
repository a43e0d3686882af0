//! Adopting or reverting the drift of a module. Each dialog first shows what it would change.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::detail::{HEADING, fields};
use crate::{
    api,
    components::{Field, Look, button},
    data::Loading,
    model::{AdoptedDrift, CatchUp, Drift, DriftSide, Drifted, Failure, FieldChange},
    pages::{
        actions::effect::CHOICES,
        kit::{Asked, Change, Wrong, form, note, of, use_asked},
    },
    route::Route,
    state::use_address,
};

/// What may become of the fires that fell into the pauses that a revert ends.
const MISSED: &[(&str, &str)] =
    &[(CHOICES[0].0, CHOICES[0].1), (CHOICES[1].0, CHOICES[1].1), (CHOICES[2].0, CHOICES[2].1)];

/// The drift of a module, for a dialog.
#[derive(Clone)]
struct Subject {
    namespace: String,
    drift: Drift,
}

/// The two ways to settle the drift of a module, for editors.
#[derive(Clone, Copy)]
pub(super) struct Settling {
    namespace: Memo<String>,
    drift: Loading,
    export: RwSignal<bool>,
    adopt: Asked<Subject>,
    revert: Asked<Subject>,
}

pub(super) fn use_settling(
    namespace: Memo<String>,
    drift: Loading,
    export: RwSignal<bool>,
) -> Settling {
    Settling { namespace, drift, export, adopt: use_asked(), revert: use_asked() }
}

impl Settling {
    /// The buttons, each with what it does.
    pub(super) fn ways(self, drift: &Drift) -> AnyView {
        let namespace = self.namespace.get_untracked();
        let subject = Subject { namespace, drift: drift.clone() };
        let adopt = drift.drifted.iter().any(is_adoptable).then(|| {
            view! {
                <p><strong>"Adopt"</strong>": The declaration takes the current values. "
                    {button(Look::Plain, None, "Adopt", self.adopt.ask(&subject))}</p>
            }
            .into_any()
        });
        view! {
            <div class="ways">
                {adopt}
                <p><strong>"Revert"</strong>": The objects return to their declared values. "
                    {button(Look::Plain, None, "Revert", self.revert.ask(&subject))}</p>
            </div>
        }
        .into_any()
    }

    /// The dialogs, closed until a button opens one.
    pub(super) fn dialogs(self) -> AnyView {
        let adopt = self.adopt.dialog("Adopt the drift", move |subject| self.adopt_form(&subject));
        let revert =
            self.revert.dialog("Revert the drift", move |subject| self.revert_form(&subject));
        view! { {adopt}{revert} }.into_any()
    }

    fn adopt_form(self, subject: &Subject) -> AnyView {
        let Subject { namespace, drift } = subject.clone();
        let (reason, wrong) = (RwSignal::new(String::new()), RwSignal::new(None));
        let changes = drift.drifted.iter().filter(|thing| is_adoptable(thing));
        let stays = drift.drifted.iter().any(|thing| !is_adoptable(thing)).then(|| {
            view! { <p>"Mutes remain differences: a file cannot declare them."</p> }.into_any()
        });
        let fields = view! {
            <p>"The declaration changes, and nothing else: no schedule is resumed or paused."</p>
            {listed("What the module will declare", changes.map(|thing| line(thing, &thing.fields)))}
            {stays}
            <p>"Then replace your file with the export. The next deployment of the old file declares the old values again."</p>
            {reason_field("adopt-reason", reason, wrong)}
            {refused(wrong, self.drift)}
        };
        let plan = move |key| {
            let (namespace, name) = (namespace.clone(), drift.module.clone());
            let (digest, reason) = (drift.digest.clone(), reason.get_untracked());
            let ask =
                api::planning::adopt_drift(namespace, name, digest, reason.trim().to_owned(), key);
            Ok(Change { ask, said: "The drift is adopted.".to_owned() })
        };
        let Self { drift: loading, export, .. } = self;
        let (address, open) = (use_address(), self.adopt.open);
        let done = move |adopted: AdoptedDrift| {
            // The answer may arrive when another page is shown.
            if open.try_get_untracked().is_none() {
                return;
            }
            // A module whose last object is gone is forgotten: it has no page and no file any more.
            if adopted.drift.is_none() {
                return address.go(&Route::Modules.path());
            }
            loading.reload();
            // The export returns the focus to the heading.
            focus_heading(move || {
                let _gone = export.try_set(true);
            });
        };
        form(open, (Look::Primary, "Adopt"), wrong, fields.into_any(), plan, done)
    }

    fn revert_form(self, subject: &Subject) -> AnyView {
        let Subject { namespace, drift } = subject.clone();
        let (reason, wrong) = (RwSignal::new(String::new()), RwSignal::new(None));
        let missed = RwSignal::new(CHOICES[0].0.to_owned());
        let ends_pauses = drift.drifted.iter().any(ends_pause).then(|| {
            Field::new("revert-missed", "Fires that fell into the pauses", missed)
                .error(of(wrong, "missed"))
                .choice(MISSED)
        });
        let changes = drift.drifted.iter().map(|thing| line(thing, &reversed(&thing.fields)));
        let fields = view! {
            <p>"The changes are made one by one, and the audit log has each. If one is refused, those before it stay."</p>
            {listed("What will change", changes)}
            {ends_pauses}
            {reason_field("revert-reason", reason, wrong)}
            {refused(wrong, self.drift)}
        };
        let plan = move |key| {
            let (namespace, name) = (namespace.clone(), drift.module.clone());
            let (digest, reason) = (drift.digest.clone(), reason.get_untracked());
            let reason = reason.trim().to_owned();
            let ask =
                api::planning::revert_drift(namespace, name, digest, chosen(missed), reason, key);
            Ok(Change { ask, said: "All is as the module declares.".to_owned() })
        };
        let loading = self.drift;
        let done = move |_| {
            loading.reload();
            focus_heading(|| ());
        };
        form(self.revert.open, (Look::Danger, "Revert"), wrong, fields.into_any(), plan, done)
    }
}

/// What to do after the server has refused to settle the drift. The changes before the refused one stay, and a second
/// try has to be about what is left.
fn refused(wrong: Wrong, drift: Loading) -> AnyView {
    Effect::new(move |_| {
        if wrong.with(Option::is_some) {
            drift.reload();
        }
    });
    let hint = move || {
        let is_left = wrong.with(|failure| failure.as_ref().is_some_and(is_of_drift));
        is_left.then(|| {
            view! { <p class="form-error">"Close and open this dialog to see what is left."</p> }
                .into_any()
        })
    };
    view! { <div role="alert">{hint}</div> }.into_any()
}

/// Whether the failure is about the drift, and not about a field of the dialog.
fn is_of_drift(failure: &Failure) -> bool {
    !matches!(failure.field.as_deref(), Some("reason" | "missed"))
}

/// Focuses the heading of the drift once the dialog has closed, because the button that opened the dialog is drawn
/// again; then calls `then`.
fn focus_heading(then: impl FnOnce() + 'static) {
    request_animation_frame(move || {
        let heading = document().get_element_by_id(HEADING);
        if let Some(heading) = heading.and_then(|heading| heading.dyn_into::<HtmlElement>().ok()) {
            let _gone = heading.focus();
        }
        then();
    });
}

fn reason_field(id: &'static str, reason: RwSignal<String>, wrong: Wrong) -> AnyView {
    Field::new(id, "Reason", reason)
        .first()
        .required()
        .error(of(wrong, "reason"))
        .hint("Kept in the audit log.")
        .text()
}

fn listed(label: &'static str, lines: impl Iterator<Item = AnyView>) -> AnyView {
    let lines: Vec<_> = lines.collect();
    view! { <ul aria-label=label data-testid="settled">{lines}</ul> }.into_any()
}

fn line(thing: &Drifted, changes: &[FieldChange]) -> AnyView {
    view! {
        <li><strong>{thing.name.clone()}</strong>{note(thing.kind.replace('_', " "))}{fields(changes)}</li>
    }
    .into_any()
}

/// The changes in the other direction.
fn reversed(changes: &[FieldChange]) -> Vec<FieldChange> {
    let back = |change: &FieldChange| FieldChange {
        path: change.path.clone(),
        before: change.after.clone(),
        after: change.before.clone(),
    };
    changes.iter().map(back).collect()
}

/// Whether a file can declare the difference: not a mute.
fn is_adoptable(thing: &Drifted) -> bool {
    thing.fields.iter().any(|field| field.path != "muted_until")
}

/// Whether reverting the difference ends a pause.
fn ends_pause(thing: &Drifted) -> bool {
    let is_pause =
        |field: &FieldChange| field.path == "paused" && field.after.as_deref() == Some("true");
    thing.side == DriftSide::Operators && thing.fields.iter().any(is_pause)
}

fn chosen(missed: RwSignal<String>) -> CatchUp {
    let choice = CHOICES.iter().find(|(name, ..)| missed.with_untracked(|missed| missed == name));
    choice.map_or(CatchUp::Skip, |(.., choice)| *choice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Code;

    fn thing(path: &str, before: Option<&str>, after: Option<&str>) -> Drifted {
        let field = json!({ "path": path, "before": before, "after": after });
        serde_json::from_value(json!({
            "kind": "schedule", "name": "nightly", "side": "OPERATORS", "fields": [field],
        }))
        .unwrap()
    }

    #[test]
    fn only_a_pause_that_ends_asks_about_its_fires() {
        assert!(ends_pause(&thing("paused", None, Some("true"))));
        assert!(!ends_pause(&thing("paused", Some("true"), None)), "a revert pauses it");
        assert!(!ends_pause(&thing("note", Some("true"), Some("true"))));
    }

    #[test]
    fn only_a_refusal_of_the_drift_asks_for_another_look() {
        assert!(is_of_drift(&Failure::new(Code::Conflict, "the drift is another one now")));
        assert!(is_of_drift(&Failure::of_field("search", "nothing matches")));
        assert!(!is_of_drift(&Failure::of_field("reason", "give a reason")));
        assert!(!is_of_drift(&Failure::of_field("missed", "choose one")));
    }

    #[test]
    fn a_mute_is_not_adopted() {
        assert!(!is_adoptable(&thing("muted_until", None, Some("2026-03-01T13:00:00Z"))));
        assert!(is_adoptable(&thing("paused", None, Some("true"))));
    }

    #[test]
    fn a_revert_shows_the_changes_in_the_other_direction() {
        let changes = thing("note", Some("declared"), Some("is")).fields;
        assert_eq!(reversed(&changes), thing("note", Some("is"), Some("declared")).fields);
    }
}
