//! What of a round failed. Pure: from answers to an answer.

use crate::engine::EngineError;

/// The parts of a round that failed so far.
#[derive(Debug, Default)]
pub(super) struct Parts {
    failed: Vec<(&'static str, EngineError)>,
}

impl Parts {
    /// Takes down how a part went; gives what it was asked for, if it did not fail.
    pub(super) fn done<T>(
        &mut self,
        name: &'static str,
        answer: Result<T, EngineError>,
    ) -> Option<T> {
        match answer {
            Ok(value) => Some(value),
            Err(error) => {
                self.failed.push((name, error));
                None
            }
        }
    }

    /// How the round went: well, if no part failed.
    pub(super) fn end<R>(self, report: R) -> Result<R, EngineError> {
        if self.failed.is_empty() { Ok(report) } else { Err(EngineError::Parts(self.failed)) }
    }
}
