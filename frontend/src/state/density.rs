//! The height of table rows: 32 or 44 pixels.

use leptos::prelude::*;

use super::{memory, personal::Personal, theme::set_root};
use crate::model::Density;

const KEY: &str = "carillon.density";
/// The name of tall rows, in the browser's storage and in the style sheet.
const ROOMY: &str = "roomy";

pub(super) fn provide() {
    let is_roomy = memory::recall(KEY).as_deref() == Some(ROOMY);
    let choice = Personal::new(Density::of(is_roomy), remember);
    Effect::new(move |_| set_root("data-density", choice.get().is_roomy().then_some(ROOMY)));
    provide_context(choice);
}

fn remember(density: Density) {
    memory::remember(KEY, if density.is_roomy() { ROOMY } else { "" });
}

pub(crate) fn use_density() -> Personal<Density> {
    expect_context()
}
