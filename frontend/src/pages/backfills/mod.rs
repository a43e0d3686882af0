//! Backfills: runs of schedules for past instants.
//!
//! - `planner`: range, mode and order of a new backfill; `preview`: the exact list of its instants by state
//! - `detail`: one backfill, with its fires
//! - `actions`: pause, resume, cancel

mod actions;
mod detail;
mod planner;
mod preview;

pub(crate) use detail::Backfill;
pub(crate) use planner::NewBackfill;

use std::time::Duration;

use leptos::prelude::*;

use super::{
    cursors,
    kit::{empty, note, place_cell, placed},
    place,
};
use crate::{
    api,
    components::{
        AsyncView, Heading, Mark, badge, heading, pager, rows, silent_heading, table, when,
        when_relative,
    },
    data::{Feed, Loading, use_feed, use_listing},
    model::Place,
    model::{self, Progress},
    route::Route,
    state::{use_address, use_every, use_session, use_title},
    time::grouped,
};
use actions::{Actions, use_actions};

const SIZE: usize = 50;
/// How often backfills are loaded again in any case; events make them load at once.
const LOOK: Duration = Duration::from_secs(30);

/// The list of backfills, newest first.
#[component]
pub(crate) fn Backfills() -> impl IntoView {
    use_title(|| "Backfills".to_owned());
    let (address, session) = (use_address(), use_session());
    let backfills = use_listing(SIZE, move || {
        api::planning::backfills(address.namespace(), place(address), SIZE)
    });
    let loading = backfills.load.loading;
    use_feed(
        move || Feed::backfills(address.namespace()),
        move |_| loading.refresh(),
        move || loading.refresh(),
    );
    use_every(LOOK, move || loading.refresh());
    let actions = use_actions(loading);
    let go = move |place: Place| address.go(&Route::Backfills.narrowed(&cursors(&place)));
    let new = move || {
        session.operates().then(|| {
            view! { <a class="button button-primary" href=Route::NewBackfill.path()>"New backfill"</a> }.into_any()
        })
    };
    view! {
        <header class="page-head"><h1>"Backfills"</h1>{move || new()}</header>
        <AsyncView
            loading=loading
            what="backfills"
            is_empty=Signal::derive(move || backfills.list.is_empty())
            empty=|| empty("No backfill yet", "A backfill runs a schedule for past instants: those that were missed, or that failed.")
        >
            {table("Backfills", "table", placed(headings(), 1), rows(backfills.list, move |row| line(row, actions)))}
            {pager(backfills.beside(), "backfills", go)}
        </AsyncView>
        {actions.dialogs()}
    }
}

fn headings() -> Vec<Heading> {
    vec![
        heading("Schedule", ""),
        heading("State", ""),
        heading("Window", "wide"),
        heading("Progress", ""),
        heading("Why", "wide"),
        heading("Created", "wide"),
        silent_heading("Actions"),
    ]
}

fn line(row: &model::Backfill, actions: Actions) -> AnyView {
    let href = Route::Backfill(row.id.clone()).path_at(&row.namespace);
    let pause = row
        .pause
        .as_ref()
        .map(|pause| note(pause.reason.clone().unwrap_or_else(|| format!("by {}", pause.by))));
    view! {
        <tr data-testid="backfill-row">
            <th scope="row" class="name-cell"><a href=href>{row.title().to_owned()}</a></th>
            {place_cell(&row.namespace)}
            <td>{badge(Mark::Backfill(row.state))}{pause}</td>
            <td class="wide">{when(row.from, row.zone())}<span class="cell-note">"to "{when(row.to, row.zone())}</span></td>
            <td>{progress(row.progress)}</td>
            <td class="why-cell wide">{row.reason.clone()}{note(row.created_by.clone())}</td>
            <td class="wide">{when_relative(row.created_at, None)}</td>
            <td class="actions-cell">{actions.of(row)}</td>
        </tr>
    }
    .into_any()
}

/// The progress as a bar, and the numbers in words.
fn progress(progress: Progress) -> AnyView {
    let parts = [
        ("succeeded", progress.succeeded, "succeeded"),
        ("failed", progress.failed, "failed"),
        ("running", progress.running, "running"),
        ("cancelled", progress.cancelled, "cancelled"),
        ("skipped", progress.skipped, "skipped"),
        ("pending", progress.pending, "waiting"),
    ];
    let total = progress.total.max(1);
    let mut from = 0;
    let bars: Vec<_> = parts
        .iter()
        .filter(|(_, count, _)| *count > 0)
        .map(|(state, count, _)| {
            let (x, width) = (from * 1_000 / total, count * 1_000 / total);
            from += count;
            view! { <rect class="tally-part" data-state=*state x=x width=width y="0" height="6"></rect> }
                .into_any()
        })
        .collect();
    let words: Vec<String> = parts
        .iter()
        .filter(|(_, count, _)| *count > 0)
        .map(|(_, count, word)| format!("{} {word}", grouped(*count)))
        .collect();
    view! {
        <span class="progress">
            <svg viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true"><rect class="tally-ground" width="1000" height="6"></rect>{bars}</svg>
            <span class="cell-note">{format!("of {}: {}", grouped(progress.total), words.join(", "))}</span>
        </span>
    }
    .into_any()
}

/// The instants that each mode runs, in words.
fn mode_words(mode: model::BackfillMode) -> &'static str {
    match mode {
        model::BackfillMode::Missing => "instants without a run",
        model::BackfillMode::MissingAndFailed => "also those that failed",
        model::BackfillMode::All => "all, including those that succeeded",
    }
}

fn reload(loading: Loading) -> impl Fn(String) + Clone + 'static {
    move |_| loading.reload()
}
