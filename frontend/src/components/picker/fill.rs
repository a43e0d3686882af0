//! Which part of a field's text a suggestion replaces, and the suggestions that fit it (pure).

use std::ops::Range;

use super::super::query::{QueryField, complete, typed_value};

/// Maximum number of suggestions that are shown at once.
const SHOWN: usize = 8;

/// How a suggestion fills a field.
#[derive(Clone, Copy)]
pub(crate) enum Fill {
    /// A suggestion replaces the whole text.
    Whole,
    /// A suggestion is one of several words, separated by commas.
    Words,
    /// A suggestion is a secret's name: the field gets a template that refers to it. In an empty field, every secret
    /// fits.
    Secret,
    /// A secret's name within a longer text, once `{{` is typed.
    Template,
    /// A suggestion is a tag, in the search language; these are the fields of the search.
    Search(&'static [QueryField]),
}

/// One suggestion: its label, the field's text with it, and the position of the cursor behind it, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) words: String,
    pub(super) hint: &'static str,
    pub(super) text: String,
    pub(super) cursor: usize,
}

/// The suggestions for a text, and how many more fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Offers {
    pub(super) shown: Vec<Offer>,
    pub(super) further: usize,
}

/// The part of a text that is being typed.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    range: Range<usize>,
    typed: String,
}

/// What is looked for at the cursor; `None` where nothing can be suggested.
pub(super) fn sought(fill: Fill, text: &str, cursor: usize) -> Option<String> {
    match fill {
        Fill::Search(_) => {
            Some(typed_value(text.get(..cursor)?, "tag").unwrap_or_default().to_owned())
        }
        Fill::Whole | Fill::Words | Fill::Secret | Fill::Template => {
            part(fill, text, cursor).map(|part| part.typed)
        }
    }
}

/// The suggestions at the cursor. A text that already is one of the names has none, unless the list `is_asked` for:
/// then it has all of them.
pub(super) fn offers(
    fill: Fill,
    text: &str,
    cursor: usize,
    known: &[String],
    is_asked: bool,
) -> Offers {
    if let Fill::Search(fields) = fill {
        return terms(fields, text, cursor, known);
    }
    let Some(part) = part(fill, text, cursor) else { return Offers::default() };
    let is_template = matches!(fill, Fill::Secret | Fill::Template);
    let is_exact = !is_template && known.contains(&part.typed);
    if is_exact && !is_asked {
        return Offers::default();
    }
    let typed = if is_exact { String::new() } else { part.typed.to_lowercase() };
    let others = others(fill, text, &part.range);
    let fits =
        |name: &&String| name.to_lowercase().contains(&typed) && !others.contains(&name.as_str());
    let mut names: Vec<&String> = known.iter().filter(fits).collect();
    // The sort is stable: names that begin with what is typed come first, each kind in its own order.
    names.sort_by_key(|name| !name.to_lowercase().starts_with(&typed));
    let offer = |name: &&String| {
        let with = if is_template { reference(name) } else { (*name).clone() };
        let space = if matches!(fill, Fill::Words) && part.range.start > 0 { " " } else { "" };
        let before = text.get(..part.range.start).unwrap_or_default();
        let after = text.get(part.range.end..).unwrap_or_default();
        let head = format!("{before}{space}{with}");
        Offer {
            words: (*name).clone(),
            hint: "",
            cursor: head.len(),
            text: format!("{head}{after}"),
        }
    };
    let shown: Vec<Offer> = names.iter().take(SHOWN).map(offer).collect();
    Offers { further: names.len() - shown.len(), shown }
}

/// The template that stands for a secret.
fn reference(name: &str) -> String {
    format!("{{{{ secrets.{name} }}}}")
}

fn part(fill: Fill, text: &str, cursor: usize) -> Option<Part> {
    let head = text.get(..cursor)?;
    match fill {
        Fill::Whole => Some(Part { range: 0..text.len(), typed: text.trim().to_owned() }),
        Fill::Words => {
            let start = head.rfind(',').map_or(0, |comma| comma + 1);
            let end = text.get(cursor..)?.find(',').map_or(text.len(), |comma| cursor + comma);
            Some(Part { range: start..end, typed: text.get(start..end)?.trim().to_owned() })
        }
        Fill::Secret if text.trim().is_empty() => {
            Some(Part { range: 0..text.len(), typed: String::new() })
        }
        Fill::Secret | Fill::Template => template(text, cursor),
        Fill::Search(_) => None,
    }
}

/// The reference to a secret that is being typed, from its `{{` to the cursor, or to its `}}` if it has one.
fn template(text: &str, cursor: usize) -> Option<Part> {
    const PREFIX: &str = "secrets.";
    let (head, rest) = (text.get(..cursor)?, text.get(cursor..)?);
    let start = head.rfind("{{")?;
    let inside = head.get(start + 2..)?.trim_start();
    let typed = match inside.strip_prefix(PREFIX) {
        Some(typed) => typed,
        None if PREFIX.starts_with(inside) => "",
        None => return None,
    };
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !typed.chars().all(is_word) {
        return None;
    }
    let closing = rest.trim_start_matches(is_word).trim_start_matches(' ').strip_prefix("}}");
    let end = closing.map_or(cursor, |after| text.len() - after.len());
    Some(Part { range: start..end, typed: typed.to_owned() })
}

/// The words of a list beside the one that is being typed: none is suggested twice.
fn others<'a>(fill: Fill, text: &'a str, typed: &Range<usize>) -> Vec<&'a str> {
    if !matches!(fill, Fill::Words) {
        return Vec::new();
    }
    let before = text.get(..typed.start).unwrap_or_default().split(',');
    let after = text.get(typed.end..).unwrap_or_default().split(',');
    before.chain(after).map(str::trim).filter(|word| !word.is_empty()).collect()
}

/// The completions of the term at the cursor, of a text in the search language.
fn terms(fields: &'static [QueryField], text: &str, cursor: usize, tags: &[String]) -> Offers {
    let (Some(head), Some(rest)) = (text.get(..cursor), text.get(cursor..)) else {
        return Offers::default();
    };
    let known = [("tag", tags.to_vec())];
    let offer = |(words, hint, head): (String, &'static str, String)| Offer {
        words,
        hint,
        cursor: head.len(),
        text: format!("{head}{rest}"),
    };
    let shown = complete(head, fields, &known).into_iter().map(|o| (o.words, o.hint, o.text));
    Offers { shown: shown.map(offer).collect(), further: 0 }
}

/// The byte position of a position that the browser counts in UTF-16 units.
pub(super) fn byte_at(text: &str, units: u32) -> usize {
    let mut left = units as usize;
    for (at, letter) in text.char_indices() {
        if left == 0 {
            return at;
        }
        left = left.saturating_sub(letter.len_utf16());
    }
    text.len()
}

/// The opposite of [`byte_at`].
pub(super) fn units_at(text: &str, byte: usize) -> u32 {
    let units = text.get(..byte).unwrap_or(text).chars().map(char::len_utf16).sum::<usize>();
    u32::try_from(units).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [QueryField; 2] = [
        QueryField { name: "state", hint: "", values: &["active"] },
        QueryField { name: "tag", hint: "", values: &[] },
    ];

    fn known() -> Vec<String> {
        ["billing", "eu", "europe", "neu"].map(str::to_owned).to_vec()
    }

    fn words(found: &Offers) -> Vec<&str> {
        found.shown.iter().map(|offer| offer.words.as_str()).collect()
    }

    /// The text with the first suggestion, and the cursor in it.
    fn first(fill: Fill, text: &str, cursor: usize) -> Option<(String, usize)> {
        let found = offers(fill, text, cursor, &known(), true);
        found.shown.into_iter().next().map(|offer| (offer.text, offer.cursor))
    }

    #[test]
    fn names_that_begin_with_what_is_typed_come_first() {
        let found = offers(Fill::Whole, "e", 1, &known(), false);
        assert_eq!(words(&found), ["eu", "europe", "neu"]);
        let found = offers(Fill::Whole, "EU", 2, &known(), false);
        assert_eq!(words(&found), ["eu", "europe", "neu"]);
        assert_eq!(offers(Fill::Whole, "xyz", 3, &known(), false), Offers::default());
    }

    #[test]
    fn a_name_that_exists_has_no_suggestions_unless_they_are_asked_for() {
        assert_eq!(offers(Fill::Whole, "eu", 2, &known(), false), Offers::default());
        assert_eq!(offers(Fill::Whole, "eu", 2, &known(), true).shown.len(), 4);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let many: Vec<String> = (0..11).map(|number| format!("name-{number}")).collect();
        let found = offers(Fill::Whole, "", 0, &many, false);
        assert_eq!((found.shown.len(), found.further), (8, 3));
    }

    #[test]
    fn the_word_at_the_cursor_is_replaced_and_none_is_suggested_twice() {
        assert_eq!(first(Fill::Words, "eu, bi", 6), Some(("eu, billing".to_owned(), 11)));
        assert_eq!(first(Fill::Words, "bil, eu", 3), Some(("billing, eu".to_owned(), 7)));
        let found = offers(Fill::Words, "eu,", 3, &known(), false);
        assert_eq!(words(&found), ["billing", "europe", "neu"]);
    }

    #[test]
    fn a_secret_is_referred_to_by_a_template() {
        let whole = "{{ secrets.billing }}";
        assert_eq!(first(Fill::Secret, "", 0), Some((whole.to_owned(), whole.len())));
        assert_eq!(first(Fill::Template, "", 0), None);
        for begun in ["{{", "{{ ", "{{ sec", "{{ secrets.", "{{ secrets.bil", "{{secrets.bil"] {
            assert_eq!(
                first(Fill::Template, begun, begun.len()),
                Some((whole.to_owned(), whole.len())),
                "{begun}"
            );
        }
        // What stands around it stays, and an existing end is not doubled.
        let text = "X-Key: {{ secrets.bi }}\nAccept: a";
        let expected = "X-Key: {{ secrets.billing }}\nAccept: a";
        assert_eq!(first(Fill::Template, text, 20), Some((expected.to_owned(), 28)));
        for other in ["hush", "{{ context.a", "{{ secrets.a }}", "{{ secrets.a ~ "] {
            assert_eq!(first(Fill::Template, other, other.len()), None, "{other}");
        }
    }

    #[test]
    fn a_search_is_completed_at_the_cursor() {
        let fill = Fill::Search(&FIELDS);
        assert_eq!(first(fill, "ta", 2), Some(("tag:".to_owned(), 4)));
        assert_eq!(
            first(fill, "tag:bi state:active", 6),
            Some(("tag:billing state:active".to_owned(), 11))
        );
    }

    #[test]
    fn a_source_is_asked_for_what_is_typed_at_the_cursor() {
        assert_eq!(sought(Fill::Words, "eu, bi", 6), Some("bi".to_owned()));
        let search = Fill::Search(&FIELDS);
        assert_eq!(sought(search, "tag:bi state:active", 6), Some("bi".to_owned()));
        assert_eq!(sought(search, "state:active", 12), Some(String::new()));
    }

    #[test]
    fn positions_of_the_browser_are_counted_in_its_units() {
        let text = "aü😀b";
        for (units, byte) in [(0, 0), (1, 1), (2, 3), (4, 7), (5, 8), (9, 8)] {
            assert_eq!(byte_at(text, units), byte);
        }
        assert_eq!((units_at(text, 7), units_at(text, 8)), (4, 5));
    }
}
