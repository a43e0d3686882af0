use clap::Args;
use serde_json::json;

use super::{
    CliError,
    apply::{DRIFT, is_drifted, print_drift},
    client::{ClientError, Server},
    output,
    resume::CatchUp,
    why::Why,
};

/// Show how the objects of a module differ from its declaration; adopt or revert the differences
#[derive(Debug, Args)]
pub(super) struct Drift {
    #[command(flatten)]
    server: Server,
    /// The module's name
    module: String,
    /// Namespace of the module
    #[arg(long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,
    /// Let the declaration take the current values; export it into the module's file afterwards
    #[arg(long, requires = "reason", conflicts_with_all = ["revert", "exit_code"])]
    adopt: bool,
    /// Return the objects to their declared values: the operators' pauses, notes and mutes end
    #[arg(long, requires = "reason", conflicts_with = "exit_code")]
    revert: bool,
    /// What to do about the fires that fell into the pauses that --revert ends [default: skip]
    #[arg(long, value_enum, value_name = "MODE", requires = "revert")]
    catch_up: Option<CatchUp>,
    #[command(flatten)]
    why: Why,
    /// Exit with 3 if something differs
    #[arg(long)]
    exit_code: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const ADOPT: &str = "mutation ($namespace: String!, $name: String!, $digest: String!,
    $reason: String!) {
    done: adoptModuleDrift(namespace: $namespace, name: $name, digest: $digest, reason: $reason) {
        module settled drift { drifted { kind name side fields { path before after } } }
    }
}";

const REVERT: &str = "mutation ($namespace: String!, $name: String!, $digest: String!,
    $missed: CatchUp!, $reason: String!) {
    done: revertModuleDrift(namespace: $namespace, name: $name, digest: $digest, missed: $missed,
        reason: $reason) {
        module settled drift { drifted { kind name side fields { path before after } } }
    }
}";

impl Drift {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "compare the module";
        let variables = json!({ "namespace": self.namespace, "name": self.module });
        let mut answer = self.server.ask(ACTION, DRIFT, variables).await?;
        let drift = answer["moduleDrift"].take();
        if drift.is_null() {
            let problem = format!("the module {:?} is not deployed", self.module);
            return Err(ClientError::Refused { action: ACTION, problem }.into());
        }
        let settles = self.adopt || self.revert;
        match (settles, self.json) {
            (true, true) => {}
            (false, true) => output::json(&drift)?,
            (_, false) => print_drift(&drift)?,
        }
        if settles {
            return self.settle(drift["digest"].as_str().unwrap_or_default()).await;
        }
        if self.exit_code && is_drifted(&drift) { Err(CliError::Differs) } else { Ok(()) }
    }

    /// Adopts or reverts the drift that was shown.
    async fn settle(&self, digest: &str) -> Result<(), CliError> {
        let mut variables = json!({
            "namespace": self.namespace, "name": self.module, "digest": digest,
            "reason": self.why.reason,
        });
        let answer = if self.adopt {
            self.server.ask("adopt the drift", ADOPT, variables).await?
        } else {
            let missed = self.catch_up.unwrap_or(CatchUp::Skip).word();
            variables["missed"] = missed.into();
            self.server.ask("revert the drift", REVERT, variables).await?
        };
        let done = &answer["done"];
        if self.json {
            return output::json(done);
        }
        let count = done["settled"].as_u64().unwrap_or_default();
        let differences = if count == 1 { "difference" } else { "differences" };
        output::line(if self.adopt {
            format!("adopted {count} {differences}; now export the module into its file")
        } else {
            format!("reverted {count} {differences}")
        })
    }
}
