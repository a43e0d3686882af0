//! Name, state and actions.

use leptos::{prelude::*, task::spawn_local};

use super::{
    dialogs::{DeleteDialog, PauseDialog, ResumeDialog},
    part,
};
use crate::{
    api,
    components::{Badge, Expressions, Glyph, Icon, Mark, Tags, When},
    model::{ScheduleDetail, ScheduleState},
    route::Route,
    state::{use_notices, use_session},
};

/// The head of the page.
#[component]
pub(super) fn Header(
    schedule: Signal<ScheduleDetail>,
    changed: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let state = part(schedule, |schedule| schedule.row.state);
    let zone = part(schedule, |schedule| Some(schedule.row.zone.clone()));
    let row = part(schedule, |schedule| schedule.row.clone());
    view! {
        <header class="schedule-head">
            <div class="page-head">
                <h1>{move || row.with(|row| row.name.clone())}</h1>
                <Badge mark=Signal::derive(move || Mark::Schedule(state.get())) test="schedule-state"/>
                <Actions schedule=schedule state=state changed=changed/>
            </div>
            <p class="lede">
                <Expressions expressions=part(schedule, |schedule| schedule.row.expressions.clone())/>
                <span>{move || row.with(|row| row.description.clone())}</span>
            </p>
            {move || row.with(|row| row.pause.clone()).map(|pause| view! {
                <p class="pause-note" role="status">
                    <Icon glyph=Glyph::Pause/>
                    <strong>{format!("Paused by {}", pause.by)}</strong>
                    <When at=pause.at zone=zone is_relative=true/>
                    <span>{pause.reason}</span>
                    {pause.until.map(|until| view! { <span>"until "<When at=until zone=zone/></span> })}
                </p>
            })}
            {move || {
                let note = row.with(|row| row.note.clone());
                (!note.is_empty()).then(|| view! { <p class="note">{note}</p> })
            }}
            <Tags tags=part(schedule, |schedule| schedule.row.tags.clone())/>
        </header>
    }
}

/// Run now, pause or resume, edit, delete: what the role allows.
#[component]
fn Actions(
    schedule: Signal<ScheduleDetail>,
    state: Signal<ScheduleState>,
    changed: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let session = use_session();
    let notices = use_notices();
    let id = part(schedule, |schedule| schedule.row.id.clone());
    let name = part(schedule, |schedule| schedule.row.name.clone());
    let is_declared = part(schedule, |schedule| schedule.module.is_some());
    let (pausing, resuming, deleting) =
        (RwSignal::new(false), RwSignal::new(false), RwSignal::new(false));
    let trigger = move |_| {
        spawn_local(async move {
            match api::trigger_schedule(id.get_untracked()).await {
                Ok(_) => {
                    notices.done(format!("{} runs now.", name.get_untracked()));
                    changed();
                }
                Err(failure) => notices.failed(&failure),
            }
        });
    };
    view! {
        <div class="actions">
            <Show when=move || session.operates()>
                <button type="button" class="button" on:click=trigger>
                    <Icon glyph=Glyph::Play/>"Run now"
                </button>
                {move || match state.get() {
                    ScheduleState::Active => view! {
                        <button type="button" class="button" on:click=move |_| pausing.set(true)>
                            <Icon glyph=Glyph::Pause/>"Pause"
                        </button>
                    }.into_any(),
                    ScheduleState::Paused => view! {
                        <button type="button" class="button button-primary" on:click=move |_| resuming.set(true)>
                            <Icon glyph=Glyph::Resume/>"Resume"
                        </button>
                    }.into_any(),
                    ScheduleState::Finished => ().into_any(),
                }}
            </Show>
            <Show when=move || session.edits()>
                <a class="button" href=move || Route::EditSchedule(id.get()).path()>
                    <Icon glyph=Glyph::Edit/>"Edit"
                </a>
                // What a module declares is deleted by deploying the module without it.
                <Show when=move || !is_declared.get()>
                    <button type="button" class="button button-danger" on:click=move |_| deleting.set(true)>
                        <Icon glyph=Glyph::Trash/>"Delete"
                    </button>
                </Show>
            </Show>
        </div>
        <PauseDialog open=pausing id=id done=changed/>
        <ResumeDialog open=resuming id=id done=changed/>
        <DeleteDialog open=deleting id=id name=name/>
    }
}
