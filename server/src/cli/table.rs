//! Tables that fit the terminal, coloured by state.
//!
//! On a terminal, a table is at most as wide as the terminal: cells of several words are wrapped,
//! and a single word, such as an id, is broken only as a last resort. In a pipe, each row is one
//! line. States are coloured if [`Looks::here`] finds that the user wants colours.

use std::io;

use anstream::{AutoStream, ColorChoice};
use comfy_table::{
    Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Row, Table, Width,
};

/// The capabilities of a table's destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Looks {
    /// The terminal's width in columns; None if it is not a terminal.
    pub(super) width: Option<u16>,
    pub(super) colour: bool,
}

impl Looks {
    /// The capabilities of standard output. `NO_COLOR` and `CLICOLOR_FORCE` are respected.
    pub(super) fn here() -> Self {
        let terminal = console::Term::stdout();
        let size = terminal.is_term().then(|| terminal.size_checked()).flatten();
        let colour = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        Self { width: size.map(|(_, columns)| columns), colour }
    }

    /// A word in the colour of its meaning, if the user wants colours.
    pub(super) fn word(self, word: &str) -> String {
        let colour = match colour(word).filter(|_| self.colour) {
            Some(Color::Green) => anstyle::AnsiColor::Green,
            Some(Color::Red) => anstyle::AnsiColor::Red,
            Some(Color::Yellow) => anstyle::AnsiColor::Yellow,
            Some(_) => anstyle::AnsiColor::Cyan,
            None => return word.to_owned(),
        };
        let style = colour.on_default();
        format!("{style}{word}{style:#}")
    }
}

/// Columns whose words are states.
const STATES: [&str; 6] = ["STATE", "VERDICT", "BECOMES", "LAST RUN", "RUN STATE", "LEDGER"];

/// The colour of a state, chosen by the first word.
fn colour(state: &str) -> Option<Color> {
    match state.split([' ', ':', '(']).next().unwrap_or_default() {
        "succeeded" | "active" | "enabled" | "alive" | "healthy" | "sent" | "delivered" => {
            Some(Color::Green)
        }
        "failed" | "timed_out" | "missed" | "abandoned" | "lost" | "dead" | "firing"
        | "revoked" | "expired" | "disabled" | "unhealthy" => Some(Color::Red),
        "retrying" | "paused" | "skipped" | "collapsed" | "cancelled" | "draining" | "drained"
        | "silent" | "muted" => Some(Color::Yellow),
        "started" | "running" | "queued" | "pending" | "runs" => Some(Color::Cyan),
        _ => None,
    }
}

/// Formats rows in columns under headings; each line ends with a line end.
pub(super) fn render<const N: usize>(
    headings: [&str; N],
    rows: &[[String; N]],
    looks: Looks,
) -> String {
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| plain(cell))).collect();
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    if looks.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    // In a pipe, the escape codes for bold headings would appear as characters.
    let heading = |text: &str| {
        if looks.colour { Cell::new(text).add_attribute(Attribute::Bold) } else { Cell::new(text) }
    };
    table.set_header(Row::from(headings.map(heading).to_vec()));
    for row in &rows {
        let cells = row.iter().zip(headings).map(|(cell, heading)| {
            let colour = STATES.contains(&heading).then(|| colour(cell)).flatten();
            match colour.filter(|_| looks.colour) {
                Some(colour) => Cell::new(cell).fg(colour),
                None => Cell::new(cell),
            }
        });
        table.add_row(Row::from(cells.collect::<Vec<_>>()));
    }
    let widths = table.column_max_content_widths();
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index + 1 < N { 2 } else { 0 }));
    }
    match looks.width {
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
        Some(width) => {
            table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
            keep_words(&mut table, &rows, &widths, width);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Keeps columns of single words as wide as their words, if that leaves enough room for the others.
fn keep_words<const N: usize>(table: &mut Table, rows: &[[String; N]], widths: &[u16], width: u16) {
    /// The smallest readable width of a column of several words.
    const LEAST: u16 = 12;
    let is_words = |index: usize| rows.iter().any(|row| row[index].contains(' '));
    let needed: u16 = (0..N)
        .map(|index| {
            let own = widths.get(index).copied().unwrap_or_default();
            let own = if is_words(index) { own.min(LEAST) } else { own };
            own.saturating_add(if index + 1 < N { 2 } else { 0 })
        })
        .fold(0, u16::saturating_add);
    if needed > width {
        return;
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        let own = widths.get(index).copied().unwrap_or_default();
        column.set_constraint(if is_words(index) {
            ColumnConstraint::LowerBoundary(Width::Fixed(own.min(LEAST) + 2))
        } else {
            ColumnConstraint::ContentWidth
        });
    }
}

/// Removes control characters that could move the cursor, colour the terminal or start another
/// line.
pub(super) fn plain(text: &str) -> String {
    let plain = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<[String; 4]> {
        let row = |id: &str, state: &str, why: &str| {
            [id.to_owned(), "billing-nightly".to_owned(), state.to_owned(), why.to_owned()]
        };
        vec![
            row("01997e4c-1111-7000-8000-000000000001", "succeeded", "-"),
            row(
                "01997e4c-1111-7000-8000-000000000002",
                "failed",
                "the target answered 503 Service Unavailable after three attempts",
            ),
        ]
    }

    const HEADINGS: [&str; 4] = ["RUN", "SCHEDULE", "STATE", "WHY"];

    #[test]
    fn in_a_pipe_a_row_is_a_line_without_colours() {
        let text = render(HEADINGS, &rows(), Looks { width: None, colour: false });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].starts_with("RUN  ") && lines[0].ends_with("WHY"), "{text}");
        assert!(
            lines[2].ends_with(
                "  failed     the target answered 503 Service Unavailable after three attempts"
            ),
            "{text}"
        );
        assert!(!text.contains('\u{1b}') && lines.iter().all(|line| line.trim_end() == *line));
    }

    #[test]
    fn on_a_terminal_no_line_is_wider_and_ids_stay_whole() {
        for width in [90, 120, 200] {
            let text = render(HEADINGS, &rows(), Looks { width: Some(width), colour: false });
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
            assert!(text.contains("01997e4c-1111-7000-8000-000000000002"), "{text}");
            assert!(text.contains("attempts"), "{text}");
        }
        let narrow = render(HEADINGS, &rows(), Looks { width: Some(40), colour: false });
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    }

    #[test]
    fn states_have_colours_where_they_are_wanted() {
        let text = render(HEADINGS, &rows(), Looks { width: None, colour: true });
        let coloured: Vec<&str> = text.lines().filter(|line| line.contains('\u{1b}')).collect();
        assert_eq!(coloured.len(), 3, "{text:?}");
        let looks = Looks { width: None, colour: true };
        assert_eq!(looks.word("failed"), "\u{1b}[31mfailed\u{1b}[0m");
        assert_eq!(looks.word("whatever"), "whatever");
        assert_eq!(Looks { colour: false, ..looks }.word("failed"), "failed");
    }

    #[test]
    fn shown_texts_cannot_control_the_terminal() {
        let row = ["a\u{1b}[2Jb\nc".to_owned()];
        let text = render(["NAME"], &[row], Looks { width: None, colour: false });
        assert_eq!(text, "NAME\na\u{fffd}[2Jb c\n");
    }
}
