//! The filters and the order of the list: a state, a search and an order, all in the address.

use leptos::prelude::*;

use crate::{
    components::{QueryBar, QueryField, QueryView},
    data::{Listing, Loading},
    model::{RunRow, RunSortField, RunState},
    pages::{filters::Filters, suggest, views::use_views},
};

/// A choice of states.
#[derive(Clone, Copy)]
pub(super) struct StateFilter {
    /// The filter's name in the address.
    pub(super) name: &'static str,
    pub(super) words: &'static str,
    pub(super) states: &'static [RunState],
    /// The filter in the search language.
    term: &'static str,
}

pub(super) const FILTERS: [StateFilter; 5] = [
    StateFilter { name: "", words: "All", states: &[], term: "" },
    StateFilter {
        name: "live",
        words: "Live",
        states: &[RunState::Queued, RunState::Running, RunState::Retrying],
        term: "state:queued,running,retrying",
    },
    StateFilter {
        name: "succeeded",
        words: "Succeeded",
        states: &[RunState::Succeeded],
        term: "state:succeeded",
    },
    StateFilter {
        name: "failed",
        words: "Failed",
        states: &[RunState::Failed, RunState::TimedOut],
        term: "state:failed,timed_out",
    },
    StateFilter {
        name: "cancelled",
        words: "Cancelled",
        states: &[RunState::Cancelled],
        term: "state:cancelled",
    },
];

/// The states that the address names; tracked.
pub(super) fn chosen(filters: Filters) -> StateFilter {
    let name = filters.get("state");
    let [all, ..] = FILTERS;
    FILTERS.into_iter().find(|known| known.name == name).unwrap_or(all)
}

/// The list as a single search, because a bulk action takes only that.
pub(super) fn whole_search(
    query: &str,
    states: StateFilter,
    after: Option<String>,
    before: Option<String>,
) -> String {
    let after = after.map(|at| format!("scheduled:>={at}"));
    let before = before.map(|at| format!("scheduled:<{at}"));
    let parts = [Some(query.trim().to_owned()), Some(states.term.to_owned()), after, before];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// The orders, with words; the headings of the table also sort. For an order by a figure, the server sorts only the
/// newest 10,000 matches.
const ORDERS: [(&str, &str); 4] = [
    ("", "Newest first"),
    ("-took", "Longest first"),
    ("took", "Shortest first"),
    ("-started", "Last started first"),
];

/// The order in the address, if it is not the default: the field, and whether descending.
pub(in crate::pages) fn order(sort: &str) -> Option<(RunSortField, bool)> {
    let (name, descending) = match sort.strip_prefix('-') {
        Some(name) => (name, true),
        None => (sort, false),
    };
    let by = match name {
        "started" => RunSortField::Started,
        "took" => RunSortField::Duration,
        _ => return None,
    };
    Some((by, descending))
}

/// The choice of an order.
pub(super) fn order_picker(filters: Filters) -> AnyView {
    let choice = |(name, words): (&'static str, &'static str)| {
        view! { <option value=name prop:selected=move || filters.get("sort") == name>{words}</option> }
            .into_any()
    };
    let choose = move |name: String| filters.set(&[("sort", &name)]);
    view! {
        <select aria-label="Order" on:change:target=move |event| choose(event.target().value())>
            {Vec::from(ORDERS.map(choice))}
        </select>
    }
    .into_any()
}

/// Views that every user has.
const VIEWS: [QueryView; 5] = [
    ("Failed today", "state:failed,timed_out finished:<1d"),
    ("Started late", "late:>1m"),
    ("Over 10 minutes", "took:>10m"),
    ("Waiting", "state:queued"),
    ("By hand", "trigger:manual,retry"),
];

const FIELDS: [QueryField; 16] = [
    QueryField::new(
        "state",
        "its state",
        &["queued", "running", "retrying", "succeeded", "failed", "timed_out", "cancelled"],
    ),
    QueryField::new("schedule", "its schedule", &[]),
    QueryField::new("tag", "one of its schedule's tags", &[]),
    QueryField::new("workflow", "what it runs", &[]),
    QueryField::new("name", "a part of its schedule's name", &[]),
    QueryField::new("trigger", "what started it", &["schedule", "manual", "retry", "backfill"]),
    QueryField::new("error", "a part of why it ended badly", &[]),
    QueryField::new("node", "the node that holds or held it", &[]),
    QueryField::new("group", "its concurrency group", &[]),
    QueryField::new("module", "the module that declares its schedule", &[]),
    QueryField::new("late", "from when it was due to its start", &[">5s", ">1m"]),
    QueryField::new("took", "from its start to its end, or until now", &[">1m", ">10m", ">1h"]),
    QueryField::new("scheduled", "the instant that it is for", &["<1h", "<1d", ">1d"]),
    QueryField::new("started", "when it began", &["<1h", "<1d", "never"]),
    QueryField::new("finished", "when it ended", &["<1h", "<1d", "never"]),
    QueryField::new("created", "when it was created", &["<1h", "<1d"]),
];

/// The query bar. It filters while the user types, a moment after the last key, without adding to the browser's
/// history.
pub(super) fn bar(runs: Listing<RunRow>, filters: Filters) -> AnyView {
    let search = Callback::new(move |text: String| filters.set(&[("q", &text)]));
    let loading: Loading = runs.load.loading;
    let value = Memo::new(move |_| filters.get("q"));
    let tags = suggest::tags_in(value.into());
    view! {
        <QueryBar
            label="Search runs"
            placeholder="report state:failed took:>5m -tag:test"
            value=value
            loading=loading
            search=search
            fields=&FIELDS
            views=&VIEWS
            own=use_views("runs")
            known=Signal::derive(move || known(runs, tags.get()))
        />
    }
    .into_any()
}

/// The schedules, workflows and nodes of the visible runs, and all tags.
fn known(runs: Listing<RunRow>, tags: Vec<String>) -> Vec<(&'static str, Vec<String>)> {
    let of = |take: &dyn Fn(&RunRow) -> Option<String>| runs.distinct(take);
    vec![
        ("schedule", of(&|row| row.schedule.as_ref().map(|schedule| schedule.name.clone()))),
        ("workflow", of(&|row| Some(row.workflow.name.clone()))),
        ("node", of(&|row| row.node.clone())),
        ("tag", tags),
    ]
}

#[cfg(test)]
mod tests {
    use super::{FILTERS, order, whole_search};
    use crate::model::RunSortField;

    #[test]
    fn an_order_is_a_column_and_a_direction() {
        assert_eq!(order("-took"), Some((RunSortField::Duration, true)));
        assert_eq!(order("started"), Some((RunSortField::Started, false)));
        assert_eq!((order(""), order("-created")), (None, None));
    }

    #[test]
    fn what_narrows_the_list_narrows_a_bulk_action_too() {
        let [all, live, ..] = FILTERS;
        let from = || Some("2026-01-31T12:00:00.000Z".to_owned());
        assert_eq!(whole_search(" tag:x ", all, None, None), "tag:x");
        assert_eq!(whole_search("", live, None, None), "state:queued,running,retrying");
        assert_eq!(
            whole_search("report", live, from(), from()),
            "report state:queued,running,retrying scheduled:>=2026-01-31T12:00:00.000Z \
             scheduled:<2026-01-31T12:00:00.000Z",
        );
        assert_eq!(whole_search("", all, None, None), "");
    }
}
