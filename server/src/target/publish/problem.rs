use std::fmt;

/// Why an event was not published, or why it is unknown whether it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublishProblem {
    text: String,
    kind: Kind,
}

/// The consequence of a problem for the message and the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The broker refused the message, or the message is invalid; the connection is still usable.
    Refused,
    /// The connection broke before any part of the message was sent.
    Unsent,
    /// The connection broke, or could not be opened.
    Broken,
}

impl PublishProblem {
    /// A problem of the kind [`Kind::Refused`].
    pub(super) fn refused(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: Kind::Refused }
    }

    /// A problem of the kind [`Kind::Broken`].
    pub(super) fn broken(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: Kind::Broken }
    }

    /// A problem of the kind [`Kind::Unsent`].
    pub(super) fn unsent() -> Self {
        let text = "the connection was lost before the event was sent".to_owned();
        Self { text, kind: Kind::Unsent }
    }

    /// The same problem without this secret, which a server may repeat in its answer.
    #[cfg(feature = "redis-streams")]
    pub(super) fn without(self, secret: &str) -> Self {
        if secret.is_empty() {
            return self;
        }
        Self { text: self.text.replace(secret, "***"), ..self }
    }

    /// The same problem without the part of its text that begins with `mark`.
    #[cfg(feature = "redis-streams")]
    pub(super) fn before(self, mark: &str) -> Self {
        let end = self.text.find(mark).unwrap_or(self.text.len());
        Self { text: self.text[..end].to_owned(), ..self }
    }

    /// Whether the message was certainly not sent, so that sending it again cannot duplicate it.
    pub(super) fn is_unsent(&self) -> bool {
        self.kind == Kind::Unsent
    }

    /// Whether the connection broke, or did not answer in time.
    pub(super) fn is_broken(&self) -> bool {
        self.kind == Kind::Broken
    }
}

impl fmt::Display for PublishProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
