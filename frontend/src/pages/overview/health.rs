//! The server's verdict on itself.

use leptos::prelude::*;

use crate::{
    components::{Badge, Mark},
    model::Health,
};

/// One line on top: healthy, or what is wrong.
#[component]
pub(super) fn HealthLine(health: Signal<Health>) -> impl IntoView {
    let state = move || Mark::Healthy(health.with(|health| health.healthy)).state();
    view! {
        <div class="health-line" data-state=state data-testid="health" role="status">
            <Badge mark=Signal::derive(move || Mark::Healthy(health.with(|health| health.healthy)))/>
            {move || {
                let issues = health.with(|health| health.issues.clone());
                if issues.is_empty() {
                    view! { <span class="muted">"Every expected fire is accounted for."</span> }.into_any()
                } else {
                    view! {
                        <ul class="issues">
                            {issues.into_iter().map(|issue| view! { <li>{issue}</li> }).collect_view()}
                        </ul>
                    }
                    .into_any()
                }
            }}
        </div>
    }
}

/// What health looks at, with the limit of each, and what the server is made of.
#[component]
pub(super) fn Checks(health: Signal<Health>) -> impl IntoView {
    let checks = move || {
        health
            .with(|health| health.checks.clone())
            .into_iter()
            .map(|check| {
                let limit =
                    check.limit.map(|limit| view! { <span class="muted">" / "{limit}</span> });
                view! {
                    <div class="check" data-state=Mark::Healthy(check.healthy).state()>
                        <dt>{words(&check.name)}</dt>
                        <dd>{check.value}{limit}</dd>
                    </div>
                }
            })
            .collect_view()
    };
    let zone_data =
        move || health.with(|health| format!("{} ({})", health.zone_version, health.zone_source));
    view! {
        <dl class="checks">
            {checks}
            <div class="check"><dt>"Version"</dt><dd>{move || health.with(|h| h.version.clone())}</dd></div>
            <div class="check"><dt>"Database"</dt><dd>{move || health.with(|h| h.database.clone())}</dd></div>
            <div class="check"><dt>"Zone data"</dt><dd>{zone_data}</dd></div>
        </dl>
    }
}

/// A check's name as words: `pending_handoffs` is `Pending handoffs`.
fn words(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase()).unwrap_or_default();
    format!("{first}{}", letters.as_str().replace('_', " "))
}
