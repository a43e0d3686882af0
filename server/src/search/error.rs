use std::ops::Range;

/// Why a search was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {help}")]
pub struct SearchError {
    /// The position of the mistake, in bytes.
    pub position: Range<usize>,
    /// The mistake, with the term that contains it.
    pub problem: String,
    /// What would be valid.
    pub help: String,
}

impl SearchError {
    pub(super) fn new(
        position: Range<usize>,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { position, problem: problem.into(), help: help.into() }
    }
}

/// How much of a value an error repeats.
const ECHO: usize = 40;

/// A value for an error message.
pub(super) fn quoted(value: &str) -> String {
    if value.chars().count() <= ECHO {
        return format!("'{value}'");
    }
    let begin: String = value.chars().take(ECHO - 1).collect();
    format!("'{begin}…'")
}

/// The valid words: first the one that was probably intended, then all of them.
pub(super) fn one_of(word: &str, what: &str, known: &[&str]) -> String {
    let all = known.join(", ");
    match nearest(word, known) {
        Some(meant) => format!("did you mean '{meant}'? {what}: {all}"),
        None => format!("{what}: {all}"),
    }
}

/// The known word that differs in at most two letters, and in fewer than half of its letters.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    if word.len() > ECHO {
        return None;
    }
    let distances = known.iter().map(|known| (distance(&word, known), *known));
    let (steps, known) = distances.min()?;
    (steps <= 2 && steps * 2 < known.len()).then_some(known)
}

/// How many letters must be added, removed or replaced.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut corner = line;
        let mut left = line + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(&to) {
            let replaced = corner + usize::from(letter != *other);
            corner = *cell;
            *cell = replaced.min(corner + 1).min(left + 1);
            left = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = line + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_differ_are_counted() {
        for (from, to, steps) in
            [("state", "state", 0), ("stat", "state", 1), ("satte", "state", 2), ("", "tag", 3)]
        {
            assert_eq!(distance(from, to), steps, "{from} {to}");
        }
    }

    #[test]
    fn the_likely_intention_is_suggested() {
        assert_eq!(nearest("worflow", &["tag", "workflow"]), Some("workflow"));
        assert_eq!(nearest("Stat", &["state", "tag"]), Some("state"));
        assert_eq!(nearest("x", &["tag"]), None);
    }
}
