//! The instants of one schedule in an outage, under each policy, side by side.

use leptos::prelude::*;

use super::{range::Range, table::policy_name};
use crate::{
    api,
    components::{AsyncView, Mark, badge, badge_of, fire_mark, heading, table, when},
    data::use_load,
    model::{CatchUp, OutageFire, OutageFires, PolicyFires, Verdict},
    pages::kit::note,
    time::{amount, grouped},
};

/// The instants of the schedule with this id.
#[component]
pub(super) fn Instants(id: String, range: Memo<Range>) -> impl IntoView {
    let fires = use_load(move || {
        let Range { from, to } = range.get();
        Some(api::planning::outage_fires(id.clone(), from, to))
    });
    view! {
        <section class="panel" aria-label="Instants by policy" data-testid="outage-instants">
            <AsyncView loading=fires.loading what="the instants">
                {fires.draw(|found: &Vec<OutageFires>| {
                    found.first().map_or_else(|| ().into_any(), by_policy)
                })}
            </AsyncView>
        </section>
    }
}

fn by_policy(of: &OutageFires) -> AnyView {
    let zone = of.schedule.timing.zone.clone();
    let title = format!("Instants of {}", of.schedule.name);
    let lists: Vec<_> = of.policies.iter().map(|policy| list(policy, &zone)).collect();
    view! {
        <header class="panel-head"><h2>{title}</h2></header>
        <div class="definition-grid">{lists}</div>
    }
    .into_any()
}

fn list(policy: &PolicyFires, zone: &str) -> AnyView {
    let caption = match policy.catch_up {
        CatchUp::Skip => "Instants under Skip",
        CatchUp::Latest => "Instants under Latest",
        CatchUp::All => "Instants under All",
    };
    let own = policy.is_own.then(|| view! { " "<span class="muted">"its policy"</span> });
    let content = if policy.instants.is_empty() {
        view! { <p class="muted">"No instant becomes due."</p> }.into_any()
    } else {
        let rows: Vec<_> = policy.instants.iter().map(|fire| row(fire, zone)).collect();
        let headings = vec![heading("Instant", ""), heading("Outcome", ""), heading("Starts", "")];
        table(caption, "table table-tight", headings, rows.into_any())
    };
    let listed = i64::try_from(policy.instants.len()).unwrap_or(i64::MAX);
    let more = (policy.instant_count > listed).then(|| {
        let words = format!("and {} more", grouped(policy.instant_count - listed));
        view! { <p class="muted">{words}</p> }.into_any()
    });
    view! { <div><h3>{policy_name(policy.catch_up)}{own}</h3>{content}{more}</div> }.into_any()
}

fn row(fire: &OutageFire, zone: &str) -> AnyView {
    let zone = Some(zone.to_owned());
    let rest = (fire.count > 1).then(|| {
        let until = when(fire.last_scheduled_at, zone.clone());
        let count = note(amount(fire.count, "instant", "instants"));
        view! { " to "{until}{count} }.into_any()
    });
    let starts = fire.starts_at.map(|at| {
        let order = fire.waits.then(|| note("after the run before it"));
        view! { {when(at, zone.clone())}{order} }.into_any()
    });
    view! {
        <tr data-testid="outage-instant">
            <td>{when(fire.scheduled_at, zone.clone())}{fire_mark(fire.kind)}{rest}</td>
            <td>{outcome(fire)}</td>
            <td>{starts}</td>
        </tr>
    }
    .into_any()
}

fn outcome(fire: &OutageFire) -> AnyView {
    if fire.verdict == Verdict::Pending {
        let words = if fire.is_late { "Runs late" } else { "Runs on time" };
        return badge_of("started", words);
    }
    let (_, why) = fire.reason.name_and_words();
    view! { {badge(Mark::Verdict(fire.verdict))}{note(why)} }.into_any()
}
