//! Finds the position of a key or an item in a YAML text.
//!
//! The text has already been parsed, so its nesting and its aliases are within the parser's limits.
//! Aliases are not followed: a value inside an alias has the position of the alias.

use serde_saphyr::granit_parser::{Event, Parser, Span};

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPlace {
    /// The line, counted from 1.
    pub(crate) line: u64,
    /// The column, counted from 1, in characters.
    pub(crate) column: u64,
}

/// A step into a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Into the value of a key.
    Key(&'a str),
    /// Into an item of a list, counted from 0.
    Item(usize),
}

/// The steps of a path such as `tasks[1].target.http.url`.
pub(super) fn parts(path: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for segment in path.split('.') {
        let (key, mut rest) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        if !key.is_empty() {
            parts.push(Part::Key(key));
        }
        while let Some((index, behind)) =
            rest.strip_prefix('[').and_then(|inner| inner.split_once(']'))
        {
            let Ok(index) = index.parse() else { return parts };
            parts.push(Part::Item(index));
            rest = behind;
        }
    }
    parts
}

/// The position at the end of a path, or of the last part of it that exists; `None` if not even the
/// first part does.
pub(super) fn find(text: &str, path: &[Part<'_>]) -> Option<TextPlace> {
    let mut events = Parser::new_from_str(text)
        .map_while(Result::ok)
        .filter(|(event, _)| event.is_node() || is_end(event));
    let (first, _) = events.next()?;
    let mut found = None;
    follow(&mut events, &first, path, &mut found);
    found
}

/// Follows a path into the node that begins with `first`.
fn follow<'a>(
    events: &mut impl Iterator<Item = (Event<'a>, Span)>,
    first: &Event<'a>,
    path: &[Part<'_>],
    found: &mut Option<TextPlace>,
) {
    let Some((part, rest)) = path.split_first() else { return };
    match part {
        Part::Key(name) if matches!(first, Event::MappingStart(..)) => {
            while let Some((key, span)) = events.next().filter(|(key, _)| !is_end(key)) {
                let is_it = key.scalar().is_some_and(|(text, _)| text == *name);
                skip(events, &key);
                let Some((value, _)) = events.next() else { return };
                if is_it {
                    *found = Some(place_of(&span));
                    return follow(events, &value, rest, found);
                }
                skip(events, &value);
            }
        }
        Part::Item(index) if matches!(first, Event::SequenceStart(..)) => {
            let mut at = 0;
            while let Some((item, span)) = events.next().filter(|(item, _)| !is_end(item)) {
                if at == *index {
                    *found = Some(place_of(&span));
                    return follow(events, &item, rest, found);
                }
                skip(events, &item);
                at += 1;
            }
        }
        Part::Key(_) | Part::Item(_) => {}
    }
}

/// Skips the rest of the node that begins with `first`.
fn skip<'a>(events: &mut impl Iterator<Item = (Event<'a>, Span)>, first: &Event<'a>) {
    let mut open = usize::from(is_start(first));
    while open > 0 {
        let Some((event, _)) = events.next() else { return };
        open += usize::from(is_start(&event));
        open -= usize::from(is_end(&event));
    }
}

fn is_start(event: &Event<'_>) -> bool {
    matches!(event, Event::SequenceStart(..) | Event::MappingStart(..))
}

fn is_end(event: &Event<'_>) -> bool {
    matches!(event, Event::SequenceEnd | Event::MappingEnd)
}

fn place_of(span: &Span) -> TextPlace {
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    TextPlace {
        line: number(span.start.line()),
        column: number(span.start.col()).saturating_add(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# É
nightly:
  timeout: 2h
  ? [a, {b: c}]
  : d
  tasks:
  - name: a
    target: {noop: {}}
  - name: b
    needs: [a, 'c', [d]]
    target:
      http:
        url: https://a.example
        headers: {É: x, Accept: y}
";

    fn at(path: &str) -> Option<(u64, u64)> {
        let mut all = vec![Part::Key("nightly")];
        all.extend(parts(path));
        find(TEXT, &all).map(|place| (place.line, place.column))
    }

    #[test]
    fn a_path_leads_to_its_line() {
        for (path, place) in [
            ("", (2, 1)),
            ("timeout", (3, 3)),
            ("tasks", (6, 3)),
            ("tasks[0].target.noop", (8, 14)),
            ("tasks[1].needs[1]", (10, 16)),
            ("tasks[1].target.http.url", (13, 9)),
            ("tasks[1].target.http.headers.Accept", (14, 25)),
        ] {
            assert_eq!(at(path), Some(place), "{path}");
        }
    }

    #[test]
    fn what_is_not_there_leads_to_what_it_would_be_in() {
        assert_eq!(at("tasks[1].retry.max").map(|(line, _)| line), Some(9));
        assert_eq!(at("tasks[7].name"), at("tasks"));
        assert_eq!(at("tasks[1].target.http.url.more"), at("tasks[1].target.http.url"));
        assert_eq!(at("runs_on"), at(""));
        assert_eq!(find(TEXT, &parts("weekly.tasks")), None);
        assert_eq!(find("", &parts("a")), None);
        assert_eq!(find("a: [", &parts("b")), None);
    }

    #[test]
    fn a_path_has_steps() {
        use Part::{Item, Key};
        assert_eq!(parts("tasks[1].needs[0]"), [Key("tasks"), Item(1), Key("needs"), Item(0)]);
        assert_eq!(parts("a[x].b"), [Key("a")]);
        assert!(parts("").is_empty());
    }
}
