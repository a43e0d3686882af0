//! A new backfill: its schedule, range, mode and order, beside the list of what it would run.

use std::time::Duration;

use leptos::{ev::SubmitEvent, leptos_dom::helpers::TimeoutHandle, prelude::*};
use serde_json::Value;

use super::{
    super::kit::{self, KeptFields, KeptForm, Wrong, instant, number, of},
    preview::list,
};
use crate::{
    api::planning::{self, BackfillOrderOf},
    components::{Field, Look, button},
    data::{Load, use_actor, use_load, use_once},
    model::{BackfillMode, BackfillOrder, Failure, Page, ScheduleName},
    pages::suggest,
    route::Route,
    state::{use_address, use_title},
    time::{Moment, Wall, browser_zone},
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
    context: RwSignal<String>,
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
            .with("context", self.context)
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
        context: text(""),
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
    let what = Memo::new(move |_| {
        draft.chosen(schedule.with(|found| found.as_ref().map(|found| found.id.clone())))
    });
    let wrong: Wrong = RwSignal::new(None);
    view! {
        <header class="page-head"><h1>"New backfill"</h1></header>
        {kept.note()}
        <div class="form-grid">
            {form(draft, kept, schedule, wrong)}
            <div class="form-side">{list(what, draft.concurrency, schedule, namespace)}</div>
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
        let missing = || Failure::of_field("scheduleId", "Choose a schedule by its name.");
        let schedule = schedule.get_untracked().ok_or_else(missing)?;
        let what = BackfillOrderOf {
            schedule_id: schedule.id,
            from: instant("from", draft.from)?,
            to: instant("to", draft.to)?,
            mode: untrack(|| draft.mode()),
        };
        let concurrency = number("concurrency", draft.concurrency)?;
        let context = draft.context.with_untracked(|text| context(text))?;
        let reason = draft.reason.get_untracked().trim().to_owned();
        Ok(planning::create_backfill(what, draft.order(), concurrency, reason, context, key))
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
                let sent = kept.sent();
                actor.send(ask, move |outcome| {
                    once.heard(&outcome);
                    let is_left = busy.try_set(false).is_some();
                    match outcome {
                        Ok(id) => {
                            sent.forget();
                            actor.say("The backfill is starting.".to_owned());
                            if !is_left {
                                address.go(&Route::Backfill(id).path());
                            }
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

/// The context as entered in the form; `None` if there is none.
fn context(text: &str) -> Result<Option<Value>, Failure> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let context = serde_json::from_str(text);
    context
        .map(Some)
        .map_err(|why| Failure::of_field("context", format!("This is not JSON: {why}.")))
}

/// The fields for the order, the number of concurrent runs, the context, and the reason.
fn how(draft: Draft, wrong: Wrong) -> AnyView {
    view! {
        <fieldset class="panel form-section">
            <legend>"How"</legend>
            <div class="field-grid">
                {Field::new("order", "Order", draft.order).choice(&[("oldest", "Oldest first"), ("newest", "Newest first")])}
                {Field::new("concurrency", "At once", draft.concurrency).kind("number").error(of(wrong, "concurrency")).text()}
            </div>
            {Field::new("backfill-context", "Context (JSON)", draft.context).code().error(of(wrong, "context"))
                .hint("Merged into the schedule's own context, key by key: {\"day\": \"2026-01-31\"}. Empty: as it is.").area(4)}
            {Field::new("reason", "Reason", draft.reason).required().error(of(wrong, "reason"))
                .hint("Kept with the backfill and in the audit log.").text()}
        </fieldset>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::context;

    #[test]
    fn an_empty_context_is_none_and_text_that_is_not_json_is_refused() {
        assert_eq!(context("").unwrap(), None);
        assert_eq!(context(" \n").unwrap(), None);
        assert_eq!(context("{\"dry\": true}").unwrap(), Some(json!({ "dry": true })));
        assert_eq!(context("dry").unwrap_err().field.as_deref(), Some("context"));
    }
}
