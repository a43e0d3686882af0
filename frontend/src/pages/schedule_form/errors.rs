//! Assigns errors to fields. They come from the server's answer to the sent form, or to the timing while the user
//! types.

use leptos::prelude::*;

use crate::{
    data::Load,
    model::{Code, Failure, Preview, Problem, explain, field_name},
};

/// The errors of the sent form and of the typed timing.
#[derive(Clone, Copy)]
pub(super) struct Errors {
    sent: RwSignal<Option<Failure>>,
    answer: Load<Preview>,
}

impl Errors {
    pub(super) fn new(answer: Load<Preview>) -> Self {
        Self { sent: RwSignal::new(None), answer }
    }

    pub(super) fn set(self, failure: Failure) {
        self.sent.set(Some(failure));
    }

    pub(super) fn clear(self) {
        self.sent.set(None);
    }

    /// The error of the form that was sent.
    pub(super) fn sent(self) -> Option<Failure> {
        self.sent.get()
    }

    /// The error of a field, found by any of the field's names.
    pub(super) fn of(self, names: &[&'static str]) -> Signal<Option<Failure>> {
        let names = names.to_vec();
        self.matching(Box::new(move |field| names.iter().any(|name| is_of(name, field))))
    }

    /// The error of the expression with this number.
    pub(super) fn of_expression(self, index: Signal<usize>) -> Signal<Option<Failure>> {
        self.matching(Box::new(move |field| {
            field == format!("expressions[{}]", index.get())
                || (field == "expressions" && index.get() == 0)
        }))
    }

    fn matching(self, is_it: Box<dyn Fn(&str) -> bool + Send + Sync>) -> Signal<Option<Failure>> {
        Signal::derive(move || {
            let typed = self.answer.with(|preview| preview.problem.as_ref().map(failure)).flatten();
            let of_field = |failure: &Failure| failure.field.as_deref().is_some_and(&is_it);
            typed.filter(of_field).or_else(|| self.sent.get().filter(of_field))
        })
    }
}

/// Whether the control called `name` shows an error of `field`. A list shows the errors of its items, and headers and
/// an environment show those of their members.
fn is_of(name: &str, field: &str) -> bool {
    let has_members = name.ends_with(".headers") || name.ends_with(".environment");
    field.strip_prefix(name).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with('[') || (has_members && rest.starts_with('.'))
    })
}

fn failure(problem: &Problem) -> Failure {
    Failure {
        code: Code::BadUserInput,
        message: explain(&problem.problem, &problem.help),
        field: Some(field_name(&problem.field).to_owned()),
        position: problem.start.map(|start| (start, problem.end.unwrap_or(start + 1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_shows_the_errors_of_its_items_and_members() {
        assert!(is_of("name", "name"));
        assert!(is_of("calendars", "calendars[1]"));
        for name in
            ["target.http.headers", "target.publish.event.headers", "target.command.environment"]
        {
            assert!(is_of(name, &format!("{name}.X-Key")), "{name}");
        }
        assert!(!is_of("name", "names"));
        assert!(!is_of("target.http", "target.http.url"));
        assert!(!is_of("target.http.headers", "target.http.headers-x"));
        let servers = "target.publish.to.kafka.connection.servers";
        assert!(!is_of("target.publish.to", servers));
    }
}
