//! Whether the server has a key for secrets, and what to set if it has none.

use leptos::prelude::*;

use crate::{api, data::use_load};

/// Whether the server has a key, without which it refuses secrets, and channels other than mails. `None` until it has
/// said so.
pub(in crate::pages) fn use_known_secrets_key() -> Memo<Option<bool>> {
    let targets = use_load(|| Some(api::namespace_targets()));
    Memo::new(move |_| targets.with(|known| known.iter().all(|known| known.secrets_available)))
}

/// Whether the server has a key. Until it has said so, it is taken to have one, because it checks each change again.
pub(in crate::pages) fn use_secrets_key() -> Memo<bool> {
    let known = use_known_secrets_key();
    Memo::new(move |_| known.get().unwrap_or(true))
}

/// What to set on a server without a key. `effect` says what is not possible until then: `none can be set.`
pub(in crate::pages) fn no_secrets_key(effect: &'static str) -> AnyView {
    view! {
        <p class="hint" data-testid="no-secrets-key">
            "This server has no key for secrets, so "{effect}" Set "<code>"secrets.key_file"</code>
            " on all nodes to a file with what "<code>"carillon secret new-key"</code>" prints, and restart them."
        </p>
    }
    .into_any()
}
