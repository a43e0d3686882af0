//! The form that makes and changes schedules, with the calculator's answer beside it while one types.
//!
//! The fields are text until they are sent; `draft` holds them, `plan` reads them into values or says which field cannot be
//! read, and `input` turns the values into the operations' inputs. What a timing means is asked of the server, a moment
//! after the last key: next fires, words, warnings, and the error with its place under the field.
//!
//! - `draft`: the fields
//! - `plan`: their values (pure)
//! - `input`: the values as inputs of the API
//! - `errors`: which error belongs under which field
//! - `identity`, `timing`, `policies`, `target`: the sections
//! - `preview`: what the timing would do

mod draft;
mod errors;
mod identity;
mod input;
mod plan;
mod policies;
mod preview;
mod target;
mod timing;

use std::future::Future;

use leptos::{ev::SubmitEvent, prelude::*, task::spawn_local};
use leptos_router::{NavigateOptions, hooks::use_navigate};
use wasm_bindgen::JsCast;

use self::{draft::Draft, errors::Errors, plan::Plan};
use crate::{
    api::{self, Failure, Load, use_load},
    components::AsyncView,
    model::ScheduleDetail,
    route::{Route, use_id},
    state::{use_notices, use_title},
};

/// A new schedule.
#[component]
pub(crate) fn NewSchedule() -> impl IntoView {
    use_title(|| "New schedule".to_owned());
    let notices = use_notices();
    let save = move |plan: Plan| async move {
        let name = plan.name.clone();
        let id = api::create_schedule(input::create(plan)).await?;
        notices.done(format!("{name} is created."));
        Ok(id)
    };
    view! {
        <header class="page-head"><h1>"New schedule"</h1></header>
        <Form draft=Draft::new() action="Create schedule" back=Route::Schedules save=save/>
    }
}

/// The schedule of the address, to change.
#[component]
pub(crate) fn EditSchedule() -> impl IntoView {
    let id = use_id();
    move || view! { <Edit id=id.get()/> }
}

#[component]
fn Edit(id: String) -> impl IntoView {
    use_title(|| "Edit schedule".to_owned());
    let notices = use_notices();
    let load: Load<ScheduleDetail> = use_load(move || Some(api::schedule(id.clone())));
    view! {
        <AsyncView load=load what="the schedule" let:schedule>
            {
                // The version that is being changed is the one that was read: a newer one is a conflict, not overwritten.
                let before = schedule.get_untracked();
                let row = before.row.clone();
                let original = Draft::of(&before).plan().ok();
                let save = move |plan: Plan| {
                    let (id, version) = (row.id.clone(), row.version);
                    let keeps_target = original.as_ref().is_some_and(|o| o.work == plan.work);
                    async move {
                        let name = plan.name.clone();
                        let id = api::update_schedule(input::update(plan, id, version, keeps_target)).await?;
                        notices.done(format!("{name} is saved."));
                        Ok(id)
                    }
                };
                view! {
                    <header class="page-head"><h1>"Edit "{before.row.name.clone()}</h1></header>
                    {before.module.clone().map(|module| view! {
                        <p class="pause-note form-note">
                            {format!("The module {module} declares this schedule. Change its file and deploy it; \
                                what is saved here is refused.")}
                        </p>
                    })}
                    <Form draft=Draft::of(&before) action="Save changes" back=Route::Schedule(before.row.id) save=save/>
                }
            }
        </AsyncView>
    }
}

/// The sections, the preview, and the button. `save` answers the schedule's id.
#[component]
fn Form<F>(
    draft: Draft,
    action: &'static str,
    back: Route,
    save: impl Fn(Plan) -> F + Send + Sync + 'static,
) -> impl IntoView
where
    F: Future<Output = Result<String, Failure>> + 'static,
{
    let navigate = StoredValue::new(use_navigate());
    let busy = RwSignal::new(false);
    let answer = preview::use_preview(draft);
    let errors = Errors::new(answer);
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        let plan = match draft.plan() {
            Ok(plan) => plan,
            Err(wrong) => return fail(errors, wrong),
        };
        errors.clear();
        busy.set(true);
        let work = save(plan);
        spawn_local(async move {
            let outcome = work.await;
            busy.set(false);
            match outcome {
                Ok(id) => navigate.with_value(|navigate| {
                    navigate(&Route::Schedule(id).path(), NavigateOptions::default());
                }),
                Err(wrong) => fail(errors, wrong),
            }
        });
    };
    view! {
        <form class="form-grid" on:submit=submit novalidate>
            <div class="form-main">
                <identity::Identity draft=draft errors=errors/>
                <timing::Timing draft=draft errors=errors/>
                <target::TargetSection draft=draft errors=errors/>
                <policies::Policies draft=draft errors=errors/>
            </div>
            <div class="form-side">
                <preview::PreviewPanel answer=answer draft=draft/>
                <div role="alert">
                    {move || errors.sent().map(|failure| view! {
                        <p class="form-error">{failure.message.clone()}" "{failure.advice()}</p>
                    })}
                </div>
                <div class="form-foot">
                    <button type="submit" class="button button-primary" aria-disabled=move || busy.get().to_string()>{action}</button>
                    <a class="button" href=back.path()>"Cancel"</a>
                </div>
            </div>
        </form>
    }
}

/// Shows what is wrong, and goes to the field that it is about.
fn fail(errors: Errors, wrong: Failure) {
    errors.set(wrong);
    request_animation_frame(|| {
        let field = document().query_selector("form [aria-invalid=true]").ok().flatten();
        if let Some(field) = field.and_then(|f| f.dyn_into::<web_sys::HtmlElement>().ok()) {
            let _hidden = field.focus();
        }
    });
}
