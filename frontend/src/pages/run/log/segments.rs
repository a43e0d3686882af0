//! Cuts a line into pieces of one style: at each change of style, and at each match.

use super::{ansi::Stroke, lines::Hit};

/// Text of one style.
#[derive(Debug, PartialEq)]
pub(super) struct Segment<'a> {
    pub(super) text: &'a str,
    /// The CSS classes of the segment's style.
    pub(super) class: String,
    /// The number of the match to which the segment belongs.
    pub(super) hit: Option<usize>,
}

/// The pieces of a text, in order.
pub(super) fn segments<'a>(
    text: &'a str,
    strokes: &[Stroke],
    hits: &[(usize, Hit)],
) -> Vec<Segment<'a>> {
    let mut cuts: Vec<usize> = vec![0, text.len()];
    cuts.extend(strokes.iter().map(|stroke| stroke.from));
    cuts.extend(hits.iter().flat_map(|(_, hit)| [hit.from, hit.to]));
    cuts.sort_unstable();
    cuts.dedup();
    let piece = |pair: &[usize]| {
        let [from, to] = *pair else { return None };
        let pen = strokes.iter().rfind(|stroke| stroke.from <= from);
        let hit = hits.iter().find(|(_, hit)| (hit.from..hit.to).contains(&from));
        Some(Segment {
            text: text.get(from..to)?,
            class: pen.map(|stroke| stroke.pen.class()).unwrap_or_default(),
            hit: hit.map(|(number, _)| *number),
        })
    };
    cuts.windows(2).filter_map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::ansi::{Pen, read},
        *,
    };

    #[test]
    fn pieces_are_cut_at_colours_and_at_what_is_found() {
        let (text, strokes) = read("a \u{1b}[31mred word\u{1b}[0m", &mut Pen::default());
        let hits = [(4, Hit { place: 0, from: 4, to: 8 })];
        let found: Vec<_> = segments(&text, &strokes, &hits)
            .into_iter()
            .map(|piece| (piece.text.to_owned(), piece.class, piece.hit))
            .collect();
        let piece = |text: &str, class: &str, hit| (text.to_owned(), class.to_owned(), hit);
        assert_eq!(
            found,
            [
                piece("a ", "", None),
                piece("re", "ink-1", None),
                piece("d wo", "ink-1", Some(4)),
                piece("rd", "ink-1", None),
            ]
        );
    }

    #[test]
    fn an_empty_line_has_no_pieces() {
        assert!(segments("", &[], &[]).is_empty());
    }
}
