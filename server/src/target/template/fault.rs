//! Describes the mistake in a template.

use minijinja::{Error, ErrorKind};

use super::super::TargetError;

/// How many characters of a template an error shows.
const SHOWN: usize = 40;

/// A mistake in a template: its position, a description, and a way to correct it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) problem: String,
    pub(super) help: &'static str,
    /// The beginning of the part with the mistake.
    shown: Option<String>,
}

impl Fault {
    pub(super) fn new(line: usize, problem: String, help: &'static str) -> Self {
        Self { line, problem, help, shown: None }
    }

    /// Replaces the description.
    pub(super) fn saying(self, problem: String) -> Self {
        Self { problem, ..self }
    }

    /// Shows the beginning of `text`, the part with the mistake.
    pub(super) fn showing(self, text: &str) -> Self {
        let start: String = text.chars().take(SHOWN).collect();
        let dots = if start.len() < text.len() { "..." } else { "" };
        Self { shown: Some(format!("{start:?}{dots}")), ..self }
    }

    pub(super) fn of(self, field: &str) -> TargetError {
        let shown = self.shown.filter(|_| !holds_secrets(field));
        let at = shown.map_or_else(String::new, |shown| format!(" ({shown})"));
        let problem =
            format!("its template cannot be used, line {}: {}{at}", self.line, self.problem);
        TargetError::invalid(field, problem, self.help)
    }
}

/// Whether the text in a field may be a secret, and must not be shown.
fn holds_secrets(field: &str) -> bool {
    const HOLDING: [&str; 7] = [
        "http.headers.",
        "http.signing_secret",
        "http.client_certificate",
        "http.url",
        "command.env.",
        "publish.event.headers.",
        "publish.to.",
    ];
    HOLDING.iter().any(|start| field.starts_with(start))
}

/// An error for a failed template. The library's message is included only if it cannot contain a
/// value of the context, because some values are secrets.
#[expect(clippy::wildcard_enum_match_arm, reason = "the library may add kinds of errors")]
pub(super) fn fault(error: &Error) -> Fault {
    let line = error.line().unwrap_or(1);
    let said = |help| {
        let problem = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        Fault::new(line, problem, help)
    };
    match error.kind() {
        ErrorKind::UndefinedError => {
            said("give the value in the context, or write `| default(\"...\")` after the name")
        }
        ErrorKind::SyntaxError | ErrorKind::BadEscape | ErrorKind::InvalidDelimiter => {
            said("docs/workflows.md shows what a template may contain")
        }
        ErrorKind::UnknownFilter | ErrorKind::UnknownFunction | ErrorKind::UnknownTest => {
            said("docs/workflows.md lists the available filters and tests")
        }
        ErrorKind::OutOfFuel => {
            let problem = "it takes more steps than the size of its values allows".to_owned();
            Fault::new(line, problem, "loop over less")
        }
        // The messages of other errors contain the arguments.
        _ => Fault::new(line, error.kind().to_string(), "fix the template"),
    }
}
