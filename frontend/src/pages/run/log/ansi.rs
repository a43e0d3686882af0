//! Terminal colours in the lines that programs write.
//!
//! Only sequences that change the style of text are kept (`ESC [ … m`); every other sequence is dropped. A colour of
//! the large palettes is mapped to the nearest of the eight named ones, because only those have enough contrast in
//! both themes.

/// The style of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pen {
    /// The colour of the text, from 0 for black to 7 for white.
    pub(super) ink: Option<u8>,
    pub(super) ground: Option<u8>,
    pub(super) is_bold: bool,
    pub(super) is_faint: bool,
    pub(super) is_italic: bool,
    pub(super) is_underlined: bool,
    pub(super) is_swapped: bool,
}

/// A change of style: the style of the text from a byte on, until the next stroke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stroke {
    pub(super) from: usize,
    pub(super) pen: Pen,
}

/// The text without sequences.
pub(in crate::pages) fn plain(raw: &str) -> String {
    read(raw, &mut Pen::default()).0
}

const ESCAPE: char = '\u{1b}';

/// The text without sequences, and its changes of style. The style carries over from line to line.
pub(super) fn read(raw: &str, pen: &mut Pen) -> (String, Vec<Stroke>) {
    let mut strokes = Vec::new();
    if *pen != Pen::default() {
        strokes.push(Stroke { from: 0, pen: *pen });
    }
    if !raw.contains([ESCAPE, '\r', '\u{8}']) {
        return (raw.to_owned(), strokes);
    }
    let mut text = String::with_capacity(raw.len());
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ESCAPE => {
                if let Some(codes) = sequence(&mut letters) {
                    pen.take(&codes);
                    strokes.retain(|stroke: &Stroke| stroke.from != text.len());
                    strokes.push(Stroke { from: text.len(), pen: *pen });
                }
            }
            // A progress bar overwrites itself, so only its last state is shown.
            '\r' => {
                if letters.as_str().starts_with(|next| next != '\r') {
                    text.clear();
                    strokes.clear();
                    strokes.push(Stroke { from: 0, pen: *pen });
                }
            }
            '\u{8}' => drop(text.pop()),
            letter => text.push(letter),
        }
    }
    strokes.retain(|stroke| stroke.from < text.len());
    (text, strokes)
}

/// Reads one sequence to its end; returns its numbers if it changes the style.
fn sequence(letters: &mut std::str::Chars<'_>) -> Option<Vec<u16>> {
    match letters.next()? {
        '[' => {
            let mut inside = String::new();
            for letter in letters.by_ref() {
                match letter {
                    '\u{40}'..='\u{7e}' => {
                        let numbers = inside.split([';', ':']);
                        return (letter == 'm')
                            .then(|| numbers.map(|number| number.parse().unwrap_or(0)).collect());
                    }
                    letter => inside.push(letter),
                }
            }
            None
        }
        // A title, a link or another string ends with the bell character, or with `ESC \`.
        ']' | 'P' | 'X' | '^' | '_' => {
            while let Some(letter) = letters.next() {
                if letter == '\u{7}' {
                    break;
                }
                if letter == ESCAPE {
                    letters.next();
                    break;
                }
            }
            None
        }
        // A choice of letters, such as the `ESC ( B` of `tput sgr0`, ends with its first letter or digit.
        '\u{20}'..='\u{2f}' => {
            letters.find(|letter| !('\u{20}'..='\u{2f}').contains(letter));
            None
        }
        _ => None,
    }
}

impl Pen {
    fn take(&mut self, codes: &[u16]) {
        let mut codes = codes.iter().copied();
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_faint = true,
                3 => self.is_italic = true,
                4 => self.is_underlined = true,
                7 => self.is_swapped = true,
                22 => (self.is_bold, self.is_faint) = (false, false),
                23 => self.is_italic = false,
                24 => self.is_underlined = false,
                27 => self.is_swapped = false,
                30..=37 => self.ink = named(code - 30),
                38 => self.ink = large(&mut codes),
                39 => self.ink = None,
                40..=47 => self.ground = named(code - 40),
                48 => self.ground = large(&mut codes),
                49 => self.ground = None,
                90..=97 => self.ink = named(code - 90),
                100..=107 => self.ground = named(code - 100),
                _ => {}
            }
        }
    }

    /// The CSS classes of a style.
    pub(super) fn class(self) -> String {
        let (ink, ground) =
            if self.is_swapped { (self.ground, self.ink) } else { (self.ink, self.ground) };
        let mut names = Vec::new();
        names.extend(ink.map(|colour| format!("ink-{colour}")));
        names.extend(ground.map(|colour| format!("ground-{colour}")));
        let flags = [
            (self.is_bold, "pen-bold"),
            (self.is_faint, "pen-faint"),
            (self.is_italic, "pen-italic"),
            (self.is_underlined, "pen-underlined"),
            (self.is_swapped && ink.is_none() && ground.is_none(), "pen-swapped"),
        ];
        names
            .extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| (*name).to_owned()));
        names.join(" ")
    }
}

fn named(colour: u16) -> Option<u8> {
    u8::try_from(colour).ok()
}

/// Reads one of the 256 colours, or a true colour.
fn large(codes: &mut impl Iterator<Item = u16>) -> Option<u8> {
    match codes.next()? {
        5 => {
            let number = codes.next()?;
            match number {
                0..=15 => named(number % 8),
                16..=231 => {
                    let cube = number - 16;
                    let part = |size: u16| cube / size % 6 * 51;
                    Some(nearest(part(36), part(6), part(1)))
                }
                _ => Some(if number >= 244 { 7 } else { 0 }),
            }
        }
        2 => {
            let (red, green, blue) = (codes.next()?, codes.next()?, codes.next()?);
            Some(nearest(red, green, blue))
        }
        _ => None,
    }
}

/// The named colour with the same strong components.
fn nearest(red: u16, green: u16, blue: u16) -> u8 {
    let most = red.max(green).max(blue);
    if most < 64 {
        return 0;
    }
    let strong = |part: u16, bit: u8| if part * 3 >= most * 2 { bit } else { 0 };
    strong(red, 1) | strong(green, 2) | strong(blue, 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(raw: &str) -> (String, Vec<(usize, String)>) {
        let (text, strokes) = read(raw, &mut Pen::default());
        (text, strokes.into_iter().map(|stroke| (stroke.from, stroke.pen.class())).collect())
    }

    fn strokes(list: &[(usize, &str)]) -> Vec<(usize, String)> {
        list.iter().map(|(from, class)| (*from, (*class).to_owned())).collect()
    }

    #[test]
    fn colours_are_taken_out_of_the_text() {
        let (text, colours) = found("\u{1b}[31mred\u{1b}[0m plain \u{1b}[1;32;44mloud\u{1b}[m");
        assert_eq!(text, "red plain loud");
        assert_eq!(colours, strokes(&[(0, "ink-1"), (3, ""), (10, "ink-2 ground-4 pen-bold")]));
    }

    #[test]
    fn a_colour_of_the_large_palettes_becomes_a_named_one() {
        assert_eq!(found("\u{1b}[38;5;196mx").1, strokes(&[(0, "ink-1")]));
        assert_eq!(found("\u{1b}[38;2;30;200;190mx").1, strokes(&[(0, "ink-6")]));
        assert_eq!(found("\u{1b}[48;5;250mx").1, strokes(&[(0, "ground-7")]));
    }

    #[test]
    fn an_error_is_shown_without_colours() {
        assert_eq!(
            plain("exited with code 3: \u{1b}[1;31merror\u{1b}[0m"),
            "exited with code 3: error"
        );
    }

    #[test]
    fn other_sequences_are_left_out() {
        assert_eq!(found("a\u{1b}[2Kb\u{1b}]0;title\u{7}c\u{1b}]8;;url\u{1b}\\d").0, "abcd");
        // As `tput sgr0` writes it.
        let (text, colours) = found("\u{1b}[1mbold\u{1b}(B\u{1b}[m plain");
        assert_eq!(text, "bold plain");
        assert_eq!(colours, strokes(&[(0, "pen-bold"), (4, "")]));
        assert_eq!(found("a\u{1b}P1$r0m\u{1b}\\b").0, "ab");
        assert_eq!(found("cut off \u{1b}(").0, "cut off ");
        assert_eq!(found("cut off \u{1b}[3").0, "cut off ");
        assert_eq!(found("cut off \u{1b}").0, "cut off ");
    }

    #[test]
    fn a_line_that_writes_itself_over_shows_its_last_state() {
        assert_eq!(found("10 %\r50 %\r100 %").0, "100 %");
        assert_eq!(found("done\r").0, "done");
        assert_eq!(found("abc\u{8}d").0, "abd");
    }

    #[test]
    fn the_pen_carries_over_from_line_to_line() {
        let mut pen = Pen::default();
        read("\u{1b}[33mbegin", &mut pen);
        let (_, strokes) = read("still yellow", &mut pen);
        assert_eq!(strokes.len(), 1);
        assert_eq!(pen.class(), "ink-3");
    }

    #[test]
    fn swapped_colours_change_places() {
        assert_eq!(found("\u{1b}[7mx").1, strokes(&[(0, "pen-swapped")]));
        assert_eq!(found("\u{1b}[31;7mx").1, strokes(&[(0, "ground-1")]));
    }
}
