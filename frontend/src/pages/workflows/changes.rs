//! The line differences from one text to the next.

/// A line of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The smallest set of changes between two texts. People write these texts, so they have a few hundred lines.
pub(in crate::pages) fn between<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let common = common(&old, &new);
    let at = |row: usize, column: usize| {
        common.get(row * (new.len() + 1) + column).copied().unwrap_or_default()
    };
    let (mut lines, mut row, mut column) = (Vec::new(), 0, 0);
    loop {
        match (old.get(row), new.get(column)) {
            (Some(gone), Some(next)) if gone == next => {
                lines.push(Line::Same(gone));
                row += 1;
                column += 1;
            }
            (Some(gone), Some(_)) if at(row + 1, column) >= at(row, column + 1) => {
                lines.push(Line::Gone(gone));
                row += 1;
            }
            (_, Some(next)) => {
                lines.push(Line::New(next));
                column += 1;
            }
            (Some(gone), None) => {
                lines.push(Line::Gone(gone));
                row += 1;
            }
            (None, None) => return lines,
        }
    }
}

/// For each pair of positions, the length of the longest common subsequence of the lines from these positions on.
fn common(old: &[&str], new: &[&str]) -> Vec<u16> {
    let width = new.len() + 1;
    let mut table = vec![0_u16; (old.len() + 1) * width];
    for (row, gone) in old.iter().enumerate().rev() {
        for (column, next) in new.iter().enumerate().rev() {
            let read = |place: usize| table.get(place).copied().unwrap_or_default();
            let length = if gone == next {
                read((row + 1) * width + column + 1) + 1
            } else {
                read((row + 1) * width + column).max(read(row * width + column + 1))
            };
            if let Some(cell) = table.get_mut(row * width + column) {
                *cell = length;
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Line, between};

    #[test]
    fn only_changed_lines_are_shown() {
        use Line::{Gone, New, Same};
        let lines = between("a\nb\nc", "a\nx\nc\nd");
        assert_eq!(lines, [Same("a"), Gone("b"), New("x"), Same("c"), New("d")]);
        assert_eq!(between("", "a"), [New("a")]);
        assert_eq!(between("a", "a"), [Same("a")]);
    }
}
