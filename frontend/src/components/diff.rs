//! The differences between two values, line by line.

use leptos::prelude::*;
use serde_json::Value;

/// Above this number of lines, the two texts are shown one after the other, because the cost of a comparison is the
/// product of their lengths.
const COMPARED: usize = 600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Both,
    Before,
    After,
}

/// The lines that were removed and added, with some context around them.
pub(crate) fn diff(before: &Value, after: &Value) -> AnyView {
    let text = |value: &Value| {
        if value.is_null() {
            String::new()
        } else {
            serde_json::to_string_pretty(value).unwrap_or_default()
        }
    };
    let (before, after) = (text(before), text(after));
    let before: Vec<&str> = before.lines().collect();
    let after: Vec<&str> = after.lines().collect();
    let lines = near(lines(&before, &after));
    if lines.is_empty() {
        return view! { <p class="muted">"Nothing differs."</p> }.into_any();
    }
    let line = |(side, text): (Side, String)| {
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
    };
    let lines: Vec<_> = lines.into_iter().map(line).collect();
    view! { <pre class="json diff" tabindex="0" role="region" aria-label="What changed">{lines}</pre> }
        .into_any()
}

/// Lines of the longest common subsequence stay; the lines between them were removed or added.
fn lines<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(Side, &'a str)> {
    if before.len() > COMPARED || after.len() > COMPARED {
        let gone = before.iter().map(|line| (Side::Before, *line));
        return gone.chain(after.iter().map(|line| (Side::After, *line))).collect();
    }
    let width = after.len() + 1;
    let mut common = vec![0_u32; (before.len() + 1) * width];
    let at =
        |common: &Vec<u32>, i: usize, j: usize| common.get(i * width + j).copied().unwrap_or(0);
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
                found.push((Side::Both, *old));
                (i, j) = (i + 1, j + 1);
            }
            (Some(old), new) if new.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                found.push((Side::Before, *old));
                i += 1;
            }
            (_, Some(new)) => {
                found.push((Side::After, *new));
                j += 1;
            }
            (_, None) => return found,
        }
    }
}

/// Drops lines that are far from any change.
fn near(lines: Vec<(Side, &str)>) -> Vec<(Side, String)> {
    const AROUND: usize = 2;
    let changed: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].0 != Side::Both).collect();
    let is_near = |at: usize| changed.iter().any(|changed| changed.abs_diff(at) <= AROUND);
    let mut found = Vec::new();
    let mut is_cut = false;
    for (at, (side, text)) in lines.into_iter().enumerate() {
        if is_near(at) {
            found.push((side, text.to_owned()));
        } else if !is_cut && !changed.is_empty() {
            found.push((Side::Both, "…".to_owned()));
        }
        is_cut = !is_near(at);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_lines_stay_and_others_are_removed_or_added() {
        let found = lines(&["a", "b", "c"], &["a", "x", "c", "d"]);
        let wanted = [
            (Side::Both, "a"),
            (Side::Before, "b"),
            (Side::After, "x"),
            (Side::Both, "c"),
            (Side::After, "d"),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn lines_far_from_a_change_are_left_out() {
        let (before, after) = (["1", "2", "3", "4", "5", "6"], ["1", "2", "3", "4", "5", "7"]);
        let shown: Vec<String> =
            near(lines(&before, &after)).into_iter().map(|(_, text)| text).collect();
        assert_eq!(shown, ["…", "4", "5", "6", "7"]);
        assert!(near(lines(&before, &before)).is_empty());
    }
}
