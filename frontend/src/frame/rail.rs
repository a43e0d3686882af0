//! The rail: every page that has an entry, group by group.

use leptos::prelude::*;

use super::tallies::{Counted, count_of};
use crate::{
    components::{Glyph, icon, icon_button, live},
    route::Route,
    state::{ranged_path, use_address, use_remembered},
};

/// The purpose of a group of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Now,
    Plan,
    Build,
    Operate,
    Settings,
}

impl Group {
    const ALL: [Self; 5] = [Self::Now, Self::Plan, Self::Build, Self::Operate, Self::Settings];

    fn words(self) -> &'static str {
        match self {
            Self::Now => "Now",
            Self::Plan => "Plan",
            Self::Build => "Build",
            Self::Operate => "Operate",
            Self::Settings => "Settings",
        }
    }
}

/// A page in the rail.
pub(super) struct Entry {
    pub(super) group: Group,
    pub(super) route: Route,
    pub(super) words: &'static str,
    pub(super) glyph: Glyph,
    /// The second key of the shortcut that opens the page, after `g`.
    pub(super) key: &'static str,
    /// The count that is shown beside the page's name.
    counted: Option<Counted>,
}

/// The pages, in the order of the rail.
pub(super) const PAGES: &[Entry] = &[
    counting(
        page(Group::Now, Route::Overview, "Overview", Glyph::Gauge, "o"),
        Counted::SchedulesInTrouble,
    ),
    counting(page(Group::Now, Route::Runs, "Runs", Glyph::Play, "r"), Counted::LiveRuns),
    page(Group::Now, Route::Timeline, "Timeline", Glyph::Lanes, "y"),
    page(Group::Now, Route::Ledger, "Ledger", Glyph::List, "j"),
    counting(page(Group::Now, Route::Alerts, "Alerts", Glyph::Alert, "a"), Counted::OpenAlerts),
    page(Group::Plan, Route::Schedules, "Schedules", Glyph::Clock, "s"),
    page(Group::Plan, Route::Upcoming, "Upcoming", Glyph::Grid, "u"),
    page(Group::Plan, Route::WhatIf, "What if", Glyph::Search, "q"),
    page(Group::Plan, Route::Backfills, "Backfills", Glyph::Back, "b"),
    page(Group::Plan, Route::Calendars, "Calendars", Glyph::Calendar, "k"),
    page(Group::Plan, Route::Maintenance, "Maintenance", Glyph::Pause, "v"),
    page(Group::Build, Route::Workflows, "Workflows", Glyph::Flow, "w"),
    page(Group::Build, Route::Groups, "Groups", Glyph::Slots, "l"),
    page(Group::Build, Route::Modules, "Modules", Glyph::Box, "m"),
    page(Group::Operate, Route::Metrics, "Metrics", Glyph::Bars, "g"),
    counting(page(Group::Operate, Route::Health, "Health", Glyph::Pulse, "h"), Counted::Findings),
    page(Group::Operate, Route::Cluster, "Cluster", Glyph::Server, "c"),
    page(Group::Operate, Route::Audit, "Audit", Glyph::Eye, "d"),
    page(Group::Settings, Route::Profile, "Profile", Glyph::Person, "i"),
    page(Group::Settings, Route::People, "People and roles", Glyph::People, "p"),
    page(Group::Settings, Route::Tokens, "Tokens and sessions", Glyph::Key, "t"),
    page(Group::Settings, Route::Secrets, "Secrets", Glyph::Lock, "x"),
    page(Group::Settings, Route::AlertRules, "Alert rules", Glyph::Bell, "e"),
    page(Group::Settings, Route::Namespaces, "Namespaces", Glyph::Layers, "n"),
    page(Group::Settings, Route::Feeds, "Calendar feeds", Glyph::Feed, "f"),
];

const fn page(
    group: Group,
    route: Route,
    words: &'static str,
    glyph: Glyph,
    key: &'static str,
) -> Entry {
    Entry { group, route, words, glyph, key, counted: None }
}

const fn counting(mut page: Entry, counted: Counted) -> Entry {
    page.counted = Some(counted);
    page
}

/// The rail of every page.
#[component]
pub(crate) fn Rail() -> impl IntoView {
    let narrow = use_remembered("carillon.rail");
    let is_narrow = move || narrow.get() == "narrow";
    let turn = move || narrow.set(if untrack(is_narrow) { "" } else { "narrow" });
    view! {
        <nav class="rail" aria-label="Main" data-narrow=move || is_narrow().then_some("")>
            <a href=move || home() class="brand" aria-label="Carillon">
                {icon(Glyph::Bell)}<span>"Carillon"</span>
            </a>
            <div class="rail-nav">{groups()}</div>
            {icon_button(Glyph::Menu, "Narrow or widen", "Narrow or widen the rail".to_owned(), turn)}
        </nav>
    }
}

fn home() -> String {
    let _moves = use_address().scope();
    Route::Overview.path()
}

/// The groups with their pages, for the rail and for the phone's "More".
pub(super) fn groups() -> Vec<AnyView> {
    let group = |group: Group| {
        let pages: Vec<_> = PAGES.iter().filter(|page| page.group == group).map(link).collect();
        view! {
            <div class="rail-group">
                <p class="rail-title" aria-hidden="true">{group.words()}</p>
                <ul aria-label=group.words()>{pages}</ul>
            </div>
        }
        .into_any()
    };
    Group::ALL.into_iter().map(group).collect()
}

/// A link to a page. On the page of one schedule, the entry of the schedules is marked as current.
pub(super) fn link(page: &'static Entry) -> AnyView {
    let address = use_address();
    live(move || {
        let here = address.route();
        // Links lead to the current namespace, so they change with it.
        let _moves = address.scope();
        let current = if here.as_ref() == Some(&page.route) {
            Some("page")
        } else {
            here.is_some_and(|here| here.care() == page.route).then_some("true")
        };
        view! {
            <li>
                <a href=move || ranged_path(address, &page.route) aria-current=current title=page.words>
                    {icon(page.glyph)}<span>{page.words}</span>{page.counted.map(count_of)}
                </a>
            </li>
        }
        .into_any()
    })
}
