use std::ops::Range;

/// How much of a long text is shown on each side of the marked position.
const AROUND: usize = 48;

/// The text with marks under the bytes `at`, as two indented lines; `None` if a terminal could not
/// align the two lines.
pub(super) fn mark(text: &str, at: Range<usize>) -> Option<String> {
    // Requires that each character takes one column: others would shift the marks.
    if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) || at.start > text.len() {
        return None;
    }
    let end = at.end.clamp(at.start, text.len());
    let from = at.start.saturating_sub(AROUND);
    let to = (end + AROUND).min(text.len()).min(at.start + 2 * AROUND);
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
    let indent = before.chars().count() + at.start - from;
    let marks = "^".repeat((end.min(to) - at.start).max(1));
    let shown = text.get(from..to)?;
    Some(format!("  {before}{shown}{after}\n  {}{marks}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_are_under_the_position() {
        assert_eq!(mark("0 25 * * *", 2..4).unwrap(), "  0 25 * * *\n    ^^");
        assert_eq!(mark("0 0 * *", 7..7).unwrap(), "  0 0 * *\n         ^");
    }

    #[test]
    fn a_long_text_is_shown_around_the_place() {
        let text = format!("{}x{}", "1".repeat(100), "2".repeat(100));
        let marked = mark(&text, 100..101).unwrap();
        let (line, marks) = marked.split_once('\n').unwrap();
        assert_eq!(line.chars().position(|c| c == 'x'), marks.chars().position(|c| c == '^'));
        assert!(line.chars().count() < 110);
    }

    #[test]
    fn texts_that_a_terminal_shows_differently_are_not_marked() {
        assert_eq!(mark("0 ０ * * *", 2..5), None);
        assert_eq!(mark("0\t0 * * *", 0..1), None);
        assert_eq!(mark("0", 5..6), None);
    }
}
