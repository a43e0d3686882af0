//! The rail: every page that has a place of its own, group by group.

use leptos::prelude::*;

use crate::{
    components::{Glyph, icon, icon_button, live},
    route::Route,
    state::{use_address, use_remembered},
};

/// What a page is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Now,
    Plan,
    Operate,
}

impl Group {
    const ALL: [Self; 3] = [Self::Now, Self::Plan, Self::Operate];

    fn words(self) -> &'static str {
        match self {
            Self::Now => "Now",
            Self::Plan => "Plan",
            Self::Operate => "Operate",
        }
    }
}

/// A page in the rail.
pub(super) struct Entry {
    pub(super) group: Group,
    pub(super) route: Route,
    pub(super) words: &'static str,
    pub(super) glyph: Glyph,
    /// What leads there behind `g`.
    pub(super) key: &'static str,
}

/// The pages, in the order of the rail.
pub(super) const PAGES: &[Entry] = &[
    page(Group::Now, Route::Overview, "Overview", Glyph::Gauge, "o"),
    page(Group::Now, Route::Runs, "Runs", Glyph::Play, "r"),
    page(Group::Now, Route::Ledger, "Ledger", Glyph::List, "l"),
    page(Group::Plan, Route::Schedules, "Schedules", Glyph::Clock, "s"),
    page(Group::Operate, Route::Metrics, "Metrics", Glyph::Bars, "m"),
    page(Group::Operate, Route::Health, "Health", Glyph::Pulse, "h"),
    page(Group::Operate, Route::Cluster, "Cluster", Glyph::Server, "c"),
    page(Group::Operate, Route::Audit, "Audit", Glyph::Eye, "a"),
];

const fn page(
    group: Group,
    route: Route,
    words: &'static str,
    glyph: Glyph,
    key: &'static str,
) -> Entry {
    Entry { group, route, words, glyph, key }
}

/// The rail.
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

/// A link to a page. A schedule's page is in the care of the schedules, and marks them.
pub(super) fn link(page: &'static Entry) -> AnyView {
    let address = use_address();
    live(move || {
        let here = address.route();
        // Links lead where one looks.
        let _moves = address.scope();
        let current = if here.as_ref() == Some(&page.route) {
            Some("page")
        } else {
            here.is_some_and(|here| here.care() == page.route).then_some("true")
        };
        view! {
            <li>
                <a href=page.route.path() aria-current=current title=page.words>
                    {icon(page.glyph)}<span>{page.words}</span>
                </a>
            </li>
        }
        .into_any()
    })
}
