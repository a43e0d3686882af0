//! The server's verdict on itself.

use leptos::prelude::*;

use crate::{
    components::{Mark, badge},
    model::Health,
};

/// One line on top: healthy, or what is wrong.
pub(in crate::pages) fn line(health: &Health) -> AnyView {
    let mark = Mark::Healthy(health.healthy);
    let words = if health.issues.is_empty() {
        view! { <span class="muted">"Every expected fire is accounted for."</span> }.into_any()
    } else {
        let issue = |issue: &String| view! { <li>{issue.clone()}</li> }.into_any();
        let issues: Vec<_> = health.issues.iter().map(issue).collect();
        view! { <ul class="issues">{issues}</ul> }.into_any()
    };
    view! {
        <div class="health-line" data-state=mark.state() data-testid="health" role="status">
            {badge(mark)}{words}
        </div>
    }
    .into_any()
}

/// What health looks at, with the limit of each, and what the server is made of.
pub(super) fn checks(health: &Health) -> AnyView {
    let zone_data = format!("{} ({})", health.zone_data.version, health.zone_data.source);
    let made_of = [
        ("Version", health.version.clone()),
        ("Database", health.database.clone()),
        ("Zone data", zone_data),
    ];
    let checks = health.checks.iter().map(|check| {
        let limit = check
            .limit
            .clone()
            .map(|limit| view! { <span class="muted">" / "{limit}</span> }.into_any());
        let value = view! { {check.value.clone()}{limit} }.into_any();
        entry(words(&check.name), Mark::Healthy(check.healthy).state(), value)
    });
    let facts =
        made_of.into_iter().map(|(name, value)| entry(name.to_owned(), "", value.into_any()));
    view! { <dl class="checks">{checks.chain(facts).collect::<Vec<_>>()}</dl> }.into_any()
}

fn entry(name: String, state: &'static str, value: AnyView) -> AnyView {
    view! { <div class="check" data-state=state><dt>{name}</dt><dd>{value}</dd></div> }.into_any()
}

/// A check's name as words: `pending_handoffs` is `Pending handoffs`.
fn words(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase()).unwrap_or_default();
    format!("{first}{}", letters.as_str().replace('_', " "))
}
