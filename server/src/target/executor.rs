use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Invocation, Line, Outcome, Policy, Target, TargetError};
use crate::clock::Clock;

/// Carries out targets on this node, within the node's policy.
#[derive(Debug)]
pub struct Executor {
    policy: Policy,
    clock: Clock,
}

impl Executor {
    /// An executor for `policy`.
    pub fn new(policy: Policy, clock: Clock) -> Result<Self, TargetError> {
        Ok(Self { policy, clock })
    }

    /// Whether `target` could be carried out here, as far as its definition tells.
    pub fn check(&self, target: &Target) -> Result<(), TargetError> {
        let _ = (target, &self.policy);
        Ok(())
    }

    /// Carries `target` out, to the end that the outcome tells.
    pub async fn execute(
        &self,
        target: &Target,
        invocation: &Invocation,
        lines: mpsc::Sender<Line>,
        stop: CancellationToken,
    ) -> Outcome {
        let _ = (invocation, lines, stop, &self.clock);
        match target {
            Target::Noop(_) => Outcome::Succeeded { output: serde_json::json!({}) },
            Target::Http(_) | Target::Command(_) => Outcome::Failed {
                message: "this kind of target is not carried out yet".to_owned(),
                output: serde_json::Value::Null,
            },
        }
    }
}
