//! A schedule in a row.

use leptos::{prelude::*, task::spawn_local};

use crate::{
    api::{self, Failure, Load},
    components::{Badge, Expressions, Glyph, Icon, Mark, Tags, TallyBar, WarningList, When},
    model::{Keyed, Page, ScheduleRow, ScheduleState},
    pages::schedule::PauseDialog,
    route::Route,
    state::{Rows, use_notices, use_session},
};

/// The rows, and the one dialog that they share.
#[component]
pub(super) fn Table(rows: Rows<ScheduleRow>, load: Load<Page<ScheduleRow>>) -> impl IntoView {
    let pausing = RwSignal::new(None::<String>);
    let open = RwSignal::new(false);
    let first = move |id: &str| untrack(|| rows.all()).into_iter().find(|row| row.key() == id);
    view! {
        <div class="table-frame" tabindex="0" role="group" aria-label="Schedules">
            <table class="table">
                <caption class="visually-hidden">"Schedules"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Name"</th>
                        <th scope="col">"State"</th>
                        <th scope="col" class="wide">"When"</th>
                        <th scope="col">"Next fire"</th>
                        <th scope="col" class="wide">"Last fire"</th>
                        <th scope="col" class="wide">"Last run"</th>
                        <th scope="col" class="wide">"24 h"</th>
                        <th scope="col"><span class="visually-hidden">"Actions"</span></th>
                    </tr>
                </thead>
                <tbody>
                    <For each=move || rows.ids() key=String::clone let:id>
                        {first(&id).map(|schedule| view! {
                            <Row row=rows.row(&id, schedule) pause=move |id| {
                                pausing.set(Some(id));
                                open.set(true);
                            }/>
                        })}
                    </For>
                </tbody>
            </table>
        </div>
        <PauseDialog open=open id=Signal::derive(move || pausing.get().unwrap_or_default()) done=move || load.refresh()/>
    }
}

#[component]
fn Row(
    row: Memo<ScheduleRow>,
    pause: impl Fn(String) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let zone = Signal::derive(move || Some(row.with(|row| row.zone.clone())));
    let never = Signal::derive(move || {
        row.with(|row| row.warnings.iter().filter(|w| w.is_never()).cloned().collect::<Vec<_>>())
    });
    let time = move |at: Signal<Option<crate::time::Moment>>| {
        move || match at.get() {
            Some(at) => view! { <When at=at zone=zone is_relative=true/> }.into_any(),
            None => view! { <span class="muted">"–"</span> }.into_any(),
        }
    };
    view! {
        <tr data-testid="schedule-row" data-state=move || Mark::Schedule(row.with(|row| row.state)).state()>
            <th scope="row" class="name-cell">
                <a href=Route::Schedule(row.with_untracked(|row| row.id.clone())).path()>
                    {move || row.with(|row| row.name.clone())}
                </a>
                <Tags tags=Signal::derive(move || row.with(|row| row.tags.clone()))/>
                <WarningList warnings=never/>
            </th>
            <td>
                <Badge mark=Signal::derive(move || Mark::Schedule(row.with(|row| row.state)))/>
                {move || row.with(|row| row.pause.clone()).map(|pause| view! {
                    <span class="cell-note" title=format!("{} by {}", pause.reason, pause.by)>{pause.reason.clone()}</span>
                })}
            </td>
            <td class="timing-cell wide" title=move || row.with(|row| row.description.clone())>
                <Expressions expressions=Signal::derive(move || row.with(|row| row.expressions.clone()))/>
                <span class="cell-note">{move || row.with(|row| row.zone.clone())}</span>
            </td>
            <td>{time(Signal::derive(move || row.with(|row| row.next_fire_at)))}</td>
            <td class="wide">{time(Signal::derive(move || row.with(|row| row.last_fire_at)))}</td>
            <td class="wide">{move || row.with(|row| row.last_run.clone()).map(|(id, state)| view! {
                <a class="cell-link" href=Route::Run(id).path() aria-label=format!("Last run, {}", Mark::Run(state).word())>
                    <Badge mark=Mark::Run(state)/>
                </a>
            })}</td>
            <td class="wide"><TallyBar tally=Signal::derive(move || row.with(|row| row.tally))/></td>
            <td class="actions-cell"><Actions row=row pause=pause/></td>
        </tr>
    }
}

#[component]
fn Actions(
    row: Memo<ScheduleRow>,
    pause: impl Fn(String) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let session = use_session();
    let notices = use_notices();
    let say = move |outcome: Result<(), Failure>, done: String| match outcome {
        Ok(()) => notices.done(done),
        Err(failure) => notices.failed(&failure),
    };
    let id = move || row.with_untracked(|row| row.id.clone());
    let name = move || row.with_untracked(|row| row.name.clone());
    let trigger = move |_| {
        let (id, name) = (id(), name());
        spawn_local(async move {
            say(api::trigger_schedule(id).await.map(drop), format!("{name} runs now."));
        });
    };
    let resume = move |_| {
        let (id, name) = (id(), name());
        spawn_local(async move {
            let missed = crate::model::CatchUp::Skip;
            say(api::resume_schedule(id, missed).await, format!("{name} is active again."));
        });
    };
    let state = move || row.with(|row| row.state);
    view! {
        <Show when=move || session.operates()>
            <div class="row-actions">
                <button type="button" class="icon-button" title="Run now"
                    aria-label=move || format!("Run {} now", row.with(|row| row.name.clone())) on:click=trigger>
                    <Icon glyph=Glyph::Play/>
                </button>
                {move || match state() {
                    ScheduleState::Active => view! {
                        <button type="button" class="icon-button" title="Pause"
                            aria-label=format!("Pause {}", name()) on:click=move |_| pause(id())>
                            <Icon glyph=Glyph::Pause/>
                        </button>
                    }.into_any(),
                    ScheduleState::Paused => view! {
                        <button type="button" class="icon-button" title="Resume"
                            aria-label=format!("Resume {}", name()) on:click=resume>
                            <Icon glyph=Glyph::Resume/>
                        </button>
                    }.into_any(),
                    ScheduleState::Finished => ().into_any(),
                }}
            </div>
        </Show>
    }
}
