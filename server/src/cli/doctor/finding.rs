/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// All is well.
    Ok,
    /// A server runs, but not as well or as safely as it could.
    Warning,
    /// A server does not start, or does not work as it should.
    Error,
}

impl Level {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// What was checked.
    pub(super) check: &'static str,
    pub(super) level: Level,
    /// What was found.
    pub(super) found: String,
    /// What to do about the problem.
    pub(super) help: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, found: found.into(), help: None }
    }

    pub(super) fn warning(
        check: &'static str,
        found: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let (found, help) = (found.into(), Some(help.into()));
        Self { check, level: Level::Warning, found, help }
    }

    pub(super) fn error(
        check: &'static str,
        found: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { level: Level::Error, ..Self::warning(check, found, help) }
    }
}
