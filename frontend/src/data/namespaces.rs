//! The namespaces that the user may see. The frame loads them once for all pickers, and whatever changes them reloads
//! them.

use leptos::prelude::*;

use super::{Load, use_load};
use crate::{api, model::Named};

#[derive(Clone, Copy)]
struct Shared(Load<Vec<Named>>);

/// Loads the namespaces. The frame calls it once, after the user has signed in.
pub(crate) fn provide_namespaces() {
    provide_context(Shared(use_load(|| Some(api::namespaces()))));
}

pub(crate) fn use_namespaces() -> Load<Vec<Named>> {
    expect_context::<Shared>().0
}
