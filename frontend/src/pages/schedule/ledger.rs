//! The ledger: one row for every expected fire, with what became of it and why.

use leptos::prelude::*;

use crate::{
    api::{self, Load, Place, use_load},
    components::{AsyncView, Badge, Bead, Beads, FireMark, Mark, Pager, ReasonText, When},
    model::{Fire, Page, Verdict},
    route::Route,
    state::Rows,
    time::duration,
};

const SIZE: i64 = 25;

/// The page of the ledger that is shown.
#[derive(Clone, Copy)]
pub(super) struct Ledger {
    pub(super) load: Load<Page<Fire>>,
    rows: Rows<Fire>,
    place: RwSignal<Place>,
}

/// Loads the ledger of a schedule, newest first.
pub(super) fn use_ledger(schedule: String) -> Ledger {
    let place = RwSignal::new(Place::First);
    let load = use_load(move || Some(api::fires(schedule.clone(), place.get(), SIZE)));
    let rows = Rows::new();
    Effect::new(move |_| {
        if let Some(page) = load.data.get() {
            rows.set(page.rows);
        }
    });
    Ledger { load, rows, place }
}

/// What a fire came to: its run's state where there is a run, else its verdict.
fn mark(fire: &Fire) -> Mark {
    match (&fire.run, fire.verdict) {
        (Some(run), Verdict::Started | Verdict::Pending) => Mark::Run(run.state),
        (_, verdict) => Mark::Verdict(verdict),
    }
}

/// The last fires as beads, the newest on the right.
#[component]
pub(super) fn Pulse(ledger: Ledger) -> impl IntoView {
    let beads = Memo::new(move |_| {
        let fires = ledger.rows.all();
        fires
            .iter()
            .rev()
            .map(|fire| Bead {
                mark: mark(fire),
                title: format!("{} {}: {}", fire.local.replace('T', " "), fire.offset, fire.reason),
            })
            .collect::<Vec<_>>()
    });
    view! {
        <Show when=move || beads.with(|beads| !beads.is_empty())>
            <Beads beads=Signal::from(beads)/>
        </Show>
    }
}

/// The table.
#[component]
pub(super) fn Table(ledger: Ledger, zone: Signal<Option<String>>) -> impl IntoView {
    let Ledger { load, rows, place } = ledger;
    let first = move |id: &str| untrack(|| rows.all()).into_iter().find(|fire| fire.id == id);
    view! {
        <AsyncView
            load=load
            what="the ledger"
            is_empty=Signal::derive(move || rows.is_empty())
            empty=|| view! {
                <p class="empty-title">"No fire yet"</p>
                <p>"Each expected fire gets a row here, whether it runs or not."</p>
            }
            let:page
        >
            <div class="table-frame" tabindex="0" role="group" aria-label="Fire ledger">
                <table class="table">
                    <caption class="visually-hidden">"Fire ledger"</caption>
                    <thead>
                        <tr>
                            <th scope="col">"Scheduled"</th>
                            <th scope="col">"Verdict"</th>
                            <th scope="col">"Why"</th>
                            <th scope="col">"Run"</th>
                            <th scope="col" class="number wide">"Late"</th>
                            <th scope="col" class="number wide">"Took"</th>
                        </tr>
                    </thead>
                    <tbody>
                        <For each=move || rows.ids() key=String::clone let:id>
                            {first(&id).map(|fire| view! { <Row fire=rows.row(&id, fire) zone=zone/> })}
                        </For>
                    </tbody>
                </table>
            </div>
            <Pager
                what="the ledger"
                previous=Signal::derive(move || page.with(|page| page.previous.clone()))
                next=Signal::derive(move || page.with(|page| page.next.clone()))
                go=move |to| place.set(to)
            />
        </AsyncView>
    }
}

#[component]
fn Row(fire: Memo<Fire>, zone: Signal<Option<String>>) -> impl IntoView {
    let many = move || {
        let fire = fire.get();
        (fire.count > 1).then(|| view! {
            <span class="cell-note">
                {format!("{} instants, up to ", fire.count)}<When at=fire.last_scheduled_at zone=zone/>
            </span>
        })
    };
    let time =
        |millis: Option<i64>| millis.map_or_else(|| "–".to_owned(), |ms| duration(ms as f64));
    view! {
        <tr data-testid="ledger-row" data-state=move || fire.with(|fire| Mark::Verdict(fire.verdict).state())>
            <td>
                <When at=Signal::derive(move || fire.with(|fire| fire.scheduled_at)) zone=zone/>
                {move || fire.with(|fire| fire.kind != crate::model::FireKind::Normal).then(|| view! {
                    <FireMark kind=fire.with(|fire| fire.kind)/>
                })}
                {many}
            </td>
            <td><Badge mark=Signal::derive(move || Mark::Verdict(fire.with(|fire| fire.verdict)))/></td>
            <td class="why-cell">
                {move || view! { <ReasonText text=fire.with(|fire| fire.reason.clone())/> }}
                {move || fire.with(|fire| (fire.recovery_attempts > 0).then(|| view! {
                    <span class="cell-note">{format!("{} recovery attempts", fire.recovery_attempts)}</span>
                }))}
            </td>
            <td>{move || fire.with(|fire| fire.run.clone()).map(|run| view! {
                <a class="cell-link" href=Route::Run(run.id).path() aria-label=format!("Run, {}", Mark::Run(run.state).word())>
                    <Badge mark=Mark::Run(run.state)/>
                </a>
            })}</td>
            <td class="number wide">{move || fire.with(|fire| time(fire.run.as_ref().and_then(|run| run.lateness_ms)))}</td>
            <td class="number wide">{move || fire.with(|fire| time(fire.run.as_ref().and_then(|run| run.duration_ms)))}</td>
        </tr>
    }
}
