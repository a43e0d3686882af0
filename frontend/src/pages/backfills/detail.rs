//! One backfill, live: its progress, and each of its instants.

use leptos::prelude::*;

use super::{LOOK, actions::use_actions, mode_words, preview::estimate, progress};
use crate::{
    api,
    components::{
        AsyncView, Look, Mark, badge, button, fact, fire_mark, heading, is_id, json_view, live,
        panel, table, when, when_relative,
    },
    data::{Feed, Load, use_feed, use_load},
    model::{self, BackfillDetail, BackfillFire, BackfillOrder, BackfillState, Took},
    pages::{
        NotFound,
        kit::{none, note},
    },
    route::{Route, Scope},
    state::{use_every, use_title},
    time::duration,
};

/// The page of one backfill. A malformed id is not sent to the server.
#[component]
pub(crate) fn Backfill(id: String) -> impl IntoView {
    if is_id(&id) { view! { <Known id=id/> }.into_any() } else { view! { <NotFound/> }.into_any() }
}

#[component]
fn Known(id: String) -> impl IntoView {
    use_title(|| "Backfill".to_owned());
    let after = RwSignal::new(None::<String>);
    let followed = id.clone();
    let backfill = use_load(move || Some(api::planning::backfill(id.clone(), after.get())));
    let loading = backfill.loading;
    use_feed(
        move || Feed::backfill(followed.clone()),
        move |_| loading.refresh(),
        move || loading.refresh(),
    );
    use_every(LOOK, move || {
        let is_over =
            untrack(|| backfill.with(|detail| detail.row.state == BackfillState::Completed));
        if is_over != Some(true) {
            loading.refresh();
        }
    });
    // The backfill is loaded again and again, but the pace of its schedule once.
    let running = Memo::new(move |_| {
        let of = |detail: &BackfillDetail| {
            let row = &detail.row;
            let schedule = row.schedule.as_ref().filter(|_| row.state == BackfillState::Running)?;
            Some((row.namespace.clone(), schedule.id.clone()))
        };
        backfill.with(of).flatten()
    });
    let pace = use_load(move || {
        let (namespace, schedule) = running.get()?;
        Some(api::planning::pace(namespace, schedule))
    });
    let actions = use_actions(loading);
    let head = move |detail: &BackfillDetail| {
        let title = format!("Backfill of {}", detail.row.title());
        view! {
            <header class="page-head">
                <h1>{title}</h1>
                {badge(Mark::Backfill(detail.row.state))}
                <div class="actions">{actions.of(&detail.row)}</div>
            </header>
        }
        .into_any()
    };
    view! {
        <AsyncView loading=loading what="the backfill">
            {backfill.draw(head)}
            <div class="run-grid">
                <div class="run-main">{backfill.draw(move |detail| fires(detail, after))}</div>
                <div class="run-side">{backfill.draw(move |detail| facts(detail, pace))}</div>
            </div>
        </AsyncView>
        {actions.dialogs()}
    }
}

fn facts(detail: &BackfillDetail, pace: Load<Vec<Took>>) -> AnyView {
    let row = &detail.row;
    let ends = (row.state == BackfillState::Running).then(|| fact("Ends", end(row, pace)));
    let stop = |words: &'static str, stop: &Option<model::Stop>| {
        stop.as_ref().map(|stop| {
            let why = stop.reason.clone().map(|why| format!(": {why}")).unwrap_or_default();
            fact(words, view! { {when(stop.at, None)}{format!(" by {}{why}", stop.by)} })
        })
    };
    let schedule = row.schedule.as_ref().map(|schedule| {
        let href = Route::Schedule(schedule.id.clone()).path();
        fact("Schedule", view! { <a href=href>{schedule.name.clone()}</a> })
    });
    let order = match row.order {
        BackfillOrder::OldestFirst => "oldest first",
        BackfillOrder::NewestFirst => "newest first",
    };
    let content = view! {
        {progress(row.progress)}
        <dl class="facts">
            {schedule}
            {fact("From", when(row.from, row.zone()))}
            {fact("To", when(row.to, row.zone()))}
            {fact("Runs", mode_words(row.mode))}
            {fact("Order", format!("{order}, {} at once", row.concurrency))}
            {fact("Why", format!("{} ({})", row.reason, row.created_by))}
            {fact("Created", when_relative(row.created_at, None))}
            {ends}
            {row.finished_at.map(|at| fact("Finished", when_relative(at, None)))}
            {stop("Paused", &row.pause)}
            {stop("Cancelled", &row.cancel)}
        </dl>
        {detail.more.context.as_ref().map(|context| json_view(context, "Context"))}
    };
    panel("Progress", runs(row), content.into_any())
}

/// The link to the runs that backfills have created in this one's window.
fn runs(row: &model::Backfill) -> AnyView {
    let Some(schedule) = &row.schedule else { return ().into_any() };
    let terms = run_terms(&schedule.name, &row.from.to_rfc3339(), &row.to.to_rfc3339());
    let home = Scope::One(row.namespace.clone());
    let href = Route::Runs.narrowed_in(&home, &[("q", &terms)]);
    view! { <a href=href>"Runs of the window"</a> }.into_any()
}

fn run_terms(schedule: &str, from: &str, to: &str) -> String {
    format!("schedule:\"{schedule}\" trigger:backfill scheduled:>={from} scheduled:<{to}")
}

/// When a running backfill will probably end.
fn end(row: &model::Backfill, pace: Load<Vec<Took>>) -> AnyView {
    let (left, at_once) = (row.progress.pending + row.progress.running, row.concurrency.max(1));
    live(move || {
        let words = |runs: &Vec<Took>| {
            let took: Vec<i64> = runs.iter().filter_map(|run| run.duration_ms).collect();
            let millis = estimate(left, at_once, &took)?;
            let (left, runs) = (duration(millis), took.len());
            Some(format!("in about {left}, based on its last {runs} successful runs"))
        };
        let unknown = "unknown until runs of the schedule have succeeded";
        let known = pace.with(words).map(|words| words.unwrap_or_else(|| unknown.to_owned()));
        known.unwrap_or_default().into_any()
    })
}

fn fires(detail: &BackfillDetail, after: RwSignal<Option<String>>) -> AnyView {
    let zone = detail.row.zone();
    let page = &detail.more.fires;
    let row = |fire: &std::sync::Arc<BackfillFire>| {
        let run = fire.run.as_ref().map_or_else(none, |run| {
            view! { <a href=Route::Run(run.id.clone()).path()>"Run"</a> }.into_any()
        });
        view! {
            <tr data-testid="backfill-fire">
                <td>{when(fire.scheduled_at, zone.clone())}{fire_mark(fire.kind)}</td>
                <td>{badge(Mark::BackfillFire(fire.state))}{fire.detail.clone().map(note)}</td>
                <td>{run}</td>
            </tr>
        }
        .into_any()
    };
    let headings = vec![heading("Instant", ""), heading("State", ""), heading("Run", "")];
    let rows: Vec<_> = page.rows.iter().map(row).collect();
    let next = page.next.clone();
    let has_next = next.is_some();
    let is_first = untrack(|| after.with(Option::is_none));
    let pages = (has_next || !is_first).then(|| {
        let further =
            has_next.then(|| button(Look::Plain, None, "Next", move || after.set(next.clone())));
        let back =
            (!is_first).then(|| button(Look::Plain, None, "First page", move || after.set(None)));
        view! { <nav class="pager" aria-label="Pages of instants">{back}{further}</nav> }.into_any()
    });
    let content = view! { {table("Instants", "table", headings, rows.into_any())}{pages} };
    panel("Instants", (), content.into_any())
}

#[cfg(test)]
mod tests {
    use super::run_terms;

    #[test]
    fn a_backfill_leads_to_the_runs_of_its_window() {
        let terms = run_terms("night shift", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z");
        let window = "scheduled:>=2026-01-31T00:00:00Z scheduled:<2026-02-01T00:00:00Z";
        assert_eq!(terms, format!("schedule:\"night shift\" trigger:backfill {window}"));
    }
}
