//! The selection on a run's page, kept in the address: a task or one of its attempts, chart or graph, and a stream
//! and a line of the log. The address can be sent to a colleague.

use leptos::prelude::*;

use super::log::stream;
use crate::{components::Chosen, model::LogStream, route::Route, state::Address};

const NAMES: [&str; 5] = ["task", "attempt", "view", "stream", "line"];

#[derive(Clone, Copy)]
pub(super) struct Looking {
    address: Address,
    id: StoredValue<String>,
}

impl Looking {
    pub(super) fn new(address: Address, id: String) -> Self {
        Self { address, id: StoredValue::new(id) }
    }

    /// The selected task and attempt; tracked, like all selections here.
    pub(super) fn chosen(self) -> Chosen {
        let task = self.address.query("task");
        let attempt = self.address.query("attempt").parse().ok().filter(|_| !task.is_empty());
        (task, attempt)
    }

    pub(super) fn shows_graph(self) -> bool {
        self.address.query("view") == "graph"
    }

    pub(super) fn stream_name(self) -> String {
        self.address.query("stream")
    }

    pub(super) fn stream(self) -> Option<LogStream> {
        stream(&self.stream_name())
    }

    pub(super) fn line(self) -> Option<usize> {
        self.address.query("line").parse().ok()
    }

    pub(super) fn choose(self, (task, attempt): Chosen) {
        let attempt = attempt.map(|attempt| attempt.to_string()).unwrap_or_default();
        self.change(&[("task", &task), ("attempt", &attempt), ("line", "")]);
    }

    pub(super) fn show_graph(self, graph: bool) {
        self.change(&[("view", if graph { "graph" } else { "" })]);
    }

    pub(super) fn choose_stream(self, name: &str) {
        self.change(&[("stream", name), ("line", "")]);
    }

    /// Stores a line in the address.
    pub(super) fn link(self, line: usize) {
        self.change(&[("line", &line.to_string())]);
    }

    /// The address of a line; tracked.
    pub(super) fn address_of(self, line: usize) -> String {
        self.with(&[("line", &line.to_string())])
    }

    fn change(self, changes: &[(&str, &str)]) {
        let to = untrack(|| self.with(changes));
        self.address.replace(&to);
    }

    fn with(self, changes: &[(&str, &str)]) -> String {
        let values = NAMES.map(|name| {
            let changed = changes.iter().find(|(changed, _)| *changed == name);
            changed.map_or_else(|| self.address.query(name), |(_, value)| (*value).to_owned())
        });
        let query: Vec<(&str, &str)> =
            NAMES.into_iter().zip(values.iter().map(String::as_str)).collect();
        Route::Run(self.id.get_value()).narrowed(&query)
    }
}
