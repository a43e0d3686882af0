//! What changed between two values or two lists of lines, line by line.

use std::{borrow::Cow, ops::Range};

use leptos::prelude::*;
use serde_json::Value;

use crate::time::amount;

/// Above this number of lines between the common beginning and the common end, the two texts are shown one after the
/// other: comparing costs the product of their lengths.
const COMPARED: usize = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Both,
    Before,
    After,
}

/// When two lines are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sameness {
    Exact,
    /// Numbers may differ, as the times in a log do.
    ButNumbers,
}

/// A line of a comparison: its side, and its position in the text of that side. A common line is that of the second
/// text.
type Line = (Side, usize);

/// A part of a comparison as it is shown.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Shown(Line),
    /// The number of common lines that are left out.
    LeftOut(usize),
}

/// Shows the lines that were removed and added, with some context around them.
pub(crate) fn diff(before: &Value, after: &Value) -> AnyView {
    diff_values("What changed", before, after)
}

/// Shows the difference of two values under a name, for a page that compares several values.
pub(crate) fn diff_values(label: &'static str, before: &Value, after: &Value) -> AnyView {
    let lines = |value: &Value| -> Vec<String> {
        if value.is_null() {
            return Vec::new();
        }
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    diff_lines(label, &lines(before), &lines(after), Sameness::Exact)
}

/// Shows the difference of two lists of lines.
pub(crate) fn diff_lines(
    label: &'static str,
    before: &[String],
    after: &[String],
    sameness: Sameness,
) -> AnyView {
    let keys = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| key(line, sameness).into_owned()).collect()
    };
    let (old, new) = (keys(before), keys(after));
    let parts = near(&lines(&old, &new));
    if parts.is_empty() {
        return view! { <p class="muted">"Nothing differs."</p> }.into_any();
    }
    let note = is_too_long(&between(&old, &new)).then(|| {
        let words = "Too much differs to be compared line by line: the removed lines stand before the added ones.";
        view! { <p class="muted">{words}</p> }.into_any()
    });
    let text = |(side, at): Line| {
        let lines = if side == Side::Before { before } else { after };
        lines.get(at).cloned().unwrap_or_default()
    };
    let parts: Vec<_> = parts
        .into_iter()
        .map(|part| match part {
            Part::Shown(line) => drawn(line.0, text(line)),
            Part::LeftOut(count) => {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                let words = format!("… {} …", amount(count, "common line", "common lines"));
                drawn(Side::Both, words)
            }
        })
        .collect();
    view! {
        {note}
        <pre class="json diff" tabindex="0" role="region" aria-label=label>{parts}</pre>
    }
    .into_any()
}

fn drawn(side: Side, text: String) -> AnyView {
    let (state, sign, words) = match side {
        Side::Both => ("same", " ", ""),
        Side::Before => ("gone", "-", "removed: "),
        Side::After => ("new", "+", "added: "),
    };
    view! {
        <span class="diff-line" data-side=state>
            <span aria-hidden="true">{sign}" "</span>
            <span class="visually-hidden">{words}</span>
            {text}"\n"
        </span>
    }
    .into_any()
}

/// The part of a line that is compared.
fn key(line: &str, sameness: Sameness) -> Cow<'_, str> {
    match sameness {
        Sameness::Exact => Cow::Borrowed(line),
        Sameness::ButNumbers => {
            let mut key = String::with_capacity(line.len());
            for letter in line.chars() {
                let is_digit = letter.is_ascii_digit();
                if !is_digit || !key.ends_with('0') {
                    key.push(if is_digit { '0' } else { letter });
                }
            }
            Cow::Owned(key)
        }
    }
}

/// The ranges of both texts between their common beginning and their common end.
fn between<K: PartialEq>(before: &[K], after: &[K]) -> (Range<usize>, Range<usize>) {
    let head = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let rest = before.len().min(after.len()) - head;
    let ends = before.iter().rev().zip(after.iter().rev()).take(rest);
    let tail = ends.take_while(|(old, new)| old == new).count();
    (head..before.len() - tail, head..after.len() - tail)
}

fn is_too_long((old, new): &(Range<usize>, Range<usize>)) -> bool {
    old.len().max(new.len()) > COMPARED
}

/// Lines of the longest common subsequence stay; the lines between them were removed or added.
fn lines<K: PartialEq>(before: &[K], after: &[K]) -> Vec<Line> {
    let (old, new) = between(before, after);
    let head = old.start;
    let mut found: Vec<Line> = (0..head).map(|at| (Side::Both, at)).collect();
    let end = (new.end..after.len()).map(|at| (Side::Both, at));
    if is_too_long(&(old.clone(), new.clone())) {
        found.extend(old.map(|at| (Side::Before, at)));
        found.extend(new.map(|at| (Side::After, at)));
    } else {
        let middle =
            subsequence(before.get(old).unwrap_or_default(), after.get(new).unwrap_or_default());
        found.extend(middle.into_iter().map(|(side, at)| (side, at + head)));
    }
    found.extend(end);
    found
}

fn subsequence<K: PartialEq>(before: &[K], after: &[K]) -> Vec<Line> {
    let width = after.len() + 1;
    let mut common = vec![0_u16; (before.len() + 1) * width];
    let at =
        |common: &Vec<u16>, i: usize, j: usize| common.get(i * width + j).copied().unwrap_or(0);
    for (i, old) in before.iter().enumerate().rev() {
        for (j, new) in after.iter().enumerate().rev() {
            let best = if old == new {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(cell) = common.get_mut(i * width + j) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    loop {
        match (before.get(i), after.get(j)) {
            (Some(old), Some(new)) if old == new => {
                found.push((Side::Both, j));
                (i, j) = (i + 1, j + 1);
            }
            (Some(_), new) if new.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                found.push((Side::Before, i));
                i += 1;
            }
            (_, Some(_)) => {
                found.push((Side::After, j));
                j += 1;
            }
            (_, None) => return found,
        }
    }
}

/// Leaves out the common lines that are far from any change; nothing remains if nothing differs.
fn near(lines: &[Line]) -> Vec<Part> {
    const AROUND: usize = 2;
    let mut is_near = vec![false; lines.len()];
    let changed = lines.iter().enumerate().filter(|(_, (side, _))| *side != Side::Both);
    for (at, _) in changed {
        let around = at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1);
        is_near.get_mut(around).unwrap_or_default().fill(true);
    }
    if !is_near.contains(&true) {
        return Vec::new();
    }
    let mut parts = Vec::new();
    for (line, is_near) in lines.iter().zip(is_near) {
        if is_near {
            parts.push(Part::Shown(*line));
        } else if let Some(Part::LeftOut(count)) = parts.last_mut() {
            *count += 1;
        } else {
            parts.push(Part::LeftOut(1));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_lines_stay_and_others_are_removed_or_added() {
        let found = lines(&["a", "b", "c"], &["a", "x", "c", "d"]);
        let wanted = [
            (Side::Both, 0),
            (Side::Before, 1),
            (Side::After, 1),
            (Side::Both, 2),
            (Side::After, 3),
        ];
        assert_eq!(found, wanted);
        // The common end is that of the longer text.
        let found = lines(&["a", "b"], &["x", "a", "b"]);
        assert_eq!(found, [(Side::After, 0), (Side::Both, 1), (Side::Both, 2)]);
        assert_eq!(lines(&["a", "a"], &["a"]), [(Side::Both, 0), (Side::Before, 1)]);
    }

    #[test]
    fn lines_far_from_a_change_are_left_out_and_counted() {
        let (before, after) = (["1", "2", "3", "4", "5", "6"], ["1", "2", "3", "4", "5", "7"]);
        let both = |at| Part::Shown((Side::Both, at));
        let wanted = [
            Part::LeftOut(3),
            both(3),
            both(4),
            Part::Shown((Side::Before, 5)),
            Part::Shown((Side::After, 5)),
        ];
        assert_eq!(near(&lines(&before, &after)), wanted);
        assert!(near(&lines(&before, &before)).is_empty());
    }

    #[test]
    fn texts_that_are_too_long_are_shown_one_after_the_other() {
        let old: Vec<usize> = (0..COMPARED + 3).collect();
        let new: Vec<usize> = (0..1).chain(COMPARED + 3..2 * COMPARED + 6).collect();
        assert!(is_too_long(&between(&old, &new)));
        let found = lines(&old, &new);
        assert_eq!(found.len(), old.len() + new.len() - 1);
        assert_eq!(found[..2], [(Side::Both, 0), (Side::Before, 1)]);
        assert_eq!(found.last(), Some(&(Side::After, new.len() - 1)));
        // What is common at both ends does not count.
        let mut longer = old.clone();
        longer.insert(COMPARED / 2, usize::MAX);
        assert!(!is_too_long(&between(&old, &longer)));
    }

    #[test]
    fn lines_are_the_same_but_for_numbers() {
        let same = |one, other| key(one, Sameness::ButNumbers) == key(other, Sameness::ButNumbers);
        assert!(same("12:04:59 took 830 ms", "09:59:00 took 1200 ms"));
        assert!(same("step 100", "step 7"));
        assert!(!same("12 files", "12 folders"));
        assert!(!same("a 1 b", "a b"));
        assert_eq!(key("a 1", Sameness::Exact), "a 1");
    }
}
