//! What the address asks for.

use crate::{
    api::ScheduleQuery,
    model::{Place, ScheduleState},
    pages::{cursors, place},
    state::Address,
};

/// A view of the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wanted {
    pub(super) namespace: String,
    pub(super) text: String,
    pub(super) tag: String,
    pub(super) state: String,
    pub(super) place: Place,
}

impl Wanted {
    /// Tracked.
    pub(super) fn of(address: Address) -> Self {
        Self {
            namespace: address.namespace(),
            text: address.query("q"),
            tag: address.query("tag"),
            state: address.query("state"),
            place: place(address),
        }
    }

    pub(super) fn is_narrowed(&self) -> bool {
        !(self.text.is_empty() && self.tag.is_empty() && self.state.is_empty())
    }

    /// As the address keeps it.
    pub(super) fn query_parts(&self) -> [(&str, &str); 5] {
        let [after, before] = cursors(&self.place);
        let (text, tag, state) = (self.text.as_str(), self.tag.as_str(), self.state.as_str());
        [("q", text), ("tag", tag), ("state", state), after, before]
    }

    fn state(&self) -> Option<ScheduleState> {
        match self.state.as_str() {
            "active" => Some(ScheduleState::Active),
            "paused" => Some(ScheduleState::Paused),
            "finished" => Some(ScheduleState::Finished),
            "exhausted" => Some(ScheduleState::Exhausted),
            _ => None,
        }
    }

    /// Whether a schedule may stay on the page in this state.
    pub(super) fn admits(&self, state: ScheduleState) -> bool {
        self.state().is_none_or(|wanted| wanted == state)
    }

    pub(super) fn query(self) -> ScheduleQuery {
        let state = self.state();
        let given = |text: String| (!text.is_empty()).then_some(text);
        ScheduleQuery {
            namespace: self.namespace,
            search: given(self.text),
            tag: given(self.tag),
            state,
            place: self.place,
        }
    }
}
