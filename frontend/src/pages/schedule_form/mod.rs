//! The form that creates and changes schedules. The server's answer is shown beside it while the user types.
//!
//! The fields are text until they are sent: `draft` contains them, `plan` parses them into values or reports the
//! field that cannot be parsed, and `input` converts the values to the operations' inputs. The server interprets the
//! timing, a moment after the last key. It returns the next fires, the description and the warnings, or an error,
//! which is shown with its position under the field.
//!
//! - `draft`: the fields
//! - `guard`: saves the fields as one text until the form is sent
//! - `builder`: presets, and fields for the parts of an expression
//! - `fixes`: the linter's warnings, each with a fix
//! - `plan`: the values of the fields (pure)
//! - `input`: the values as inputs of the API
//! - `errors`: assigns errors to fields
//! - `identity`, `timing`, `policies`, `target`: the sections
//! - `permits`: whether the server runs programs
//! - `yaml`: shows the schedule as a module file
//! - `preview`: the effect of the timing; `crowd`: how many other schedules start at the same time
//! - `trial`: calls the target once

mod builder;
mod crowd;
mod draft;
mod errors;
mod fixes;
mod guard;
mod identity;
mod input;
mod permits;
mod plan;
mod policies;
mod preview;
mod publish_input;
mod target;
mod timing;
mod trial;
mod yaml;

use std::sync::Arc;

use leptos::{ev::SubmitEvent, prelude::*};

use self::{draft::Draft, errors::Errors, permits::runs_programs, plan::Plan};
use crate::{
    api::{self, Ask},
    components::{AsyncView, PageHead, is_id, live},
    data::{Load, use_actor, use_load, use_once},
    model::{Failure, ScheduleDetail},
    pages::{
        NotFound,
        kit::{self, restored},
        task_form::{lost_sentence, refusal, show_wrong_field},
    },
    route::Route,
    state::{use_address, use_draft, use_title},
};

/// A function from the plan and an idempotency key to the change, and to the notice after it.
type Save = Arc<dyn Fn(Plan, String) -> (Ask<String>, String) + Send + Sync>;

/// The initial state of a form: the key of its draft, and the schedule that it changes.
struct Start {
    key: String,
    schedule: Option<String>,
}

/// The page of a new schedule.
#[component]
pub(crate) fn NewSchedule() -> impl IntoView {
    use_title(|| "New schedule".to_owned());
    let (address, namespace) = (use_address(), kit::use_namespace());
    let save: Save = Arc::new(move |plan, key| {
        let said = format!("{} is created.", plan.name);
        (api::create_schedule(input::create(plan, namespace.get_untracked()), key), said)
    });
    let from = untrack(|| address.query("from"));
    // A copy of a schedule does not bring back what was typed for another one.
    let key = if from.is_empty() { "new".to_owned() } else { format!("new.{from}") };
    let fill = Callback::new(move |draft: Draft| {
        form(
            draft,
            Start { key: key.clone(), schedule: None },
            "Create schedule",
            &Route::Schedules,
            save.clone(),
        )
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
        let load = use_load(move || Some(api::schedule(from.clone())));
        let copied = move || {
            untrack(|| {
                load.with(|schedule| {
                    let draft = Draft::of(schedule);
                    draft.name.update(|name| name.push_str("-copy"));
                    fill.run(draft)
                })
            })
        };
        view! { <AsyncView loading=load.loading what="the schedule to copy">{copied()}</AsyncView> }
            .into_any()
    };
    view! {
        {PageHead::new("New schedule").view()}
        {content}
    }
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
            // The change is based on the version that was read, so that a newer version is a conflict and is not
            // overwritten.
            {untrack(|| load.with(edit))}
        </AsyncView>
    }
}

fn edit(before: &ScheduleDetail) -> AnyView {
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
    let start = Start {
        key: format!("{}.{version}", before.row.id),
        schedule: Some(before.row.id.clone()),
    };
    let original = Draft::of(before).plan().ok();
    let save: Save = Arc::new(move |plan, _| {
        let said = format!("{} is saved.", plan.name);
        let keeps_target = original.as_ref().is_some_and(|original| original.work == plan.work);
        (api::update_schedule(input::update(plan, id.clone(), version, keeps_target)), said)
    });
    view! { {head}{form(Draft::of(before), start, "Save changes", &back, save)} }.into_any()
}

/// The sections, the preview, and the button.
fn form(draft: Draft, start: Start, action: &'static str, back: &Route, save: Save) -> AnyView {
    let (address, actor, once) = (use_address(), use_actor(), use_once());
    let busy = RwSignal::new(false);
    let kept = use_draft(&start.key, move || draft.kept(), move |text| draft.restore(text));
    let answers = preview::use_preview(draft, start.schedule.clone());
    let errors = Errors::new(answers.preview);
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        let plan = match untrack(|| draft.plan()) {
            Ok(plan) => plan,
            Err(wrong) => return fail(errors, wrong),
        };
        errors.clear();
        busy.set(true);
        let (change, said) = save(plan, once.key());
        let sent = kept.sent();
        actor.send(change, move |outcome| {
            let is_left = busy.try_set(false).is_some();
            once.heard(&outcome);
            match outcome {
                Ok(id) => {
                    sent.forget();
                    actor.say(said);
                    if !is_left {
                        address.go(&Route::Schedule(id).path());
                    }
                }
                Err(wrong) if is_left => actor.complain(&wrong),
                Err(wrong) => fail(errors, wrong),
            }
        });
    };
    let refused = live(move || match errors.sent() {
        Some(failure) => refusal(&failure),
        None => ().into_any(),
    });
    let lost = move || {
        let words = draft.task.lost_words();
        lost_sentence(&words.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    view! {
        {restored(kept, lost)}
        <form on:submit=submit novalidate>
            <div class="form-grid">
                <div class="form-main">
                    {identity::identity(draft, errors)}
                    {timing::timing(draft, errors)}
                    {target::target(draft, errors)}
                    {trial::trial(draft, errors, start.schedule)}
                    {policies::policies(draft, errors)}
                </div>
                <div class="form-side">
                    {preview::panel(answers, draft)}
                    {yaml::panel(draft)}
                </div>
            </div>
            <div class="form-save">
                <div role="alert">{refused}</div>
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
