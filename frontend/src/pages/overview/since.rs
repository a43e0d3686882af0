//! The events since the user last looked, and the button that marks them as seen.

use std::time::Duration;

use leptos::prelude::*;

use crate::{
    api::{self, LedgerQuery, SeriesQuery},
    components::{Look, button, live, when_relative},
    data::{Actor, Load, use_actor, use_load},
    model::{LedgerTotals, RunStats, Seen},
    route::Route,
    state::{use_address, use_every},
    time::Moment,
};

const LOOK: Duration = Duration::from_secs(10);

/// The events and the button. A user who has never pressed the button sees only the button.
#[component]
pub(super) fn Since() -> impl IntoView {
    let (actor, address) = (use_actor(), use_address());
    let seen: Load<Seen> = use_load(|| Some(api::seen()));
    let until = Memo::new(move |_| seen.with(|seen| seen.settings.as_ref()?.seen_until).flatten());
    let runs = use_load(move || {
        let step = Moment::now().since(until.get()?).div_euclid(60_000_000).max(60);
        let step = step.div_euclid(60) * 60;
        Some(api::run_stats(SeriesQuery {
            namespace: address.namespace(),
            from: until.get()?,
            until: None,
            step,
            tag: None,
            schedule: None,
        }))
    });
    let fires = use_load(move || {
        Some(api::ledger_totals(LedgerQuery {
            namespace: address.namespace(),
            after: Some(until.get()?),
            ..LedgerQuery::default()
        }))
    });
    // At the moment of the button, there is nothing to ask for yet.
    let asked = [runs.loading, fires.loading];
    use_every(LOOK, move || asked.iter().for_each(|loading| loading.refresh()));
    let has_settings = move || seen.with(|seen| seen.settings.is_some()) == Some(true);
    live(move || {
        if !has_settings() {
            return ().into_any();
        }
        // Without both answers, its zeros would be no counts.
        let told = until.get().and_then(|at| {
            let (runs, fires) = (runs.get()?, fires.get()?);
            Some(told(at, &runs, &fires))
        });
        view! {
            <div class="since" data-testid="since">
                {told}
                {button(Look::Plain, None, "Mark all as seen", move || mark(actor, seen))}
            </div>
        }
        .into_any()
    })
}

fn told(at: Moment, runs: &RunStats, fires: &LedgerTotals) -> AnyView {
    let failed: i64 = runs.points.iter().map(|point| point.failed + point.timed_out).sum();
    let succeeded: i64 = runs.points.iter().map(|point| point.succeeded).sum();
    let lost = fires.missed;
    let range = at.to_rfc3339();
    let query = format!("finished:>={range}");
    let runs = Route::Runs.narrowed(&[("state", "failed"), ("q", &query)]);
    let fires = Route::Ledger.narrowed(&[("verdict", "missed"), ("from", &range)]);
    view! {
        <span>"Since you last looked, "{when_relative(at, None)}": "
            <a href=runs>{format!("{failed} failed")}</a>", "
            <a href=fires>{format!("{lost} lost")}</a>
            {format!(", {succeeded} succeeded.")}
        </span>
    }
    .into_any()
}

fn mark(actor: Actor, seen: Load<Seen>) {
    let loading = seen.loading;
    actor.act(
        api::mark_seen(Moment::now()),
        "Everything is marked as seen.".to_owned(),
        move |_| loading.reload(),
    );
}
