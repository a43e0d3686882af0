use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::{
    CliError,
    table::{Looks, plain, render},
};

/// Writes a line to standard output; a closed pipe is an error that [`CliError::report`] forgives.
pub(super) fn line(text: impl std::fmt::Display) -> Result<(), CliError> {
    writeln!(io::stdout().lock(), "{text}").map_err(CliError::io("write to standard output"))
}

/// Writes a line for people to standard error. If that fails, such as because the reader of a pipe
/// is gone, the command goes on: the line is only a note.
pub(super) fn aside(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes a text that contains its own line ends.
pub(super) fn text(text: &str) -> Result<(), CliError> {
    write!(io::stdout().lock(), "{text}").map_err(CliError::io("write to standard output"))
}

/// Writes a value as one line of JSON.
pub(super) fn json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string(value)
        .map_err(|error| CliError::Io { what: "write JSON", source: error.into() })?;
    line(text)
}

/// A text field of a response, as a table cell.
pub(super) fn cell(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

/// Joins the lines of a text into one, without characters that control the terminal: it may be what
/// a target has answered.
pub(super) fn one_line(text: &str) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Writes rows in columns under headings.
pub(super) fn table<const N: usize>(
    headings: [&str; N],
    rows: &[[String; N]],
) -> Result<(), CliError> {
    text(&render(headings, rows, Looks::here()))
}

/// A state from a response, in its colour.
pub(super) fn state(value: &Value) -> String {
    Looks::here().word(&cell(value).to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_several_lines_is_one_that_cannot_control_the_terminal() {
        assert_eq!(one_line("exited with\n  code 1\r\n"), "exited with code 1");
        assert_eq!(one_line("503\u{1b}[2J\u{7} gone"), "503\u{fffd}[2J\u{fffd} gone");
    }
}
