//! A new backfill: its schedule, range, mode and order. Beside the form is the exact list of the instants that would
//! run and of those that would not, by state, and the estimated end.

use std::time::Duration;

use leptos::{ev::SubmitEvent, leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::super::kit::{self, KeptFields, KeptForm, Wrong, instant, number, of};
use crate::{
    api::planning::{self, BackfillOrderOf},
    components::{
        AsyncView, Field, Look, Mark, badge, button, fire_mark, heading, live, panel, table, when,
    },
    data::{Load, use_actor, use_load, use_once},
    model::{
        BackfillMode, BackfillOrder, BackfillPreview, BackfillStanding, Page, PastFire,
        ScheduleName, Took,
    },
    pages::{kit::note, suggest},
    route::Route,
    state::{use_address, use_title},
    time::{Moment, Wall, browser_zone, duration},
};

const PAUSE: Duration = Duration::from_millis(300);
const DAY_MS: i64 = 86_400_000;
/// Labels and days of the ranges that one click selects.
const RANGES: [(&str, i64); 3] = [("Last 24 hours", 1), ("Last week", 7), ("Last 30 days", 30)];

#[derive(Clone, Copy)]
struct Draft {
    schedule: RwSignal<String>,
    from: RwSignal<String>,
    to: RwSignal<String>,
    mode: RwSignal<String>,
    order: RwSignal<String>,
    concurrency: RwSignal<String>,
    reason: RwSignal<String>,
}

impl Draft {
    fn mode(self) -> BackfillMode {
        match self.mode.get().as_str() {
            "failed" => BackfillMode::MissingAndFailed,
            "all" => BackfillMode::All,
            _ => BackfillMode::Missing,
        }
    }

    fn order(self) -> BackfillOrder {
        match self.order.get_untracked().as_str() {
            "newest" => BackfillOrder::NewestFirst,
            _ => BackfillOrder::OldestFirst,
        }
    }

    /// The fields that are kept until they are sent.
    fn kept(self) -> KeptFields {
        KeptFields::new()
            .with("schedule", self.schedule)
            .with("from", self.from)
            .with("to", self.to)
            .with("mode", self.mode)
            .with("order", self.order)
            .with("concurrency", self.concurrency)
            .with("reason", self.reason)
    }

    /// Selects this many days up to now, by the browser's clock, to the minute.
    fn choose(self, days: i64) {
        let now = Moment::now();
        let text = |at: Moment| {
            let wall = Wall::read(at, &browser_zone()).unwrap_or_default();
            format!("{}T{}", wall.date, wall.time.get(..5).unwrap_or("00:00"))
        };
        self.from.set(text(now.later(-days * DAY_MS)));
        self.to.set(text(now));
    }

    /// The backfill as entered in the form, once everything is selected; tracked.
    fn chosen(self, schedule: Option<String>) -> Option<BackfillOrderOf> {
        let at = |text: RwSignal<String>| Moment::parse_local(&text.get());
        Some(BackfillOrderOf {
            schedule_id: schedule?,
            from: at(self.from)?,
            to: at(self.to)?,
            mode: self.mode(),
        })
    }
}

/// The page of a new backfill.
#[component]
pub(crate) fn NewBackfill() -> impl IntoView {
    use_title(|| "New backfill".to_owned());
    let address = use_address();
    let namespace = kit::use_namespace();
    let text = |text: &str| RwSignal::new(text.to_owned());
    let draft = Draft {
        schedule: RwSignal::new(untrack(|| address.query("schedule"))),
        from: text(""),
        to: text(""),
        mode: text("missing"),
        order: text("oldest"),
        concurrency: text("1"),
        reason: text(""),
    };
    draft.choose(1);
    // A link to the backfill of one schedule does not bring back what was typed for another one.
    let key = format!("backfill.{}.{}", namespace.get_untracked(), draft.schedule.get_untracked());
    let kept = draft.kept().keep(&key);
    let names = use_names(draft.schedule, namespace);
    let schedule = Memo::new(move |_| {
        let typed = draft.schedule.get();
        let named = |page: &Page<ScheduleName>| {
            let same = page.rows.iter().find(|row| row.name.eq_ignore_ascii_case(typed.trim()));
            same.map(|row| ScheduleName::clone(row))
        };
        names.with(named).flatten()
    });
    let wrong: Wrong = RwSignal::new(None);
    view! {
        <header class="page-head"><h1>"New backfill"</h1></header>
        {kept.note()}
        <div class="form-grid">
            {form(draft, kept, schedule, wrong)}
            <div class="form-side">{list(draft, schedule, namespace)}</div>
        </div>
    }
}

/// The schedules whose names contain the typed text, loaded a moment after the last key.
fn use_names(typed: RwSignal<String>, namespace: Memo<String>) -> Load<Page<ScheduleName>> {
    let settled = RwSignal::new(typed.get_untracked());
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    Effect::new(move |_| {
        let text = typed.get();
        stop();
        timer.set_value(set_timeout_with_handle(move || settled.set(text.clone()), PAUSE).ok());
    });
    on_cleanup(stop);
    use_load(move || {
        let text = settled.get().trim().replace('\\', "\\\\").replace('"', "\\\"");
        let search = (!text.is_empty()).then(|| format!("name:\"{text}\""));
        Some(planning::schedule_names(namespace.get(), search, None))
    })
}

fn form(
    draft: Draft,
    kept: KeptForm,
    schedule: Memo<Option<ScheduleName>>,
    wrong: Wrong,
) -> AnyView {
    let (actor, address, once) = (use_actor(), use_address(), use_once());
    let busy = RwSignal::new(false);
    let plan = move |key: String| {
        let missing =
            || crate::model::Failure::of_field("scheduleId", "Choose a schedule by its name.");
        let schedule = schedule.get_untracked().ok_or_else(missing)?;
        let what = BackfillOrderOf {
            schedule_id: schedule.id,
            from: instant("from", draft.from)?,
            to: instant("to", draft.to)?,
            mode: untrack(|| draft.mode()),
        };
        let concurrency = number("concurrency", draft.concurrency)?;
        let reason = draft.reason.get_untracked().trim().to_owned();
        Ok(planning::create_backfill(what, draft.order(), concurrency, reason, key))
    };
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        wrong.set(None);
        match plan(once.key()) {
            Ok(ask) => {
                busy.set(true);
                actor.send(ask, move |outcome| {
                    once.heard(&outcome);
                    let _gone = busy.try_set(false);
                    match outcome {
                        Ok(id) => {
                            kept.forget();
                            actor.say("The backfill is starting.".to_owned());
                            address.go(&Route::Backfill(id).path());
                        }
                        Err(failure) => kit::refuse(wrong, actor, failure),
                    }
                });
            }
            Err(failure) => wrong.set(Some(failure)),
        }
    };
    view! {
        <form class="form-main" on:submit=submit novalidate>
            {which_fires(draft, wrong)}
            {how(draft, wrong)}
            <div role="alert">{move || kit::general_error(wrong)}</div>
            <p class="form-foot">
                <button type="submit" class="button button-primary" aria-disabled=move || busy.get().to_string()>"Start backfill"</button>
                <a class="button" href=Route::Backfills.path()>"Cancel"</a>
            </p>
        </form>
    }
    .into_any()
}

/// The fields for the schedule, the range and the mode.
fn which_fires(draft: Draft, wrong: Wrong) -> AnyView {
    let range = |(words, days): (&'static str, i64)| {
        button(Look::Plain, None, words, move || draft.choose(days))
    };
    view! {
        <fieldset class="panel form-section">
            <legend>"Which fires"</legend>
            {Field::new("schedule", "Schedule", draft.schedule).required().first().picks(suggest::schedules_here())
                .error(of(wrong, "scheduleId")).hint("By name. Paused schedules can be backfilled as well.").text()}
            <div class="actions" role="group" aria-label="Ranges">{Vec::from(RANGES.map(range))}</div>
            <div class="field-grid">
                {Field::new("from", "From (your time)", draft.from).kind("datetime-local").error(of(wrong, "from")).text()}
                {Field::new("to", "To, exclusive (your time)", draft.to).kind("datetime-local").error(of(wrong, "to")).text()}
            </div>
            {Field::new("mode", "Among these", draft.mode).error(of(wrong, "mode")).choice(&[
                ("missing", "instants without a run"),
                ("failed", "also those whose runs all failed"),
                ("all", "all, including those that succeeded"),
            ])}
        </fieldset>
    }
    .into_any()
}

/// The fields for the order, the number of concurrent runs, and the reason.
fn how(draft: Draft, wrong: Wrong) -> AnyView {
    view! {
        <fieldset class="panel form-section">
            <legend>"How"</legend>
            <div class="field-grid">
                {Field::new("order", "Order", draft.order).choice(&[("oldest", "Oldest first"), ("newest", "Newest first")])}
                {Field::new("concurrency", "At once", draft.concurrency).kind("number").error(of(wrong, "concurrency")).text()}
            </div>
            {Field::new("reason", "Reason", draft.reason).required().error(of(wrong, "reason"))
                .hint("Kept with the backfill and in the audit log.").text()}
        </fieldset>
    }
    .into_any()
}

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

fn list(draft: Draft, schedule: Memo<Option<ScheduleName>>, namespace: Memo<String>) -> AnyView {
    let standing = RwSignal::new(None::<BackfillStanding>);
    let after = RwSignal::new(None::<String>);
    let id =
        Memo::new(move |_| schedule.with(|found| found.as_ref().map(|found| found.id.clone())));
    let what = Memo::new(move |_| draft.chosen(id.get()));
    Effect::new(move |_| {
        what.track();
        after.set(None);
    });
    let preview = use_load(move || {
        Some(planning::preview_backfill(what.get()?, standing.get(), after.get()))
    });
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
                    {words}" "<span class="muted">{count}</span>
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
                {preview.draw(move |preview| sum(preview, draft, pace))}
                <div class="actions standings" role="group" aria-label="Instants by state">{preview.draw(choose)}</div>
                {preview.draw(move |preview| fires(preview, zone.get(), after))}
            </AsyncView>
        }
        .into_any()
    };
    panel("What would run", (), live(content))
}

/// The number of runs, and the time that they would take.
fn sum(preview: &BackfillPreview, draft: Draft, pace: Load<Vec<Took>>) -> AnyView {
    let selected = preview.selected;
    let words = format!("{selected} of {} fires would run.", preview.total);
    let end = move || {
        let at_once = draft.concurrency.get().trim().parse::<i64>().unwrap_or(1).max(1);
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
