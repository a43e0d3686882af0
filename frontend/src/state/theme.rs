//! The theme: light, dark, or the system's. `boot.js` reads the browser's copy of the choice before the first paint.

use leptos::prelude::*;

use super::{memory, personal::Personal};
use crate::model::Theme;

const KEY: &str = "carillon.theme";

pub(super) fn provide() {
    let remembered = memory::recall(KEY);
    let theme = Theme::ALL.into_iter().find(|t| remembered.as_deref() == Some(t.name()));
    let choice = Personal::new(theme.unwrap_or(Theme::System), remember);
    Effect::new(move |_| {
        let theme = choice.get();
        set_root("data-theme", (theme != Theme::System).then(|| theme.name()));
    });
    provide_context(choice);
}

fn remember(theme: Theme) {
    memory::remember(KEY, theme.name());
}

/// Sets or removes an attribute of the document.
pub(super) fn set_root(name: &str, value: Option<&str>) {
    let Some(root) = document().document_element() else { return };
    let _unchanged = match value {
        Some(value) => root.set_attribute(name, value),
        None => root.remove_attribute(name),
    };
}

pub(crate) fn use_theme() -> Personal<Theme> {
    expect_context()
}
