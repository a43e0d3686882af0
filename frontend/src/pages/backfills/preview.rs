//! What a new backfill would run: the exact list of its instants by state, and the estimated end.

use leptos::prelude::*;

use crate::{
    api::planning::{self, BackfillOrderOf},
    components::{
        AsyncView, Look, Mark, badge, button, fire_mark, heading, live, panel, table, when,
    },
    data::{Load, use_load},
    model::{BackfillPreview, BackfillStanding, PastFire, ScheduleName, Took},
    pages::kit::note,
    time::{duration, grouped},
};

/// The filters of the list, in the order of the buttons; `None` selects the instants that would
/// run.
const STANDINGS: [(Option<BackfillStanding>, &str); 7] = [
    (None, "Would run"),
    (Some(BackfillStanding::Missing), "Nothing ran"),
    (Some(BackfillStanding::Failed), "Failed"),
    (Some(BackfillStanding::Succeeded), "Succeeded"),
    (Some(BackfillStanding::Live), "Alive"),
    (Some(BackfillStanding::Suppressed), "Suppressed"),
    (Some(BackfillStanding::Forgotten), "Too long ago"),
];

fn count(preview: &BackfillPreview, standing: Option<BackfillStanding>) -> i64 {
    match standing {
        None => preview.selected,
        Some(BackfillStanding::Missing) => preview.missing,
        Some(BackfillStanding::Failed) => preview.failed,
        Some(BackfillStanding::Succeeded) => preview.succeeded,
        Some(BackfillStanding::Live) => preview.live,
        Some(BackfillStanding::Suppressed) => preview.suppressed,
        Some(BackfillStanding::Forgotten) => preview.forgotten,
    }
}

/// The instants of a backfill as it is chosen in the form, by state. `concurrency` is the number of runs at once, as
/// typed.
pub(super) fn list(
    what: Memo<Option<BackfillOrderOf>>,
    concurrency: RwSignal<String>,
    schedule: Memo<Option<ScheduleName>>,
    namespace: Memo<String>,
) -> AnyView {
    let standing = RwSignal::new(None::<BackfillStanding>);
    let after = RwSignal::new(None::<String>);
    Effect::new(move |_| {
        what.track();
        after.set(None);
    });
    let preview = use_load(move || {
        Some(planning::preview_backfill(what.get()?, standing.get(), after.get()))
    });
    let id =
        Memo::new(move |_| schedule.with(|found| found.as_ref().map(|found| found.id.clone())));
    let pace = use_load(move || Some(planning::pace(namespace.get(), id.get()?)));
    let zone =
        Memo::new(move |_| schedule.with(|found| found.as_ref().map(|s| s.timing.zone.clone())));
    let choose = move |preview: &BackfillPreview| {
        let one = |(chosen, words): (Option<BackfillStanding>, &'static str)| {
            let count = count(preview, chosen);
            let click = move |_| {
                after.set(None);
                standing.set(chosen);
            };
            view! {
                <button type="button" class="button" aria-pressed=move || (standing.get() == chosen).to_string() on:click=click>
                    {words}" "<span class="muted">{grouped(count)}</span>
                </button>
            }
            .into_any()
        };
        STANDINGS
            .into_iter()
            .filter(|(chosen, _)| chosen.is_none() || count(preview, *chosen) > 0)
            .map(one)
            .collect::<Vec<_>>()
            .into_any()
    };
    let content = move || {
        if what.with(Option::is_none) {
            return view! { <p class="muted">"Choose a schedule and a range: the exact list of what would run appears here."</p> }
                .into_any();
        }
        view! {
            <AsyncView loading=preview.loading what="the list">
                {preview.draw(move |preview| sum(preview, concurrency, pace))}
                <div class="actions standings" role="group" aria-label="Instants by state">{preview.draw(choose)}</div>
                {preview.draw(move |preview| fires(preview, zone.get(), after))}
            </AsyncView>
        }
        .into_any()
    };
    panel("What would run", (), live(content))
}

/// The number of runs, and the time that they would take.
fn sum(preview: &BackfillPreview, concurrency: RwSignal<String>, pace: Load<Vec<Took>>) -> AnyView {
    let selected = preview.selected;
    let (some, all) = (grouped(selected), grouped(preview.total));
    let words = format!("{some} of {all} fires would run.");
    let end = move || {
        let at_once = concurrency.get().trim().parse::<i64>().unwrap_or(1).max(1);
        let took: Vec<i64> =
            pace.with(|runs| runs.iter().filter_map(|run| run.duration_ms).collect())?;
        estimate(selected, at_once, &took).map(|millis| {
            format!("About {}, based on its last {} successful runs.", duration(millis), took.len())
        })
    };
    view! { <p class="lede" data-testid="would-run">{words}</p><p class="muted">{move || end()}</p> }.into_any()
}

/// How long this many runs take, with `at_once` of them in parallel, if each takes as long as the recent ones did on
/// average.
pub(super) fn estimate(runs: i64, at_once: i64, took: &[i64]) -> Option<i64> {
    let count = i64::try_from(took.len()).ok().filter(|count| *count > 0 && runs > 0)?;
    let rounds = (runs + at_once - 1) / at_once;
    Some(rounds * (took.iter().sum::<i64>() / count))
}

fn fires(
    preview: &BackfillPreview,
    zone: Option<String>,
    after: RwSignal<Option<String>>,
) -> AnyView {
    let row = |fire: &std::sync::Arc<PastFire>| {
        let why = fire.fire.as_ref().map(|fire| note(fire.reason.text.clone()));
        let runs = if fire.selected { "runs" } else { "–" };
        view! {
            <tr data-testid="past-fire">
                <td>{when(fire.at, zone.clone())}{fire_mark(fire.kind)}</td>
                <td>{badge(Mark::Standing(fire.standing))}{why}</td>
                <td>{runs}</td>
            </tr>
        }
        .into_any()
    };
    if preview.fires.rows.is_empty() {
        return view! { <p class="empty">"The range contains no such fires."</p> }.into_any();
    }
    let headings = vec![heading("Instant", ""), heading("So far", ""), heading("Backfill", "")];
    let rows: Vec<_> = preview.fires.rows.iter().map(row).collect();
    let next = preview.fires.next.clone();
    let is_first = untrack(|| after.with(Option::is_none));
    let further =
        next.is_some().then(|| button(Look::Plain, None, "Next", move || after.set(next.clone())));
    let back =
        (!is_first).then(|| button(Look::Plain, None, "First page", move || after.set(None)));
    view! {
        {table("Instants", "table table-tight", headings, rows.into_any())}
        <nav class="pager" aria-label="Pages of instants">{back}{further}</nav>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::estimate;

    #[test]
    fn an_end_is_estimated_from_the_last_runs_and_what_runs_at_once() {
        assert_eq!(estimate(10, 3, &[1_000, 3_000]), Some(8_000));
        assert_eq!(estimate(0, 1, &[1_000]), None);
        assert_eq!(estimate(5, 1, &[]), None);
    }
}
