//! The selection on a run's page, kept in the address: a task or one of its attempts, chart or graph, and a stream
//! and a line of the log, and the run to compare with. The address can be sent to a colleague.

use leptos::prelude::*;

use super::log::stream;
use crate::{components::Chosen, model::LogStream, route::Route, state::Address};

const NAMES: [&str; 7] = ["task", "attempt", "view", "stream", "line", "compare", "numbers"];

/// In the address, the run to compare with: the last success before this run.
pub(super) const LAST: &str = "last";

#[derive(Clone, Copy)]
pub(in crate::pages) struct Looking {
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

    /// The run to compare with: its id, `LAST`, or nothing.
    pub(super) fn compared(self) -> String {
        self.address.query("compare")
    }

    pub(super) fn compare_with(self, run: &str) {
        self.change(&[("compare", run)]);
    }

    /// The address of the comparison with a run; without one, that of the run alone. Tracked.
    pub(super) fn comparison_with(self, run: &str) -> String {
        self.with(&[("compare", run)])
    }

    /// Whether lines of the log that differ only in numbers count as the same.
    pub(super) fn ignores_numbers(self) -> bool {
        self.address.query("numbers") == "ignore"
    }

    pub(super) fn ignore_numbers(self, ignores: bool) {
        self.change(&[("numbers", if ignores { "ignore" } else { "" })]);
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
