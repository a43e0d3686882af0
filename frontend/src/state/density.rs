//! The height of table rows: 32 or 44 pixels. The browser stores the choice.

use leptos::prelude::*;

use super::{memory, theme::set_root};

const KEY: &str = "carillon.density";

/// The choice of the row height, to read and to set.
#[derive(Clone, Copy)]
pub(crate) struct Density(RwSignal<bool>);

impl Density {
    pub(crate) fn is_roomy(self) -> bool {
        self.0.get()
    }

    pub(crate) fn choose(self, is_roomy: bool) {
        memory::remember(KEY, if is_roomy { "roomy" } else { "" });
        self.0.set(is_roomy);
    }
}

pub(super) fn provide() {
    let density = RwSignal::new(memory::recall(KEY).as_deref() == Some("roomy"));
    Effect::new(move |_| set_root("data-density", density.get().then_some("roomy")));
    provide_context(Density(density));
}

pub(crate) fn use_density() -> Density {
    expect_context()
}
