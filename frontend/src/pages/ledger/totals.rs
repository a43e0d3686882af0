//! The totals of the range. The number of expected fires is always ran + skipped + missed + open. Each figure is a
//! link that filters the ledger.

use leptos::prelude::*;

use super::query;
use crate::{
    components::{Mark, figure},
    model::{LedgerGroup, LedgerTotals, Verdict},
    pages::filters::Filters,
    time::grouped,
};

pub(super) fn totals(totals: &LedgerTotals, filters: Filters) -> AnyView {
    let others = query::of_schedules(filters);
    let href =
        |verdict: &str| Some(filters.href(&[("verdict", verdict), ("reason", ""), ("q", &others)]));
    let lit = |count: i64, state: &'static str| if count > 0 { state } else { "" };
    let note = |words: &str| words.to_owned();
    let sum = format!(
        "{} ran + {} skipped + {} lost + {} open",
        totals.ran, totals.skipped, totals.missed, totals.open
    );
    let incomplete = (!totals.is_complete).then(|| {
        view! { <p class="panel-note">"This range contains too much to count all of it: only the newest 200,000 rows are counted."</p> }
            .into_any()
    });
    view! {
        <dl class="figures figures-5" data-testid="ledger-totals">
            {figure("Expected", grouped(totals.expected), "", sum, href(""))}
            {figure("Ran", grouped(totals.ran), lit(totals.ran, "started"), note("a run was started"), href("ran"))}
            {figure("Skipped", grouped(totals.skipped), lit(totals.skipped, "queued"), note("on purpose"), href("skipped"))}
            {figure("Lost", grouped(totals.missed), lit(totals.missed, "missed"), note("missed, collapsed or given up"), href("missed"))}
            {figure("Open", grouped(totals.open), lit(totals.open, "running"), note("no run yet"), href("open"))}
        </dl>
        {incomplete}
        {groups(totals, filters)}
    }
    .into_any()
}

/// The totals by verdict and reason, the most frequent first.
fn groups(totals: &LedgerTotals, filters: Filters) -> AnyView {
    let others = query::of_schedules(filters);
    let group = |group: &LedgerGroup| {
        let mark = Mark::Verdict(group.verdict);
        let (name, words) = group.reason.name_and_words();
        let verdict = if group.verdict == Verdict::Pending { "open" } else { mark.state() };
        let href = filters.href(&[("verdict", verdict), ("reason", name), ("q", &others)]);
        view! {
            <li>
                <a class="group" href=href data-state=mark.state()>
                    <span class="group-mark">{mark.word()}</span>{words}<strong>{grouped(group.count)}</strong>
                </a>
            </li>
        }
        .into_any()
    };
    let groups: Vec<_> = totals.groups.iter().map(group).collect();
    view! { <ul class="groups" aria-label="By reason">{groups}</ul> }.into_any()
}
