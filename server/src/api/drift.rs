//! Settling a module's drift.

use async_graphql::{Context, Object, SimpleObject};
use serde_json::json;

use super::{context::ContextExt, error::Result, module::ModuleDrift, schedule_policy::CatchUp};
use crate::commands::{Call, DriftOrder};

/// Mutations that settle the drift of modules.
#[derive(Default)]
pub(super) struct OrderingDrift;

/// Mutations that settle the drift of modules.
#[Object]
impl OrderingDrift {
    /// Makes a module declare its objects as they are now: what operators changed becomes the
    /// module's declaration. Nothing but the declaration changes. Mutes remain differences, because
    /// a file cannot declare them. Export the module afterwards: the next deployment of the old
    /// file declares the old values again.
    #[graphql(complexity = "2000 + child_complexity")]
    async fn adopt_module_drift(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The module's name.")] name: String,
        #[graphql(
            desc = "The digest of the drift that you saw; the call fails with CONFLICT if the drift \
                    is another one now."
        )]
        digest: String,
        #[graphql(desc = "Reason for the audit log: 1 to 500 characters.")] reason: String,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<ModuleDriftPayload> {
        let right = cx.editor()?;
        let arguments = json!([namespace, name, digest, reason]).to_string();
        let call = Call::new("adoptModuleDrift", &arguments, idempotency_key)?;
        let order =
            DriftOrder { namespace: &namespace, name: &name, digest: &digest, reason: &reason };
        let settled = cx.commands().adopt_drift(&right, order, &call).await?.settled;
        ModuleDriftPayload::of(cx, settled, &namespace, &name).await
    }

    /// Makes a module's objects what the module declares, including what belongs to the operators:
    /// pauses end, declared notes return, and mutes end. Each change is in the audit log. If one is
    /// refused, those before it stay, and the drift shows what is left.
    #[graphql(complexity = "2000 + child_complexity")]
    async fn revert_module_drift(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The module's name.")] name: String,
        #[graphql(
            desc = "The digest of the drift that you saw; the call fails with CONFLICT if the drift \
                    is another one now."
        )]
        digest: String,
        #[graphql(
            default_with = "CatchUp::Skip",
            desc = "What becomes of the fires that fell into the pauses that end."
        )]
        missed: CatchUp,
        #[graphql(desc = "Reason for the audit log: 1 to 500 characters.")] reason: String,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<ModuleDriftPayload> {
        let right = cx.editor()?;
        let missed = missed.into();
        let arguments = json!([namespace, name, digest, missed, reason]).to_string();
        let call = Call::new("revertModuleDrift", &arguments, idempotency_key)?;
        let order =
            DriftOrder { namespace: &namespace, name: &name, digest: &digest, reason: &reason };
        let settled = cx.commands().revert_drift(&right, order, missed, &call).await?.settled;
        ModuleDriftPayload::of(cx, settled, &namespace, &name).await
    }
}

/// What became of a module's drift.
#[derive(SimpleObject)]
pub(crate) struct ModuleDriftPayload {
    /// The module's name.
    module: String,
    /// The number of differences that were settled.
    settled: u64,
    /// What differs now; null if the module declares nothing any more.
    drift: Option<ModuleDrift>,
}

impl ModuleDriftPayload {
    async fn of(cx: &Context<'_>, settled: usize, namespace: &str, name: &str) -> Result<Self> {
        let right = cx.viewer()?;
        let drift = cx.commands().drift(right.permit(), namespace, name).await?;
        let (module, settled) = (name.to_owned(), settled as u64);
        Ok(Self { module, settled, drift: drift.map(Into::into) })
    }
}
