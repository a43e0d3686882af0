//! The form that creates and changes schedules. The server's answer is shown beside it while the user types.
//!
//! The fields are text until they are sent: `draft` contains them, `plan` parses them into values or reports the
//! field that cannot be parsed, and `input` converts the values to the operations' inputs. The server interprets the
//! timing, a moment after the last key. It returns the next fires, the description and the warnings, or an error,
//! which is shown with its position under the field.
//!
//! - `draft`: the fields
//! - `guard`: saves the fields as one text until the form is sent
//! - `replaced`: offers what was typed for a version that has been replaced
//! - `builder`: presets, and fields for the parts of an expression
//! - `fixes`: the linter's warnings, each with a fix
//! - `plan`: the values of the fields (pure)
//! - `input`: the values as inputs of the API
//! - `errors`: assigns errors to fields
//! - `identity`, `timing`, `policies`, `target`, `ping`: the sections
//! - `address`: what may be seen of a watchdog's address
//! - `permits`: whether the server runs programs
//! - `yaml`: shows the schedule as a module file
//! - `preview`: the effect of the timing; `crowd`: how many other schedules start at the same time
//! - `trial`: calls the target once
//! - `saving`: sends the form

mod address;
mod builder;
mod crowd;
mod draft;
mod errors;
mod fixes;
mod guard;
mod identity;
mod input;
mod permits;
mod ping;
mod plan;
mod policies;
mod preview;
mod publish_input;
mod replaced;
pub(super) mod saving;
mod target;
mod timing;
pub(super) mod trial;
pub(super) mod yaml;

use std::sync::Arc;

use leptos::{ev::SubmitEvent, prelude::*};

pub(super) use self::draft::Draft;
use self::{errors::Errors, permits::runs_programs, preview::Answers};
use crate::{
    api,
    components::{AsyncView, FailureNote, PageHead, is_id, live},
    data::{Load, use_load},
    model::{Failure, ScheduleDetail},
    pages::{
        NotFound,
        kit::{self, restored},
        parts,
        task_form::{lost_sentence, show_wrong_field},
    },
    route::Route,
    state::{Draft as KeptDraft, use_address, use_draft, use_title, version_key},
};

/// The purpose of a form.
#[derive(Clone, Copy)]
enum Purpose {
    /// Creates a schedule in this namespace.
    Create(Memo<String>),
    /// Changes the version that was read, so that a newer one is a conflict and is not overwritten.
    Change(StoredValue<Arc<ScheduleDetail>>),
}

/// The state of a form.
#[derive(Clone, Copy)]
pub(super) struct Form {
    draft: Draft,
    errors: Errors,
    purpose: Purpose,
    kept: KeptDraft,
    /// Whether the form is being sent.
    busy: RwSignal<bool>,
    /// Counts how often the user has asked to send it.
    asked: RwSignal<u32>,
}

/// The initial state of a form: the key of its draft, its purpose, and the schedule that it changes.
struct Start {
    key: String,
    purpose: Purpose,
    edited: Option<Edited>,
}

/// The schedule that a form changes.
struct Edited {
    id: String,
    version: i64,
    /// Shows the effect of the change. A form that changes nothing does not load its code.
    effect: fn(String, Answers, Draft) -> AnyView,
}

/// The page of a new schedule.
#[component]
pub(crate) fn NewSchedule() -> impl IntoView {
    use_title(|| "New schedule".to_owned());
    let (address, namespace) = (use_address(), kit::use_namespace());
    let from = untrack(|| address.query("from"));
    // A copy of a schedule does not bring back what was typed for another one.
    let key = if from.is_empty() { "new".to_owned() } else { format!("new.{from}") };
    let fill = Callback::new(move |draft: Draft| {
        let purpose = Purpose::Create(namespace);
        let start = Start { key: key.clone(), purpose, edited: None };
        form(draft, start, "Create schedule", &Route::Schedules)
    });
    let content = if from.is_empty() {
        let targets = use_load(|| Some(api::namespace_targets()));
        let filled = move || {
            untrack(|| {
                targets.with(|known| {
                    let draft = Draft::new();
                    // The first choice is a target that this server permits.
                    if !runs_programs(known, &namespace.get()) {
                        draft.task.kind.set("http".to_owned());
                    }
                    fill.run(draft)
                })
            })
        };
        view! { <AsyncView loading=targets.loading what="the form">{filled()}</AsyncView> }
            .into_any()
    } else {
        parts::copied_schedule(StoredValue::new(from), fill).show("form")
    };
    view! {
        {PageHead::new("New schedule").view()}
        {content}
    }
}

/// The form with a copy of a schedule.
pub(super) fn copied(from: StoredValue<String>, fill: Callback<Draft, AnyView>) -> AnyView {
    let load = use_load(move || Some(api::schedule(from.get_value())));
    let copied = move || {
        untrack(|| {
            load.with(|schedule| {
                let draft = match Draft::of(schedule) {
                    Ok(draft) => draft,
                    Err(failure) => return unreadable(failure),
                };
                draft.name.update(|name| name.push_str("-copy"));
                // A watchdog that two schedules call would not notice the silence of one of them.
                draft.ping.clear();
                draft.task.detach();
                fill.run(draft)
            })
        })
    };
    view! { <AsyncView loading=load.loading what="the schedule to copy">{copied()}</AsyncView> }
        .into_any()
}

/// The page that edits the schedule with this id. A malformed id is not sent to the server.
#[component]
pub(crate) fn EditSchedule(id: String) -> impl IntoView {
    if is_id(&id) { view! { <Edit id=id/> }.into_any() } else { view! { <NotFound/> }.into_any() }
}

#[component]
fn Edit(id: String) -> impl IntoView {
    use_title(|| "Edit schedule".to_owned());
    let load: Load<ScheduleDetail> = use_load(move || Some(api::schedule(id.clone())));
    kit::settle(load, |schedule| &schedule.row.namespace);
    view! {
        <AsyncView loading=load.loading what="the schedule">
            {untrack(|| load.get().map(edit))}
        </AsyncView>
    }
}

fn edit(before: Arc<ScheduleDetail>) -> AnyView {
    let (id, version, name) = (before.row.id.clone(), before.row.version, before.row.name.clone());
    let back = Route::Schedule(id.clone());
    let head = PageHead::new(format!("Edit {name}")).view();
    if let Some(module) = before.more.module.clone() {
        return view! {
            {head}
            <p class="pause-note form-note">
                {format!("The module {module} declares this schedule. Change its file and deploy it.")}
            </p>
            <a class="button" href=back.path()>"Back to the schedule"</a>
        }
        .into_any();
    }
    let draft = match Draft::of(&before) {
        Ok(draft) => draft,
        Err(failure) => return view! { {head}{unreadable(failure)} }.into_any(),
    };
    let start = Start {
        key: version_key(&id, version),
        purpose: Purpose::Change(StoredValue::new(before)),
        edited: Some(Edited { id, version, effect: preview::effect }),
    };
    view! { {head}{form(draft, start, "Save changes", &back)} }.into_any()
}

/// Shown in place of a form whose schedule this console cannot read, as after an upgrade of the server.
fn unreadable(failure: Failure) -> AnyView {
    let reload = || {
        let _reloads = window().location().reload();
    };
    view! { <FailureNote failure=failure retry=reload/> }.into_any()
}

/// The sections, the preview, and the button.
fn form(draft: Draft, start: Start, action: &'static str, back: &Route) -> AnyView {
    let Start { key, purpose, edited } = start;
    let kept = use_draft(&key, move || draft.kept(), move |text| draft.restore(text));
    let schedule = edited.as_ref().map(|edited| edited.id.clone());
    let earlier =
        edited.as_ref().map(|edited| replaced::offer(draft, kept, &edited.id, edited.version));
    let answers = preview::use_preview(draft, schedule.clone());
    let errors = Errors::new(answers.preview);
    let (busy, asked) = (RwSignal::new(false), RwSignal::new(0_u32));
    let form = Form { draft, errors, purpose, kept, busy, asked };
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if !busy.get_untracked() {
            asked.update(|asked| *asked += 1);
        }
    };
    // The code that sends the form is loaded when the user first saves, and then sends it.
    let is_asked = Memo::new(move |_| asked.get() > 0);
    let saver = live(move || match is_asked.get() {
        true => parts::saved_form(form).show("part of the form"),
        false => ().into_any(),
    });
    let effect = edited.map(|edited| (edited.effect)(edited.id, answers, draft));
    let lost = move || {
        let words = draft.lost_words();
        lost_sentence(&words.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    view! {
        {restored(kept, lost)}
        {earlier}
        <form on:submit=submit novalidate>
            <div class="form-grid">
                <div class="form-main">
                    {identity::identity(draft, errors)}
                    {timing::timing(draft, errors)}
                    {target::target(draft, errors)}
                    {trial::trial(form, schedule)}
                    {policies::policies(draft, errors)}
                    {ping::ping(draft.ping, errors)}
                </div>
                <div class="form-side">
                    {preview::panel(answers, draft, effect)}
                    {yaml::panel(draft)}
                </div>
            </div>
            <div class="form-save">
                <div role="alert">{saver}</div>
                <div class="form-foot">
                    <button type="submit" class="button button-primary" aria-disabled=move || busy.get().to_string()>{action}</button>
                    <a class="button" href=back.path()>"Cancel"</a>
                </div>
            </div>
        </form>
    }
    .into_any()
}

/// Shows an error, and moves the focus to its field.
fn fail(errors: Errors, wrong: Failure) {
    errors.set(wrong);
    show_wrong_field();
}
