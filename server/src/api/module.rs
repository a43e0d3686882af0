//! Deployed modules, their export, and single ledger rows.

use async_graphql::{Context, Enum, Object, SimpleObject};
use uuid::Uuid;

use super::{
    context::ContextExt,
    deploy::{FieldChange, ModuleFormat},
    error::Result,
    fire::Fire,
    loaders::NamespaceName,
    page::{Connection, DECLARED, Paging, connection, cost, search_cost},
    query::{name_text, usual, within},
    scalar::Instant,
};
use crate::{
    commands::{self, WantedExport},
    store::reads::{batches, modules},
};

/// Queries of deployed modules and of single ledger rows.
#[derive(Default)]
pub(super) struct ReadingDeployed;

/// Queries of deployed modules and of single ledger rows.
#[Object]
impl ReadingDeployed {
    /// A row of the ledger.
    #[graphql(complexity = "100 + child_complexity")]
    async fn fire(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The fire's id.")] id: Uuid,
    ) -> Result<Option<Fire>> {
        cx.viewer()?;
        let row = batches::fires(cx.store(), &[id]).await?.pop();
        Ok(row.filter(|row| cx.is_home(row.namespace_id)).map(Fire))
    }

    /// Modules with at least one deployed object, by name.
    #[graphql(complexity = "search_cost(text.as_deref()) + cost(first, None, child_complexity)")]
    async fn modules(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(
            desc = "Only modules whose names contain this text, ignoring case; at most 200 \
                    characters."
        )]
        text: Option<String>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<Module>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let window = Paging::forward(first, after).window(key)?;
        let text = name_text(text)?;
        let page = modules::page(cx.store(), &within, text.as_deref(), &window).await?;
        Ok(connection(page, cursor, Module))
    }

    /// What differs from the module's last deployment; null if no module of that name is deployed.
    #[graphql(complexity = "2000 + child_complexity")]
    async fn module_drift(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The module's name.")] name: String,
    ) -> Result<Option<ModuleDrift>> {
        let right = cx.viewer()?;
        let drift = cx.commands().drift(right.permit(), &namespace, &name).await?;
        Ok(drift.map(Into::into))
    }

    /// Files that declare the existing objects: one for each module, and one for objects created by
    /// hand. At most 5,000 schedules. Requires the permission to see payloads.
    #[graphql(complexity = "10000 + 10 * child_complexity")]
    async fn export_modules(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "Only objects that this module declares.")] module: Option<String>,
        #[graphql(
            desc = "Only schedules that match this search, in the language of docs/search.md, and \
                    the objects they use."
        )]
        search: Option<String>,
        #[graphql(
            default = "exported",
            desc = "The name of the module that declares objects created by hand."
        )]
        name: String,
        #[graphql(default_with = "ModuleFormat::Yaml", desc = "The files' format.")]
        format: ModuleFormat,
    ) -> Result<Vec<ExportedModule>> {
        let right = cx.viewer()?;
        let wanted = WantedExport { namespace, module, search, name, format: format.into() };
        let exported = cx.commands().export(right.permit(), &wanted).await?;
        Ok(exported.into_iter().map(Into::into).collect())
    }
}

/// The cursor of a module: the namespace, and the name as it is.
fn cursor(row: &modules::Module) -> String {
    format!("{}{}", row.namespace_id.simple(), row.name)
}

/// Parses such a cursor.
fn key(cursor: &str) -> Option<modules::Key> {
    let (namespace, name) = cursor.split_at_checked(32)?;
    Some((name.to_owned(), Uuid::try_parse(namespace).ok()?))
}

/// A file that declares workflows and schedules together; only objects that exist are counted.
pub(crate) struct Module(modules::Module);

/// A file that declares workflows and schedules together; only objects that exist are counted.
#[Object]
impl Module {
    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// How many schedules the module declares.
    async fn schedules(&self) -> i64 {
        self.0.schedules
    }

    /// How many workflows the module declares.
    async fn workflows(&self) -> i64 {
        self.0.workflows
    }

    /// When one of the module's objects last changed.
    async fn changed_at(&self) -> Instant {
        self.0.changed_at.into()
    }
}

/// How a module's objects differ from its last deployment.
#[derive(SimpleObject)]
pub(crate) struct ModuleDrift {
    /// The module's name.
    module: String,
    /// The name of the user or token that deployed it last.
    deployed_by: String,
    /// When it was last deployed.
    deployed_at: Instant,
    /// Identifies these differences: `adoptModuleDrift` and `revertModuleDrift` settle only those
    /// that the caller has seen.
    digest: String,
    /// The objects that differ; empty if all match their declarations.
    #[graphql(complexity = "DECLARED * child_complexity")]
    drifted: Vec<DriftedThing>,
}

/// An object that differs from what its module declared.
#[derive(SimpleObject)]
pub(crate) struct DriftedThing {
    /// `calendar`, `group`, `workflow`, `schedule`, `alert_channel`, `alert_rule`,
    /// `health_budget` or `maintenance_window`.
    kind: String,
    name: String,
    /// Who decides whether the difference remains.
    side: DriftSide,
    /// The declared and the current values. A field without a path means that the object no longer
    /// exists.
    #[graphql(complexity = "DECLARED * child_complexity")]
    fields: Vec<FieldChange>,
    /// Who last changed the object, if known.
    by: Option<String>,
    /// When it was last changed, if known.
    at: Option<Instant>,
    /// The reason given, where one was required.
    reason: Option<String>,
}

/// Who decides whether a difference between an object and its module's declaration remains.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "commands::DriftOwner")]
pub(crate) enum DriftSide {
    /// The operators: their pauses, notes and mutes stay.
    Operators,
    /// The module: the next deployment restores what its file declares.
    Module,
}

impl From<commands::Drift> for ModuleDrift {
    fn from(drift: commands::Drift) -> Self {
        let digest = drift.digest();
        let (deployed_by, deployed_at) = drift.deployed;
        let thing = |one: commands::DriftedObject| DriftedThing {
            kind: one.kind.to_owned(),
            name: one.name,
            side: one.side.into(),
            fields: one.fields.into_iter().map(Into::into).collect(),
            by: one.by,
            at: one.at.map(Into::into),
            reason: one.reason,
        };
        Self {
            module: drift.module,
            deployed_by,
            deployed_at: deployed_at.into(),
            digest,
            drifted: drift.drifted.into_iter().map(thing).collect(),
        }
    }
}

/// A module's file.
#[derive(SimpleObject)]
pub(crate) struct ExportedModule {
    /// The module's name.
    module: String,
    /// Whether the module declares objects created by hand: apply it with `adopt`.
    is_by_hand: bool,
    /// Whether it contains only a part of the module: apply it without `prune`.
    is_part: bool,
    /// How many schedules the module declares.
    schedules: u64,
    /// The file. Secrets are masked.
    source: String,
}

impl From<commands::Exported> for ExportedModule {
    fn from(file: commands::Exported) -> Self {
        let commands::Exported { module, is_by_hand, is_part, schedules, source } = file;
        Self { module, is_by_hand, is_part, schedules: schedules as u64, source }
    }
}
