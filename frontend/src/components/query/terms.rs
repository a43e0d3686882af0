//! Splits a query into terms, and completes a term.

use std::ops::Range;

/// A field of the search language, and its possible values if there are few.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryField {
    pub(crate) name: &'static str,
    pub(crate) hint: &'static str,
    pub(crate) values: &'static [&'static str],
}

impl QueryField {
    pub(crate) const fn new(
        name: &'static str,
        hint: &'static str,
        values: &'static [&'static str],
    ) -> Self {
        Self { name, hint, values }
    }
}

/// A completion: the whole query after accepting it, its label, and its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::components) struct Offer {
    pub(in crate::components) text: String,
    pub(in crate::components) words: String,
    pub(in crate::components) hint: &'static str,
}

/// Maximum number of completions that are offered at once.
const OFFERS: usize = 8;

/// Splits a query into terms at spaces, except inside quotes.
pub(super) fn terms(query: &str) -> Vec<&str> {
    ranges(query).into_iter().filter_map(|range| query.get(range)).collect()
}

/// The byte ranges of the terms.
pub(super) fn ranges(query: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut is_quoted, mut is_escaped) = (None, false, false);
    for (at, letter) in query.char_indices() {
        let ends = letter.is_whitespace() && !is_quoted;
        match (start, ends) {
            (None, false) => start = Some(at),
            (Some(from), true) => {
                found.push(from..at);
                start = None;
            }
            _ => {}
        }
        if letter == '"' && !is_escaped {
            is_quoted = !is_quoted;
        }
        is_escaped = letter == '\\' && is_quoted && !is_escaped;
    }
    found.extend(start.map(|from| from..query.len()));
    found
}

/// Whether the query has this term.
pub(crate) fn has_term(query: &str, term: &str) -> bool {
    terms(query).contains(&term)
}

/// Removes the term from the query if the query has it, and otherwise appends it. The rest of the
/// text stays unchanged.
pub(crate) fn toggled(query: &str, term: &str) -> String {
    let is_it = |range: &Range<usize>| query.get(range.clone()) == Some(term);
    let Some(Range { start, end }) = ranges(query).into_iter().find(is_it) else {
        let space = if query.is_empty() || query.ends_with(char::is_whitespace) { "" } else { " " };
        return format!("{query}{space}{term}");
    };
    let before = query.get(..start).unwrap_or_default().trim_end();
    let after = query.get(end..).unwrap_or_default();
    // Also removes the space between the term and the previous one.
    if before.is_empty() { after.trim_start().to_owned() } else { format!("{before}{after}") }
}

/// The query without one of its terms.
pub(super) fn without(query: &str, at: usize) -> String {
    let mut rest = terms(query);
    if at < rest.len() {
        rest.remove(at);
    }
    rest.join(" ")
}

/// The term that is being typed at the end of a query; empty after a space.
fn last_term(query: &str) -> &str {
    if query.ends_with(char::is_whitespace) { "" } else { terms(query).pop().unwrap_or_default() }
}

/// The value that is being typed at the end of a query, if it is one of this field.
pub(crate) fn typed_value<'a>(query: &'a str, field: &str) -> Option<&'a str> {
    let last = last_term(query);
    let term = last.strip_prefix('-').unwrap_or(last);
    let values = term.strip_prefix(field)?.strip_prefix(':')?;
    values.rsplit(',').next()
}

/// The completions of the last term: fields that begin with it, or values of its field.
pub(in crate::components) fn complete(
    query: &str,
    fields: &[QueryField],
    known: &[(&'static str, Vec<String>)],
) -> Vec<Offer> {
    let last = last_term(query);
    let head = query.strip_suffix(last).unwrap_or(query);
    let (minus, term) = match last.strip_prefix('-') {
        Some(term) => ("-", term),
        None => ("", last),
    };
    let offer = |words: String, hint| Offer { text: format!("{head}{minus}{words}"), words, hint };
    let Some((name, typed)) = term.split_once(':') else {
        let fits = fields.iter().filter(|field| field.name.starts_with(term));
        return fits
            .map(|field| offer(format!("{}:", field.name), field.hint))
            .take(OFFERS)
            .collect();
    };
    let Some(field) = fields.iter().find(|field| field.name == name) else { return Vec::new() };
    // A new value begins after a comma.
    let (before, begun) = match typed.rsplit_once(',') {
        Some((before, begun)) => (format!("{before},"), begun),
        None => (String::new(), typed),
    };
    let beside = known.iter().filter(|(of, _)| *of == name).flat_map(|(_, values)| values);
    let values = field.values.iter().map(|value| (*value).to_owned()).chain(beside.cloned());
    values
        .filter(|value| value.starts_with(begun) && value != begun)
        .map(|value| offer(format!("{name}:{before}{}", quoted(&value)), ""))
        .take(OFFERS)
        .collect()
}

/// A value, in quotes if it needs them.
pub(super) fn quoted(value: &str) -> String {
    if value.contains([' ', '"', ',', ':']) {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        value.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [QueryField; 4] = [
        QueryField { name: "state", hint: "", values: &["active", "paused"] },
        QueryField { name: "tag", hint: "", values: &[] },
        QueryField { name: "no", hint: "", values: &["tag", "module"] },
        QueryField { name: "next", hint: "", values: &["<1h"] },
    ];

    fn texts(query: &str) -> Vec<String> {
        let known = [("tag", vec!["billing".to_owned(), "two words".to_owned()])];
        complete(query, &FIELDS, &known).into_iter().map(|offer| offer.text).collect()
    }

    #[test]
    fn a_quoted_term_keeps_its_spaces() {
        assert_eq!(terms(r#" a:b  "two \" words" -c "#), ["a:b", r#""two \" words""#, "-c"]);
        assert_eq!(without("a b c", 1), "a c");
        assert_eq!(without("a", 7), "a");
    }

    #[test]
    fn a_term_is_added_and_taken_away_and_the_rest_stays_as_written() {
        assert_eq!(toggled("", "tag:ops"), "tag:ops");
        assert_eq!(toggled("state:failed", "tag:ops"), "state:failed tag:ops");
        assert_eq!(toggled("state:failed ", "tag:ops"), "state:failed tag:ops");
        assert_eq!(toggled("tag:ops  state:failed", "tag:ops"), "state:failed");
        assert_eq!(toggled("a tag:ops b", "tag:ops"), "a b");
        assert_eq!(toggled("a tag:ops", "tag:ops"), "a");
        let quoted = r#"name:"two  words" "say  \"tag:ops  now""#;
        let added = format!("{quoted} tag:ops");
        assert_eq!(toggled(quoted, "tag:ops"), added);
        assert_eq!(toggled(&added, "tag:ops"), quoted);
        assert!(has_term("a tag:ops", "tag:ops"));
        assert!(!has_term("tag:ops-eu -tag:ops", "tag:ops"));
        assert!(!has_term(r#""on  tag:ops  call""#, "tag:ops"));
    }

    #[test]
    fn a_field_is_completed_first_and_then_its_value() {
        assert_eq!(texts("x st"), ["x state:"]);
        assert_eq!(texts("state:"), ["state:active", "state:paused"]);
        assert_eq!(texts("-state:active,p"), ["-state:active,paused"]);
        assert_eq!(texts("tag:t"), ["tag:\"two words\""]);
        assert_eq!(texts("state:active").len(), 0);
        assert_eq!(texts("no:tag,m"), ["no:tag,module"]);
        assert_eq!(texts("x ").len(), 4);
    }

    #[test]
    fn a_value_is_typed_at_the_end_only() {
        for (query, typed) in
            [("tag:", ""), ("x tag:bi", "bi"), ("-tag:ops,bi", "bi"), ("tag:ops,", "")]
        {
            assert_eq!(typed_value(query, "tag"), Some(typed), "{query}");
        }
        for other in ["", "tag", "tag:bi ", "tag:bi state:a", "tagged:bi", "bi"] {
            assert_eq!(typed_value(other, "tag"), None, "{other}");
        }
    }
}
