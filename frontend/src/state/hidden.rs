//! Items that the user has hidden until they happen again. This browser remembers them.

use std::collections::BTreeMap;

use leptos::prelude::*;

use super::memory;
use crate::time::Moment;

const KEY: &str = "carillon.hidden";
/// Older ones are dropped.
const MOST: usize = 200;

/// Keys, each with the last occurrence that is hidden.
#[derive(Clone, Copy)]
pub(crate) struct Hidden(RwSignal<BTreeMap<String, i64>>);

impl Hidden {
    /// Whether an item that last happened then is hidden; tracked.
    pub(crate) fn is_hidden(self, key: &str, last: Moment) -> bool {
        self.0.with(|hidden| hidden.get(key).is_some_and(|until| *until >= last.millis()))
    }

    pub(crate) fn hide(self, key: &str, last: Moment) {
        self.0.update(|hidden| {
            hidden.insert(key.to_owned(), last.millis());
            while hidden.len() > MOST {
                let oldest = hidden.iter().min_by_key(|(_, until)| **until);
                let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
                hidden.remove(&oldest);
            }
        });
        self.keep();
    }

    pub(crate) fn clear(self) {
        self.0.set(BTreeMap::new());
        self.keep();
    }

    fn keep(self) {
        let text =
            self.0.with_untracked(|hidden| serde_json::to_string(hidden).unwrap_or_default());
        memory::remember(KEY, &text);
    }
}

pub(super) fn provide() {
    let known = memory::recall(KEY).and_then(|text| serde_json::from_str(&text).ok());
    provide_context(Hidden(RwSignal::new(known.unwrap_or_default())));
}

pub(crate) fn use_hidden() -> Hidden {
    expect_context()
}
