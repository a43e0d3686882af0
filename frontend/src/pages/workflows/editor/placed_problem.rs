//! A problem of the text, with its position.

use super::definition::Broken;
use crate::model::{TextProblem, explain};

/// A problem of the text, with its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlacedProblem {
    /// Line and column, in characters, both counted from one.
    pub(super) place: Option<(usize, usize)>,
    /// Sentences with the problem and the advice.
    pub(super) message: String,
}

impl PlacedProblem {
    /// The problem with its position, in one or two sentences.
    pub(super) fn sentence(&self) -> String {
        match self.words_of_place() {
            Some(place) => format!("{place}: {}", self.message),
            None => self.message.clone(),
        }
    }

    pub(super) fn words_of_place(&self) -> Option<String> {
        self.place.map(|(line, column)| format!("Line {line}, column {column}"))
    }

    /// The problem of a text that is not JSON.
    pub(super) fn of_json(text: &str, broken: &Broken) -> Self {
        let line = text.lines().nth(broken.line.saturating_sub(1)).unwrap_or_default();
        let before = line.get(..broken.column.saturating_sub(1)).unwrap_or(line);
        let place = Some((broken.line, before.chars().count() + 1));
        Self { place, message: format!("{}.", broken.message) }
    }
}

impl From<TextProblem> for PlacedProblem {
    fn from(found: TextProblem) -> Self {
        let TextProblem { line, column, field, value, problem, help } = found;
        let said = explain(&problem, &help);
        let message = match (field.is_empty(), value.is_empty()) {
            (true, _) => said,
            (false, true) => format!("{field}: {said}"),
            (false, false) => format!("{field}, “{value}”: {said}"),
        };
        Self { place: line.map(|line| (line, column.unwrap_or(1))), message }
    }
}

/// The error if JSON gives the workflow another name.
pub(super) fn other_name(text: &str, name: &str) -> PlacedProblem {
    let found = text.lines().position(|line| line.trim_start().starts_with("\"name\""));
    PlacedProblem {
        place: Some((found.map_or(1, |index| index + 1), 1)),
        message: format!("A workflow keeps its name, {name:?}."),
    }
}
