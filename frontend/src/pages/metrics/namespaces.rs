//! The namespaces beside each other: what settled in each over the range, as numbers and as small bars.

use std::time::Duration;

use leptos::prelude::*;

use super::run_terms;
use crate::{
    api,
    components::{AsyncView, TrendLayer, heading, panel, table, trend},
    data::use_load,
    model::{NamespaceComparison, NamespaceFigures, SettledFigures},
    pages::{kit::empty, ledger::LOST_FIRES, steps},
    route::{Route, Scope},
    state::{range_query, use_address, use_every, use_range},
    time::{Moment, duration, grouped},
};

/// The roll-ups of all namespaces are read, so they are read less often than the charts of one.
const LOOK: Duration = Duration::from_secs(30);
/// Number of bars that fit into a cell.
const BARS: i64 = 40;
const DAY: i64 = 86_400_000;

/// The comparison of the namespaces that the user may see.
pub(super) fn by_namespace() -> AnyView {
    let (address, range) = (use_address(), use_range(&Route::Metrics));
    let stats = use_load(move || {
        let (from, until) = range.bounds();
        let end = until.unwrap_or_else(Moment::now);
        let from = from.unwrap_or_else(|| end.later(-DAY));
        Some(api::namespace_stats(Some(from), until, steps::step_of(end.since(from), BARS)))
    });
    let loading = stats.loading;
    use_every(LOOK, move || loading.refresh());
    let is_empty =
        Signal::derive(move || stats.with(|stats| stats.namespaces.is_empty()).unwrap_or_default());
    let rows = move |stats: &NamespaceComparison| {
        let range = range_query(address, &Route::Metrics);
        let range: Vec<_> = range.iter().map(|(name, value)| (*name, value.as_str())).collect();
        compared(stats, &range)
    };
    view! {
        <AsyncView
            loading=loading
            what="the namespaces"
            is_empty=is_empty
            empty=|| empty("No namespace", "You have no role in any namespace.")
        >
            {panel("By namespace", view! { <span class="muted">"busiest first"</span> }, stats.draw(rows))}
        </AsyncView>
    }
    .into_any()
}

/// The table. `range` is the range of the page, as the names and values of a query.
fn compared(stats: &NamespaceComparison, range: &[(&str, &str)]) -> AnyView {
    let headings = vec![
        heading("Namespace", ""),
        heading("Runs", "wide"),
        heading("Ended", "number"),
        heading("Failed", "number"),
        heading("Lost fires", "number wide"),
        heading("Durations", "wide"),
        heading("p95", "number"),
        heading("Lateness", "wide"),
        heading("Late p95", "number"),
        heading("Queue", "number wide"),
    ];
    let rows: Vec<_> = stats.namespaces.iter().map(|figures| row(stats, figures, range)).collect();
    let cut = stats.is_cut.then(|| {
        let words = format!("These are the {} busiest namespaces; there are more.", rows.len());
        view! { <p class="panel-note">{words}</p> }.into_any()
    });
    view! { {table("Namespaces by runs", "table", headings, rows.into_any())}{cut} }.into_any()
}

fn row(stats: &NamespaceComparison, figures: &NamespaceFigures, range: &[(&str, &str)]) -> AnyView {
    let NamespaceFigures { namespace, total, points } = figures;
    let scope = Scope::One(namespace.clone());
    let (from, until) = (stats.from.to_rfc3339(), stats.until.to_rfc3339());
    let terms = run_terms(&from, &until, None);
    let failed = Route::Runs.narrowed_in(&scope, &[("state", "failed"), ("q", &terms)]);
    let lost = [&[("q", LOST_FIRES)][..], range].concat();
    let lost = Route::Ledger.narrowed_in(&scope, &lost);
    let layer = |state, of: fn(&SettledFigures) -> Option<i64>| TrendLayer {
        state,
        values: points.iter().map(of).collect(),
    };
    let ended = layer("succeeded", |point| some(point.ended()));
    let bad = layer("failed", |point| some(point.failed()));
    let durations = layer("queued", SettledFigures::p95_duration);
    let latenesses = layer("queued", SettledFigures::p95_lateness);
    let said = |what, of: fn(&SettledFigures) -> Option<i64>| {
        span_words(what, namespace, points.iter().filter_map(of))
    };
    view! {
        <tr data-testid="namespace-figures">
            <th scope="row" class="name-cell">
                <a href=Route::Metrics.narrowed_in(&scope, range)>{namespace.clone()}</a>
            </th>
            <td class="wide">{trend(run_words(namespace, total), &[ended, bad])}</td>
            <td class="number">{grouped(total.ended())}</td>
            <td class="number">{counted(total.failed(), failed)}</td>
            <td class="number wide">{counted(total.lost(), lost)}</td>
            <td class="wide">{trend(said("p95 duration", SettledFigures::p95_duration), &[durations])}</td>
            <td class="number">{time(total.p95_duration())}</td>
            <td class="wide">{trend(said("p95 lateness", SettledFigures::p95_lateness), &[latenesses])}</td>
            <td class="number">{time(total.p95_lateness())}</td>
            <td class="number wide" title="Runs that waited, on average">{depth(total.waiting_runs())}</td>
        </tr>
    }
    .into_any()
}

/// A count for a bar. Without anything to count, there is no bar.
fn some(count: i64) -> Option<i64> {
    Some(count).filter(|count| *count > 0)
}

/// A number of bad events, with a link to them if there are any.
fn counted(count: i64, href: String) -> AnyView {
    if count == 0 {
        return "0".into_any();
    }
    view! { <a class="bad" href=href>{grouped(count)}</a> }.into_any()
}

fn time(millis: Option<i64>) -> String {
    millis.map_or_else(|| "–".to_owned(), duration)
}

/// The average depth of a queue. One that was hardly ever there is not rounded to nothing.
fn depth(average: Option<f64>) -> String {
    match average {
        None => "–".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(average) if average < 0.1 => "<0.1".to_owned(),
        Some(average) => format!("{average:.1}"),
    }
}

/// The runs of a namespace in words: `Runs that ended in billing: 1 200, of which 3 failed`.
fn run_words(namespace: &str, total: &SettledFigures) -> String {
    let ended = grouped(total.ended());
    let failed = match total.failed() {
        0 => String::new(),
        failed => format!(", of which {} failed", grouped(failed)),
    };
    format!("Runs that ended in {namespace}: {ended}{failed}")
}

/// The lowest and the highest of several times: `p95 duration in billing: 120 ms to 4.2 s`.
fn span_words(what: &str, namespace: &str, millis: impl Iterator<Item = i64>) -> String {
    let millis: Vec<i64> = millis.collect();
    let words = match (millis.iter().min(), millis.iter().max()) {
        (Some(least), Some(most)) if least < most => {
            format!("{} to {}", duration(*least), duration(*most))
        }
        (Some(only), _) => duration(*only),
        (None, _) => "none".to_owned(),
    };
    format!("{what} in {namespace}: {words}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_is_described_in_words() {
        let total: SettledFigures = serde_json::from_value(json!({
            "succeeded": 7, "failed": 2, "timedOut": 1, "cancelled": 0, "missed": 4, "abandoned": 1,
            "durations": { "p95": 120 }, "latenesses": null,
        }))
        .unwrap();
        assert_eq!(
            run_words("billing", &total),
            "Runs that ended in billing: 10, of which 3 failed"
        );
        assert_eq!(
            run_words("billing", &SettledFigures::default()),
            "Runs that ended in billing: 0"
        );
        assert_eq!(
            (total.lost(), total.p95_duration(), total.p95_lateness()),
            (5, Some(120), None)
        );
        assert_eq!(time(total.p95_lateness()), "–");
    }

    #[test]
    fn a_depth_is_nothing_only_if_nothing_waited() {
        let depths = [None, Some(0.0), Some(0.002), Some(0.1), Some(12.34)].map(depth);
        assert_eq!(depths, ["–", "0", "<0.1", "0.1", "12.3"]);
    }

    #[test]
    fn times_are_described_by_their_span() {
        let words = |millis: &[i64]| span_words("p95", "billing", millis.iter().copied());
        assert_eq!(words(&[4_200, 120, 900]), "p95 in billing: 120 ms to 4.2 s");
        assert_eq!(words(&[120]), "p95 in billing: 120 ms");
        assert_eq!(words(&[]), "p95 in billing: none");
    }
}
