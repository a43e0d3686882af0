//! Failures of requests to the server, and their texts for users.

use serde::Deserialize;

/// The schema's error codes, and two codes for failures on the way to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    BadUserInput,
    NotFound,
    Conflict,
    Unauthenticated,
    /// The session was opened with a one-time password.
    PasswordChangeRequired,
    Forbidden,
    RateLimited,
    /// The server did not answer.
    Unreachable,
    /// The server failed, or this console cannot read its answer.
    Internal,
}

/// One error, and the field that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// The input's field: `name`, `expressions[0]`, `target.http.url`.
    pub(crate) field: Option<String>,
    /// A range of bytes within that field's value.
    pub(crate) position: Option<(usize, usize)>,
}

/// An error of a GraphQL response.
#[derive(Deserialize)]
pub(crate) struct WireError {
    message: String,
    #[serde(default)]
    extensions: Extensions,
}

#[derive(Default, Deserialize)]
struct Extensions {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    field: Option<String>,
    #[serde(default)]
    problem: Option<String>,
    #[serde(default)]
    help: Option<String>,
    #[serde(default)]
    start: Option<usize>,
    #[serde(default)]
    end: Option<usize>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None, position: None }
    }

    /// A failure about a field.
    pub(crate) fn of_field(field: &str, message: impl Into<String>) -> Self {
        Self { field: Some(field.to_owned()), ..Self::new(Code::BadUserInput, message) }
    }

    /// Whether the failure is about the search.
    pub(crate) fn is_of_search(&self) -> bool {
        self.field.as_deref() == Some("search")
    }

    pub(crate) fn unreachable() -> Self {
        Self::new(Code::Unreachable, "The server does not answer.")
    }

    pub(crate) fn unreadable(why: impl std::fmt::Display) -> Self {
        Self::new(
            Code::Internal,
            format!("The server's answer cannot be read by this console: {why}."),
        )
    }

    /// The advice for the user.
    pub(crate) fn advice(&self) -> &'static str {
        match self.code {
            Code::BadUserInput => "Change what you entered and try again.",
            Code::NotFound => "It may have been deleted. Go back to the list.",
            Code::Conflict => "Somebody was quicker. Reload the page and look at the newer state.",
            Code::Unauthenticated => "Sign in and try again.",
            Code::PasswordChangeRequired => "Choose your own password and try again.",
            Code::Forbidden => "Ask an administrator for the role that this requires.",
            Code::RateLimited => "Wait a moment and try again.",
            Code::Unreachable => "Check that it runs and that you are connected, then try again.",
            Code::Internal => "Try again. If it keeps failing, see the server's log.",
        }
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        let Extensions { code, field, problem, help, start, end } = error.extensions;
        let code = match code.as_deref() {
            Some("BAD_USER_INPUT") => Code::BadUserInput,
            Some("NOT_FOUND") => Code::NotFound,
            Some("CONFLICT") => Code::Conflict,
            Some("UNAUTHENTICATED") => Code::Unauthenticated,
            Some("PASSWORD_CHANGE_REQUIRED") => Code::PasswordChangeRequired,
            Some("FORBIDDEN") => Code::Forbidden,
            Some("RATE_LIMITED") => Code::RateLimited,
            Some("UNAVAILABLE") => Code::Unreachable,
            _ => Code::Internal,
        };
        // The message appears under a field, so it need not repeat the field's name and value.
        let message = match (&field, problem, help) {
            (Some(_), Some(problem), Some(help)) => explain(&problem, &help),
            _ => sentence(&error.message),
        };
        Self {
            code,
            message,
            field: field.map(|field| field_name(&field).to_owned()),
            position: start.map(|start| (start, end.unwrap_or(start + 1))),
        }
    }
}

/// Two sentences made of the server's texts: the problem of a field, and a valid value.
pub(crate) fn explain(problem: &str, help: &str) -> String {
    let lacks_subject =
        ["is ", "are ", "has ", "does "].iter().any(|verb| problem.starts_with(verb));
    let subject = if lacks_subject { "it " } else { "" };
    format!("{} {}", sentence(&format!("{subject}{problem}")), sentence(help))
}

/// Makes a sentence of a fragment from the server, which is English. Every page contains this, and the tables for
/// letters beyond ASCII are large.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first =
        letters.next().map(|first| first.to_ascii_uppercase().to_string()).unwrap_or_default();
    let end = if text.is_empty() || text.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// The form's name for a path of the input: `input.timing.zone` becomes `zone`, and `input.task.target.http.url`
/// becomes `target.http.url`.
pub(crate) fn field_name(path: &str) -> &str {
    let path = path.strip_prefix("input.").unwrap_or(path);
    path.strip_prefix("timing.").or_else(|| path.strip_prefix("task.")).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(json: &str) -> Option<Failure> {
        serde_json::from_str::<WireError>(json).ok().map(Failure::from)
    }

    #[test]
    fn an_error_finds_its_field_and_position() {
        let read = failure(
            r#"{"message":"timing.expressions[0] \"0 25\": no such hour; 0 to 23","extensions":{"code":"BAD_USER_INPUT","field":"timing.expressions[0]","problem":"no such hour","help":"it takes 0 to 23","start":2,"end":4}}"#,
        );
        assert_eq!(
            read,
            Some(Failure {
                code: Code::BadUserInput,
                message: "No such hour. It takes 0 to 23.".into(),
                field: Some("expressions[0]".into()),
                position: Some((2, 4)),
            })
        );
    }

    #[test]
    fn a_problem_without_a_subject_gets_one() {
        assert_eq!(explain("is empty", "type a name"), "It is empty. Type a name.");
    }

    #[test]
    fn a_fragment_becomes_a_sentence() {
        assert_eq!(sentence("no such hour"), "No such hour.");
        assert_eq!(sentence("Did you mean 5?"), "Did you mean 5?");
        assert_eq!(sentence(""), "");
    }

    #[test]
    fn an_error_without_extensions_is_internal() {
        assert_eq!(failure(r#"{"message":"x"}"#), Some(Failure::new(Code::Internal, "X.")));
    }
}
