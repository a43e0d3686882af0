//! Lets the server read the text, a moment after the last key. An answer counts only if the text has not changed
//! since.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::text::TextPane;
use crate::{
    api,
    data::{Actor, use_actor},
    pages::kit,
};

/// Keys that follow each other within this time cause one reading.
const PAUSE: Duration = Duration::from_millis(300);

/// Reads the text of one pane. A copy contains the same handles.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pane: TextPane,
    actor: Actor,
    namespace: Memo<String>,
    /// The workflow that is edited.
    workflow_id: StoredValue<Option<String>>,
    /// The timer; it runs while further keys may follow.
    timer: StoredValue<Option<TimeoutHandle>>,
    /// The text that the server is reading.
    sent: StoredValue<Option<String>>,
}

/// Reads the text whenever it changes from now on.
pub(super) fn use_reader(pane: TextPane, workflow_id: Option<String>) -> Reader {
    let reader = Reader {
        pane,
        actor: use_actor(),
        namespace: kit::use_namespace(),
        workflow_id: StoredValue::new(workflow_id),
        timer: StoredValue::new(None),
        sent: StoredValue::new(None),
    };
    Effect::new(move |_| match pane.pending_text() {
        Some(text) => reader.wait(text),
        None => reader.stop(),
    });
    Effect::new(move |_| {
        pane.track_checks();
        reader.check_now();
    });
    on_cleanup(move || reader.stop());
    reader
}

impl Reader {
    /// Reads the text now, if it was not read or could not be read.
    pub(super) fn check_now(self) {
        self.pane.retry();
        if let Some(text) = untrack(|| self.pane.pending_text()) {
            self.send(text);
        }
    }

    fn wait(self, text: String) {
        self.stop();
        let timer = set_timeout_with_handle(move || self.send(text), PAUSE);
        self.timer.set_value(timer.ok());
    }

    fn stop(self) {
        if let Some(Some(timer)) = self.timer.try_update_value(Option::take) {
            timer.clear();
        }
    }

    fn send(self, text: String) {
        self.stop();
        if self.sent.with_value(|sent| sent.as_ref() == Some(&text)) {
            return;
        }
        self.sent.set_value(Some(text.clone()));
        let (id, namespace) = (self.workflow_id.get_value(), self.namespace.get_untracked());
        let ask = api::planning::read_workflow(text.clone(), id, namespace);
        self.actor.send(ask, move |outcome| {
            // If the answer was outdated, the same text may have to be read again.
            let _gone = self.sent.try_update_value(|sent| {
                let is_of_this = sent.as_ref() == Some(&text);
                if is_of_this {
                    *sent = None;
                }
            });
            if self.pane.waits_for(&text) {
                self.pane.answer(outcome);
            }
        });
    }
}
