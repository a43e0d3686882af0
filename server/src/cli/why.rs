use clap::Args;

use super::offline::local_operator;
use crate::access::Viewer;

/// Maximum length of a reason in the audit log.
const MAX: usize = 500;

/// The reason for a change.
#[derive(Debug, Args)]
pub(super) struct Why {
    /// Reason, for the audit log
    #[arg(long = "reason", value_name = "TEXT", value_parser = reason)]
    pub(super) reason: Option<String>,
}

impl Why {
    /// The viewer for a user with a shell on this machine, with this reason.
    pub(super) fn local_operator(self) -> Viewer {
        Viewer { reason: self.reason, ..local_operator() }
    }
}

/// Checks a reason. It must be one line, because the audit log stores and HTTP sends it as such.
fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    let length = text.chars().count();
    if text.is_empty() {
        return Err("say why, or leave it out".to_owned());
    }
    if length > MAX {
        return Err(format!("it has {length} characters; the limit is {MAX}"));
    }
    if text.chars().any(char::is_control) {
        return Err("it has a line end or another control character; write one line".to_owned());
    }
    Ok(text.to_owned())
}
