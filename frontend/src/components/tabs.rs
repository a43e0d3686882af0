//! The tabs of a page. They are links: each tab has an address, so it can be shared and reached with the Back button.

use leptos::prelude::*;

use super::live;

/// A tab: its name in the address, and its label. The first tab has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tab {
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
}

/// The tab with this name; the first tab if no tab has it.
pub(crate) fn tab_of(tabs: &'static [Tab], name: &str) -> &'static str {
    tabs.iter().find(|tab| tab.name == name).or(tabs.first()).map_or("", |tab| tab.name)
}

/// A row of tabs. `href` returns the address of a tab.
pub(crate) fn tabs(
    label: &'static str,
    tabs: &'static [Tab],
    chosen: Signal<&'static str>,
    href: impl Fn(&'static str) -> String + Send + Sync + 'static,
) -> AnyView {
    live(move || {
        let tab = |tab: &Tab| {
            let current = (chosen.get() == tab.name).then_some("page");
            view! { <li><a href=href(tab.name) aria-current=current>{tab.words}</a></li> }
                .into_any()
        };
        let tabs: Vec<_> = tabs.iter().map(tab).collect();
        view! { <nav class="tabs" aria-label=label><ul>{tabs}</ul></nav> }.into_any()
    })
}
