//! The schedules of an outage, with the effect of each policy.

use leptos::prelude::*;

use crate::{
    components::{fact, heading, silent_heading, table},
    model::{CatchUp, Outage, OutagePolicy, OutageSchedule},
    pages::kit::{none, note},
    route::Route,
    time::{amount, grouped},
};

/// The name of a policy.
pub(super) fn policy_name(policy: CatchUp) -> &'static str {
    match policy {
        CatchUp::Skip => "Skip",
        CatchUp::Latest => "Latest",
        CatchUp::All => "All",
    }
}

/// What becomes of all instants together.
pub(super) fn totals(outage: &Outage) -> AnyView {
    let schedules = i64::try_from(outage.schedules.len()).unwrap_or(i64::MAX);
    let due = format!(
        "{} of {}",
        amount(outage.expected, "instant", "instants"),
        amount(schedules, "schedule", "schedules"),
    );
    let mut facts = vec![fact("Due", due)];
    facts.extend(outage.own.map(|own| fact("With their policies", own.words())));
    for total in &outage.totals {
        let name = match total.catch_up {
            CatchUp::Skip => "If all skip",
            CatchUp::Latest => "If all run the latest",
            CatchUp::All => "If all run all",
        };
        facts.push(fact(name, total.counts.words()));
    }
    view! { <dl class="facts" data-testid="outage-totals">{facts}</dl> }.into_any()
}

/// The table. `opened` is the schedule whose instants are listed.
pub(super) fn schedules(outage: &Outage, opened: RwSignal<Option<String>>) -> AnyView {
    let has_ledger = outage.schedules.iter().any(|one| one.ledger.is_some());
    let mut headings = vec![heading("Schedule", ""), heading("Due", "number")];
    headings.extend(
        [CatchUp::Skip, CatchUp::Latest, CatchUp::All]
            .map(|policy| heading(policy_name(policy), "")),
    );
    if has_ledger {
        headings.push(heading("The ledger", ""));
    }
    headings.push(silent_heading("Actions"));
    let row = |one: &OutageSchedule| row(one, has_ledger, opened);
    let rows: Vec<_> = outage.schedules.iter().map(row).collect();
    table("Schedules by policy", "table", headings, rows.into_any())
}

fn row(one: &OutageSchedule, has_ledger: bool, opened: RwSignal<Option<String>>) -> AnyView {
    let (id, name) = (one.schedule.id.clone(), one.schedule.name.clone());
    let href = Route::Schedule(id.clone()).path();
    let label = format!("Instants of {name}");
    let remark = if one.is_paused {
        Some("paused for all of it".to_owned())
    } else if !one.is_complete {
        Some("not all instants could be counted".to_owned())
    } else {
        (one.suppressed > 0).then(|| {
            let instants = amount(one.suppressed, "instant", "instants");
            format!("a calendar suppresses {instants}")
        })
    };
    let cells: Vec<_> = [CatchUp::Skip, CatchUp::Latest, CatchUp::All]
        .into_iter()
        .map(|policy| cell(one.policies.iter().find(|effect| effect.catch_up == policy)))
        .collect();
    let ledger = has_ledger.then(|| {
        let held = one.ledger.map_or_else(none, |held| held.words().into_any());
        view! { <td class="why-cell">{held}</td> }.into_any()
    });
    let (pressed, chosen) = (id.clone(), id);
    let click = move |_| {
        let is_open = opened.with_untracked(|open| open.as_ref() == Some(&chosen));
        opened.set((!is_open).then(|| chosen.clone()));
    };
    view! {
        <tr data-testid="outage-row">
            <th scope="row" class="name-cell"><a href=href>{name}</a>{remark.map(note)}</th>
            <td class="number">{grouped(one.expected)}</td>
            {cells}
            {ledger}
            <td class="actions-cell"><div class="row-actions">
                <button
                    type="button"
                    class="button"
                    aria-label=label
                    aria-pressed=move || opened.with(|open| open.as_ref() == Some(&pressed)).to_string()
                    on:click=click
                >
                    "Instants"
                </button>
            </div></td>
        </tr>
    }
    .into_any()
}

/// The effect of a policy; the schedule's own policy is marked.
fn cell(effect: Option<&OutagePolicy>) -> AnyView {
    let Some(effect) = effect else {
        return view! { <td>{none()}</td> }.into_any();
    };
    let words = effect.counts.words();
    let words = if effect.is_own {
        view! { <strong>{words}</strong>{note("its policy")} }.into_any()
    } else {
        words.into_any()
    };
    view! { <td class="why-cell">{words}</td> }.into_any()
}
