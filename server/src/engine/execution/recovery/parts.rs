//! Collects the failures of the parts of a round, without IO.

use crate::engine::EngineError;

/// The parts of a round that have failed so far, each with its error.
#[derive(Debug, Default)]
pub(super) struct FailedParts {
    failed: Vec<(&'static str, EngineError)>,
}

impl FailedParts {
    /// Records the result of a part. Returns its value if the part succeeded.
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

    /// The result of the round: success if no part failed.
    pub(super) fn end<R>(self, report: R) -> Result<R, EngineError> {
        if self.failed.is_empty() { Ok(report) } else { Err(EngineError::Parts(self.failed)) }
    }
}
