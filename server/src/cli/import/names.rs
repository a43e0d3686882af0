//! Names for what had none, or others.

use std::collections::HashSet;

/// The names that were given.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<String>);

/// So long a name is at the most, so that a number fits behind it.
const MOST: usize = 110;

impl Names {
    /// A name like `wanted` that names may have and nothing has yet.
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let base = fitting(wanted);
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let mut candidates = std::iter::once(base.clone()).chain(numbered);
        let free = candidates.find(|name| !self.0.contains(name)).unwrap_or(base);
        self.0.insert(free.clone());
        free
    }
}

/// What names may have of a text.
fn fitting(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().take(MOST) {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
            name.push(c);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if name.is_empty() { "job".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_free_and_have_only_what_names_may_have() {
        let mut names = Names::default();
        let taken: Vec<_> = ["backup.sh", "backup.sh", "-ä b//c-", "", &"x".repeat(500)]
            .map(|w| names.take(w))
            .into();
        assert_eq!(taken[..4], ["backup.sh", "backup.sh-2", "b-c", "job"]);
        assert_eq!(taken[4].len(), MOST);
    }
}
