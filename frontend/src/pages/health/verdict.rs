//! The health in one line. It is never green while the server does not answer.

use leptos::prelude::*;

use crate::{
    api::Link,
    components::{Glyph, Mark, badge, icon, live},
    data::{Loading, use_socket},
    model::Health,
    route::Route,
    state::use_now,
    time::{Moment, distance},
};

/// Draws the line. If the server does not answer, only its last answer is known.
pub(in crate::pages) fn verdict(
    loading: Loading,
    health: impl Fn() -> Option<Health> + Send + Sync + 'static,
) -> AnyView {
    let link = use_socket().link();
    let silent = Memo::new(move |_| loading.failure().is_some() || link.get() == Link::Waiting);
    let heard = RwSignal::new(Moment::now());
    Effect::new(move |_| {
        if silent.get() {
            heard.set(Moment::now());
        }
    });
    live(move || match health() {
        _ if silent.get() => unknown(heard.get()),
        Some(health) => line(&health),
        None => ().into_any(),
    })
}

fn unknown(heard: Moment) -> AnyView {
    let now = use_now();
    let ago = move || distance(heard.since(now.get()).min(0));
    view! {
        <div class="health-line" data-state="missed" data-testid="health" role="status">
            <span class="badge" data-state="missed">"Unknown"</span>
            <span>"The server does not answer. The last known state is from "{move || ago()}"."</span>
        </div>
    }
    .into_any()
}

fn line(health: &Health) -> AnyView {
    let mark = Mark::Healthy(health.healthy);
    let words = match health.issues.as_slice() {
        [] => {
            view! { <span class="muted">"Every expected fire is accounted for."</span> }.into_any()
        }
        issues => {
            let issue = |issue: &String| view! { <li>{issue.clone()}</li> }.into_any();
            let issues: Vec<_> = issues.iter().map(issue).collect();
            view! {
                {(!health.healthy).then(|| icon(Glyph::Alert))}
                <ul class="issues">{issues}</ul>
                <a href=Route::Health.path()>"What to do"</a>
            }
            .into_any()
        }
    };
    view! {
        <div class="health-line" data-state=mark.state() data-testid="health" role="status">
            {badge(mark)}{words}
        </div>
    }
    .into_any()
}
