//! Names for imported entries that have none, or whose names must change.

use std::collections::HashMap;

/// The names in use, each with the number to try next as its suffix.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, u32>);

/// Maximum length of a name, which leaves room for a number.
const MAX_LENGTH: usize = 110;

impl Names {
    /// The first free name among `wanted`, converted to a valid name; if all are taken, the last
    /// one with a number.
    pub(super) fn take(&mut self, wanted: &[&str]) -> String {
        let mut last = fitting("");
        for text in wanted {
            last = fitting(text);
            if !self.0.contains_key(&last) {
                self.0.insert(last.clone(), 2);
                return last;
            }
        }
        loop {
            let next = self.0.entry(last.clone()).or_insert(2);
            let numbered = format!("{last}-{next}");
            *next += 1;
            if !self.0.contains_key(&numbered) {
                self.0.insert(numbered.clone(), 2);
                return numbered;
            }
        }
    }
}

/// Reduces a text to characters that names may have.
fn fitting(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().take(MAX_LENGTH) {
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
            .map(|w| names.take(&[w]))
            .into();
        assert_eq!(taken[..4], ["backup.sh", "backup.sh-2", "b-c", "job"]);
        assert_eq!(taken[4].len(), MAX_LENGTH);
        assert_eq!(names.take(&["job", "job-daily"]), "job-daily");
        assert_eq!(names.take(&["job", "job-daily"]), "job-daily-2");
    }
}
