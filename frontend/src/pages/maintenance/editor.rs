//! The form for a new window, and for changing one.

use leptos::{ev::SubmitEvent, prelude::*};

use super::{
    super::{
        actions::effect::CHOICES,
        kit::{self, Wrong, empty, of},
        schedules::SEARCH_FIELDS,
        suggest,
    },
    draft::Draft,
    preview::{Preview, use_preview},
};
use crate::{
    api,
    components::{AsyncView, Field, Look, button, live},
    data::{use_actor, use_load, use_once},
    model::{CatchUp, Failure, MaintenanceState, MaintenanceWindow},
    route::Route,
    state::{use_address, use_title},
};

/// The lengths that one click chooses, in hours.
const LENGTHS: [(&str, i64); 4] = [("1 hour", 1), ("2 hours", 2), ("4 hours", 4), ("8 hours", 8)];

/// The page of a new window.
#[component]
pub(crate) fn NewMaintenance() -> impl IntoView {
    use_title(|| "Plan maintenance".to_owned());
    view! { <header class="page-head"><h1>"Plan maintenance"</h1></header>{editor(None)} }
}

/// The page that changes a window.
#[component]
pub(crate) fn EditMaintenance(id: String) -> impl IntoView {
    use_title(|| "Change maintenance".to_owned());
    let namespace = kit::use_namespace();
    let found = use_load(move || Some(api::maintenance::window(id.clone())));
    let window = Memo::new(move |before: Option<&Option<MaintenanceWindow>>| {
        // The rights and the schedules are those of the address's namespace.
        let here = |window: &MaintenanceWindow| {
            (window.namespace == namespace.get()).then(|| window.clone())
        };
        before.cloned().flatten().or_else(|| found.with(here).flatten())
    });
    let form = move || match window.get() {
        Some(window) if window.module.is_some() => {
            let words = "Change it in the module's file.";
            unchangeable(title_of(&window), "A module declares this window", words)
        }
        Some(window) if window.is_open() => {
            let title = title_of(&window);
            view! { <header class="page-head"><h1>{title}</h1></header>{editor(Some(&window))} }
                .into_any()
        }
        Some(window) => {
            let words = "It has ended or was cancelled, so it cannot be changed. Plan another one.";
            unchangeable(title_of(&window), "This maintenance is over", words)
        }
        None => {
            let words = "It may be one of another namespace.";
            let title = "Change maintenance".to_owned();
            unchangeable(title, "No such maintenance window", words)
        }
    };
    view! { <AsyncView loading=found.loading what="the maintenance window">{live(form)}</AsyncView> }
}

fn title_of(window: &MaintenanceWindow) -> String {
    format!("Change {}", window.title)
}

/// The page in place of the form, and why there is none.
fn unchangeable(title: String, why: &'static str, advice: &'static str) -> AnyView {
    view! {
        <header class="page-head"><h1>{title}</h1></header>
        <div class="empty">{empty(why, advice)}</div>
    }
    .into_any()
}

fn editor(window: Option<&MaintenanceWindow>) -> AnyView {
    let namespace = kit::use_namespace();
    let (actor, address, once) = (use_actor(), use_address(), use_once());
    let search = untrack(|| address.query("search"));
    let id = window.map(|window| window.id.clone());
    let is_active = window.is_some_and(|window| window.state == MaintenanceState::Active);
    let key = match &id {
        // An active window has fewer fields: what was typed for the others while it was planned does not come back.
        Some(id) if is_active => format!("maintenance.{id}.active"),
        Some(id) => format!("maintenance.{id}"),
        // A link to the window of a search does not bring back what was typed for another one.
        None => format!("maintenance.new.{}.{search}", namespace.get_untracked()),
    };
    let draft = window.map_or_else(|| Draft::new(search), Draft::of);
    let kept = draft.kept().keep(&key);
    // What an active window pauses cannot be changed any more.
    let preview = (!is_active).then(|| use_preview(draft, namespace));
    let wrong: Wrong = RwSignal::new(None);
    let busy = RwSignal::new(false);
    let (action, said) = match id {
        Some(_) => ("Save changes", "is changed"),
        None => ("Plan maintenance", "is planned"),
    };
    let own = id.clone();
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        wrong.set(None);
        let input = match untrack(|| draft.read(namespace.get())) {
            Ok(input) => input,
            Err(failure) => return wrong.set(Some(failure)),
        };
        busy.set(true);
        let said = format!("{} {said}.", input.title);
        let ask = match id.clone() {
            Some(id) => api::maintenance::change(id, input, once.key()),
            None => api::maintenance::plan(input, once.key()),
        };
        let sent = kept.sent();
        actor.send(ask, move |outcome| {
            once.heard(&outcome);
            let is_left = busy.try_set(false).is_some();
            match outcome {
                Ok(id) => {
                    sent.forget();
                    actor.say(said);
                    if !is_left {
                        address.go(&Route::MaintenanceWindow(id).path());
                    }
                }
                Err(failure) => kit::refuse(wrong, actor, failure),
            }
        });
    };
    let back = match &own {
        Some(id) => Route::MaintenanceWindow(id.clone()).path(),
        None => Route::Maintenance.path(),
    };
    let fields = Fields { draft, wrong, preview };
    let when = if is_active { fields.end() } else { fields.when_and_which() };
    let side = preview.map(|preview| preview.view(own));
    view! {
        {kept.note()}
        <div class="form-grid">
            <form class="form-main" on:submit=submit novalidate>
                {fields.what()}
                {when}
                <div role="alert">{move || kit::general_error(wrong)}</div>
                <p class="form-foot">
                    <button type="submit" class="button button-primary" aria-disabled=move || busy.get().to_string()>{action}</button>
                    <a class="button" href=back>"Back"</a>
                </p>
            </form>
            <div class="form-side">{side}</div>
        </div>
    }
    .into_any()
}

/// The fields of the form.
#[derive(Clone, Copy)]
struct Fields {
    draft: Draft,
    wrong: Wrong,
    preview: Option<Preview>,
}

impl Fields {
    /// The error of a field: of the last attempt to save, or of the preview.
    fn error(self, field: &'static str) -> Signal<Option<Failure>> {
        let (saved, preview) = (of(self.wrong, field), self.preview);
        Signal::derive(move || {
            saved.get().or_else(|| preview.and_then(|preview| preview.failure_of(field)))
        })
    }

    fn what(self) -> AnyView {
        let draft = self.draft;
        view! {
            <fieldset class="panel form-section">
                <legend>"What"</legend>
                {Field::new("title", "Title", draft.title).required().first().error(self.error("title"))
                    .hint("Shown with every schedule that it pauses, such as Database move.").text()}
                {Field::new("ticket", "Ticket (optional)", draft.ticket).error(self.error("ticket"))
                    .hint("An id, or the address of a page.").text()}
            </fieldset>
        }
        .into_any()
    }

    fn when_and_which(self) -> AnyView {
        let draft = self.draft;
        let length = |(words, hours): (&'static str, i64)| {
            button(Look::Plain, None, words, move || draft.last(hours))
        };
        view! {
            <fieldset class="panel form-section">
                <legend>"Which schedules"</legend>
                {Field::new("search", "About the schedules", draft.search).code()
                    .picks(suggest::search(&SEARCH_FIELDS)).error(self.error("search"))
                    .hint("In the search language, as in tag:billing -name:test. Empty means every schedule of the namespace.").text()}
            </fieldset>
            <fieldset class="panel form-section">
                <legend>"When"</legend>
                <div class="field-grid">
                    {Field::new("starts", "From (your time)", draft.from).kind("datetime-local")
                        .error(self.error("startsAt")).hint("An instant in the past means now.").text()}
                    {Field::new("ends", "Until (your time)", draft.to).kind("datetime-local")
                        .error(self.error("endsAt")).hint("At most 31 days later.").text()}
                </div>
                <div class="actions" role="group" aria-label="How long">{Vec::from(LENGTHS.map(length))}</div>
                {self.missed()}
            </fieldset>
        }
        .into_any()
    }

    /// What can still be changed of an active window besides its title and ticket.
    fn end(self) -> AnyView {
        view! {
            <fieldset class="panel form-section">
                <legend>"When"</legend>
                <p class="hint">
                    "It has begun, so its beginning, its schedules and the policy for missed fires stay as they are."
                </p>
                {Field::new("ends", "Until (your time)", self.draft.to).kind("datetime-local")
                    .error(self.error("endsAt")).hint("At most 31 days after it began.").text()}
            </fieldset>
        }
        .into_any()
    }

    /// The policies for the fires that fall into the window, as the dialog of a pause offers them.
    fn missed(self) -> AnyView {
        let missed = self.draft.missed;
        let radio = |(name, words, _): (&'static str, &'static str, CatchUp)| {
            view! {
                <label class="choice">
                    <input
                        type="radio"
                        name="maintenance-missed"
                        prop:checked=move || missed.with(|missed| missed == name)
                        on:change=move |_| missed.set(name.to_owned())
                    />
                    <span><strong>{words}</strong></span>
                </label>
            }
            .into_any()
        };
        view! {
            <fieldset class="choices">
                <legend>"Fires that fall into it, at its end"</legend>
                {Vec::from(CHOICES.map(radio))}
            </fieldset>
        }
        .into_any()
    }
}
