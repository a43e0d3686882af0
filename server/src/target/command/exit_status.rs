//! How a program ended, and the outcome of the attempt.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::capture::Capture;
use crate::target::{
    AttemptOutcome, Invocation,
    text::{SecondsText, millis},
};

/// How a program ended.
#[derive(Debug)]
pub(super) struct ProgramEnding {
    pub(super) status: ExitStatus,
    pub(super) cause: EndCause,
    /// Whether the program had to be killed, because it did not end when it was asked to.
    pub(super) killed: bool,
}

/// The cause of a program's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndCause {
    /// The program ended by itself, or something other than the server ended it.
    Own,
    /// The time limit passed.
    TimeLimit,
    /// There was a request to stop.
    Stop,
}

impl ProgramEnding {
    /// The outcome of the attempt.
    pub(super) fn outcome(
        &self,
        took: Duration,
        capture: &Capture,
        invocation: &Invocation,
    ) -> AttemptOutcome {
        let output = self.output(took, capture);
        match self.cause {
            EndCause::Own if self.status.success() => AttemptOutcome::Succeeded { output },
            EndCause::Own => AttemptOutcome::Failed {
                message: format!("{}{}", self.words(), quoted(capture)),
                output,
            },
            EndCause::TimeLimit => {
                let limit = SecondsText(invocation.timeout);
                let how = if self.killed {
                    format!(
                        "ignored SIGTERM for {} and was killed",
                        SecondsText(invocation.kill_grace)
                    )
                } else {
                    "was stopped by SIGTERM".to_owned()
                };
                let message = format!("did not end within {limit}, {how}{}", quoted(capture));
                AttemptOutcome::TimedOut { message, output }
            }
            EndCause::Stop => AttemptOutcome::Cancelled { output },
        }
    }

    fn words(&self) -> String {
        match (self.status.code(), self.signal()) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("was killed by {signal}"),
            (None, None) => "ended in an unknown way".to_owned(),
        }
    }

    fn signal(&self) -> Option<String> {
        let number = self.status.signal()?;
        // Real-time signals have no names, only numbers.
        let name = Signal::try_from(number).map(Signal::as_str);
        Some(name.map_or_else(|_| format!("signal {number}"), str::to_owned))
    }

    fn output(&self, took: Duration, capture: &Capture) -> Value {
        json!({
            "exit_code": self.status.code(),
            "signal": self.signal(),
            "duration_ms": millis(took),
            "output_truncated": capture.truncated(),
        })
    }
}

/// The last lines of the program's standard error. They are not shortened, because masking must see
/// whole secrets.
fn quoted(capture: &Capture) -> String {
    capture.error_lines().map_or_else(String::new, |said| format!(": {said}"))
}
