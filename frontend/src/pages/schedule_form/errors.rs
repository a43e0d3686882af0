//! Which error belongs under which field: what the server said when the form was sent, or what it says of the timing
//! while it is typed.

use leptos::prelude::*;

use crate::{
    api::{Code, Failure, Load, explain},
    model::Preview,
};

/// Both sources.
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

    /// What was refused when the form was sent.
    pub(super) fn sent(self) -> Option<Failure> {
        self.sent.get()
    }

    /// The error of a field, by any of its names.
    pub(super) fn of(self, names: &[&'static str]) -> Signal<Option<Failure>> {
        let names = names.to_vec();
        self.matching(move |field| names.contains(&field))
    }

    /// The error of the expression with this number.
    pub(super) fn of_expression(self, index: Signal<usize>) -> Signal<Option<Failure>> {
        self.matching(move |field| {
            field == format!("expressions[{}]", index.get())
                || (field == "expressions" && index.get() == 0)
        })
    }

    fn matching(
        self,
        is_it: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Signal<Option<Failure>> {
        Signal::derive(move || {
            let typed = self.answer.data.with(|preview| {
                let problem = preview.as_ref()?.problem.as_ref()?;
                is_it(&problem.field).then(|| Failure {
                    code: Code::BadUserInput,
                    message: explain(&problem.problem, &problem.help),
                    field: Some(problem.field.clone()),
                    position: problem.position,
                })
            });
            let sent = || self.sent.get().filter(|sent| sent.field.as_deref().is_some_and(&is_it));
            typed.or_else(sent)
        })
    }
}
