//! The ledger: one row for every expected fire, with what became of it and why.

use leptos::prelude::*;

use crate::{
    api::{self},
    components::{
        self, AsyncView, Mark, PastFire, badge, fire_history, fire_mark, heading, pager,
        reason_text, rows, when,
    },
    data::{Listing, use_listing},
    model::{Fire, Place, Verdict},
    route::Route,
    time::duration,
};

const SIZE: usize = 25;

/// The page of the ledger that is shown.
#[derive(Clone, Copy)]
pub(super) struct Ledger {
    pub(super) fires: Listing<Fire>,
    place: RwSignal<Place>,
}

/// Loads the ledger of a schedule, newest first.
pub(super) fn use_ledger(schedule: String) -> Ledger {
    let place = RwSignal::new(Place::First);
    let fires = use_listing(SIZE, move || api::fires(schedule.clone(), place.get(), SIZE));
    Ledger { fires, place }
}

/// What a fire came to: its run's state where there is a run, else its verdict.
fn mark(fire: &Fire) -> Mark {
    match (&fire.run, fire.verdict) {
        (Some(run), Verdict::Started | Verdict::Pending) => Mark::Run(run.state),
        (_, verdict) => Mark::Verdict(verdict),
    }
}

fn local(fire: &Fire) -> String {
    format!("{} {}", fire.local.replace('T', " "), fire.offset)
}

/// The last fires as fire_history, the newest on the right.
pub(super) fn pulse(ledger: Ledger) -> AnyView {
    ledger.fires.load.draw(|page| {
        if page.rows.is_empty() {
            return ().into_any();
        }
        let past = |fire: &std::sync::Arc<Fire>| PastFire {
            mark: mark(fire),
            title: format!("{}: {}", local(fire), fire.reason.text),
        };
        fire_history(page.rows.iter().rev().map(past).collect())
    })
}

/// The table. `zone` is the schedule's.
pub(super) fn table(ledger: Ledger, zone: Memo<Option<String>>) -> AnyView {
    let Ledger { fires, place } = ledger;
    let headings = || {
        vec![
            heading("Scheduled", ""),
            heading("Verdict", ""),
            heading("Why", ""),
            heading("Run", ""),
            heading("Late", "number wide"),
            heading("Took", "number wide"),
        ]
    };
    let body = move || rows(fires.list, move |fire| row(fire, zone.get()));
    view! {
        <AsyncView
            loading=fires.load.loading
            what="the ledger"
            is_empty=Signal::derive(move || fires.list.is_empty())
            empty=|| view! {
                <p class="empty-title">"No fire yet"</p>
                <p>"Each expected fire gets a row here, whether it runs or not."</p>
            }
        >
            {components::table("Fire ledger", "table", headings(), body())}
            {pager(fires.beside(), "the ledger", move |to| place.set(to))}
        </AsyncView>
    }
    .into_any()
}

fn row(fire: &Fire, zone: Option<String>) -> AnyView {
    let note = |words: AnyView| view! { <span class="cell-note">{words}</span> }.into_any();
    let many = (fire.count > 1).then(|| {
        let last = when(fire.last_scheduled_at, zone.clone());
        note(view! { {format!("{} instants, up to ", fire.count)}{last} }.into_any())
    });
    let recovered = (fire.recovery_attempts > 0)
        .then(|| note(format!("{} recovery attempts", fire.recovery_attempts).into_any()));
    let run = fire.run.as_ref().map(|run| {
        let (mark, href) = (Mark::Run(run.state), Route::Run(run.id.clone()).path());
        let name = format!("Run, {}", mark.word());
        view! { <a class="cell-link" href=href aria-label=name>{badge(mark)}</a> }.into_any()
    });
    let time = |millis: Option<i64>| millis.map_or_else(|| "–".to_owned(), duration);
    let verdict = Mark::Verdict(fire.verdict);
    view! {
        <tr data-testid="ledger-row" data-state=verdict.state()>
            <td>{when(fire.scheduled_at, zone)}{fire_mark(fire.kind)}{many}</td>
            <td>{badge(verdict)}</td>
            <td class="why-cell">{reason_text(&fire.reason.text)}{recovered}</td>
            <td>{run}</td>
            <td class="number wide">{time(fire.run.as_ref().and_then(|run| run.lateness_ms))}</td>
            <td class="number wide">{time(fire.run.as_ref().and_then(|run| run.duration_ms))}</td>
        </tr>
    }
    .into_any()
}
