//! Timing expressions, and a value with its invalid part marked.

use leptos::prelude::*;

/// All expressions of a timing, one per line.
pub(crate) fn expressions(expressions: &[String]) -> AnyView {
    let one = |text: &String| view! { <code class="expression">{text.clone()}</code> }.into_any();
    view! {
        <span class="expressions">{expressions.iter().map(one).collect::<Vec<_>>()}</span>
    }
    .into_any()
}

/// A value with the bytes from `start` to `end` marked.
pub(crate) fn pointed(value: &str, start: usize, end: usize) -> AnyView {
    let (before, marked, after) = split(value, start, end);
    view! {
        <code class="pointed" aria-hidden="true">{before}<mark>{marked}</mark>{after}</code>
    }
    .into_any()
}

/// Splits a text into three parts. An offset that is out of bounds or inside a character moves to the nearest valid
/// one; a range past the end is shown as a space.
fn split(value: &str, start: usize, end: usize) -> (String, String, String) {
    let start = value.floor_char_boundary(start);
    let end = value.ceil_char_boundary(end.max(start + 1));
    let marked = value.get(start..end).filter(|text| !text.is_empty()).unwrap_or("\u{a0}");
    let before = value.get(..start).unwrap_or_default();
    let after = value.get(end..).unwrap_or_default();
    (before.to_owned(), marked.to_owned(), after.to_owned())
}

#[cfg(test)]
mod tests {
    use super::split;

    fn parts(value: &str, start: usize, end: usize) -> [String; 3] {
        split(value, start, end).into()
    }

    #[test]
    fn the_wrong_place_is_marked_wherever_it_is() {
        assert_eq!(parts("0 61 * * *", 2, 4), ["0 ", "61", " * * *"]);
        assert_eq!(parts("0 0 *", 5, 5), ["0 0 *", "\u{a0}", ""]);
        assert_eq!(parts("0 é", 3, 3), ["0 ", "é", ""]);
        assert_eq!(parts("", 7, 9), ["", "\u{a0}", ""]);
    }
}
