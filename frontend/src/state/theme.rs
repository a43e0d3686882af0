//! The theme: light, dark, or the system's. The browser stores the choice; `boot.js` reads the same
//! key before the first paint.

use leptos::prelude::*;

use super::memory;

const KEY: &str = "carillon.theme";

/// The three positions of the theme switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    System,
    Light,
    Dark,
}

impl Theme {
    pub(crate) const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// The choice of the theme, to read and to set.
#[derive(Clone, Copy)]
pub(crate) struct ThemeChoice(RwSignal<Theme>);

impl ThemeChoice {
    pub(crate) fn get(self) -> Theme {
        self.0.get()
    }

    pub(crate) fn choose(self, theme: Theme) {
        memory::remember(KEY, theme.name());
        self.0.set(theme);
    }
}

pub(super) fn provide() {
    let remembered = memory::recall(KEY);
    let theme = Theme::ALL.into_iter().find(|t| remembered.as_deref() == Some(t.name()));
    let choice = RwSignal::new(theme.unwrap_or(Theme::System));
    Effect::new(move |_| {
        let theme = choice.get();
        set_root("data-theme", (theme != Theme::System).then(|| theme.name()));
    });
    provide_context(ThemeChoice(choice));
}

/// Sets or removes an attribute of the document.
pub(super) fn set_root(name: &str, value: Option<&str>) {
    let Some(root) = document().document_element() else { return };
    let _unchanged = match value {
        Some(value) => root.set_attribute(name, value),
        None => root.remove_attribute(name),
    };
}

pub(crate) fn use_theme() -> ThemeChoice {
    expect_context()
}
