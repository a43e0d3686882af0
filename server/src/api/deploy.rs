//! Deploying modules, and the report of a deployment.

use async_graphql::{Context, Enum, Object, SimpleObject};
use serde_json::json;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    page::DECLARED,
    payload::SchedulePayload,
    scalar::{Instant, Long},
    timing::{TimingWarning, told},
};
use crate::commands::{self, Call, DeploymentSource};

/// Mutations of modules.
#[derive(Default)]
pub(super) struct OrderingDeployed;

/// Mutations of modules.
#[Object]
impl OrderingDeployed {
    /// Makes schedules, workflows, alert rules, budgets and maintenance windows match a module's
    /// file, all or nothing. Objects that the module declared before and no longer declares are
    /// deleted, unless `prune` is false; maintenance windows are cancelled.
    /// Fails if objects of the same names were created by hand, unless `adopt` lets the module take
    /// them over.
    #[graphql(complexity = "2000 + child_complexity")]
    async fn deploy_module(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The module's file, at most 1 MiB.")] source: String,
        #[graphql(default_with = "ModuleFormat::Yaml", desc = "The file's format.")]
        format: ModuleFormat,
        #[graphql(default = false, desc = "If true, only reports what would happen.")]
        dry_run: bool,
        #[graphql(
            default = true,
            desc = "Whether to delete objects that the module no longer declares."
        )]
        prune: bool,
        #[graphql(
            default = false,
            desc = "Whether the module takes over objects of the same names that were created by \
                    hand."
        )]
        adopt: bool,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeployPayload> {
        let right = cx.editor()?;
        let format = format.into();
        let manner = (format!("{format:?}"), dry_run, prune, adopt);
        let arguments = json!([source, manner, reason]).to_string();
        let call = Call::new("deployModule", &arguments, idempotency_key)?;
        let wanted = DeploymentSource {
            text: &source,
            format,
            dry_run,
            prune,
            adopt,
            reason: reason.as_deref(),
        };
        Ok(cx.commands().deploy(&right, wanted, &call).await?.into())
    }

    /// Changes a schedule's note, even if a module declares the schedule: notes belong to the
    /// operators.
    async fn annotate_schedule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] id: Uuid,
        #[graphql(desc = "The new note, at most 4,000 characters; it replaces the current one.")]
        note: String,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.operator()?;
        let arguments = json!([id, note]).to_string();
        let call = Call::new("annotateSchedule", &arguments, idempotency_key)?;
        let saved = cx.commands().annotate(&right, id, &note, &call).await?;
        SchedulePayload::of(cx, saved).await
    }
}

/// The format of a module's file.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "commands::FileFormat")]
pub(crate) enum ModuleFormat {
    /// YAML, or JSON, which is a subset of it.
    Yaml,
    /// TOML.
    Toml,
}

/// What a deployment did, or would do.
#[derive(SimpleObject)]
pub(crate) struct DeployPayload {
    /// The module's name.
    module: String,
    /// Whether nothing was changed, because only a preview was requested.
    dry_run: bool,
    /// What happened to each object that the module declares or declared.
    #[graphql(complexity = "DECLARED * child_complexity")]
    changes: Vec<DeployChange>,
    /// How the deployment affects the fires of the next 30 days; null in the answer to a repeated
    /// call, and if the server was too busy to count them once the module was deployed.
    effect: Option<DeployEffect>,
}

/// What happened to one object that the module declares or declared.
#[derive(SimpleObject)]
pub(crate) struct DeployChange {
    /// What was done, or would be done.
    action: ChangeAction,
    /// `calendar`, `group`, `workflow`, `schedule`, `alert_channel`, `alert_rule`,
    /// `health_budget` or `maintenance_window`.
    kind: String,
    name: String,
    /// A description of the change.
    detail: String,
    /// The keys of the module's file whose values changed; at most 100.
    #[graphql(complexity = "DECLARED * child_complexity")]
    fields: Vec<FieldChange>,
    /// Likely mistakes in the schedule's timing, and secrets that its tasks use but that are not
    /// set.
    #[graphql(complexity = "DECLARED * child_complexity")]
    warnings: Vec<TimingWarning>,
}

/// A key of a module's file whose value differs. Secrets are masked, and long values truncated.
#[derive(SimpleObject)]
pub(crate) struct FieldChange {
    /// The key's path inside the object, such as `misfire.grace` or `task.target.http.url`.
    path: String,
    /// Null if the key was absent.
    before: Option<String>,
    /// Null if the key is absent now.
    after: Option<String>,
}

/// How a deployment affects upcoming fires, including those of schedules outside the module whose
/// calendars it changes. Paused schedules do not fire.
#[derive(SimpleObject)]
pub(crate) struct DeployEffect {
    /// Start of the compared range: now.
    from: Instant,
    /// End of the compared range: 30 days later.
    until: Instant,
    /// The number of new fires; a lower bound if `isComplete` is false.
    added: Long,
    /// The number of removed fires; a lower bound if `isComplete` is false.
    removed: Long,
    /// False if a schedule has more fires than can be compared one by one.
    is_complete: bool,
    /// The schedules whose fires change, by name.
    #[graphql(complexity = "DECLARED * child_complexity")]
    schedules: Vec<DeployScheduleEffect>,
}

/// How a deployment affects the fires of one schedule.
#[derive(SimpleObject)]
pub(crate) struct DeployScheduleEffect {
    name: String,
    /// The number of fires in the range before the deployment; null if calendars have too many
    /// windows to count.
    before: Option<u64>,
    /// The number of fires in the range after the deployment.
    after: Option<u64>,
    /// How many of its fires are new.
    added: u64,
    /// How many of its fires are gone.
    removed: u64,
    /// The first new fires.
    added_sample: Vec<Instant>,
    /// The first removed fires.
    removed_sample: Vec<Instant>,
    /// `added` and `removed` are counted up to this instant.
    compared_until: Instant,
    /// Whether the whole range was compared.
    is_complete: bool,
}

/// What a deployment did to an object.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "commands::PlanAction")]
pub(crate) enum ChangeAction {
    /// The object was created.
    Create,
    /// The object was changed.
    Update,
    /// The object was created by hand, and now belongs to the module.
    Adopt,
    /// The object was deleted.
    Delete,
    /// The object already matched the declaration.
    Unchanged,
}

impl From<commands::Deployment> for DeployPayload {
    fn from(deployment: commands::Deployment) -> Self {
        let change = |change: commands::ObjectChange| DeployChange {
            action: change.action.into(),
            kind: change.kind,
            name: change.name,
            detail: change.detail,
            fields: change.fields.into_iter().map(Into::into).collect(),
            warnings: told(change.warnings, change.unset),
        };
        Self {
            module: deployment.module,
            dry_run: deployment.dry_run,
            changes: deployment.changes.into_iter().map(change).collect(),
            effect: deployment.effect.map(Into::into),
        }
    }
}

impl From<commands::FieldChange> for FieldChange {
    fn from(change: commands::FieldChange) -> Self {
        let commands::FieldChange { path, before, after } = change;
        Self { path, before, after }
    }
}

impl From<commands::Effect> for DeployEffect {
    fn from(effect: commands::Effect) -> Self {
        Self {
            from: effect.from.into(),
            until: effect.until.into(),
            added: effect.added.into(),
            removed: effect.removed.into(),
            is_complete: effect.is_complete,
            schedules: effect.schedules.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<commands::ScheduleEffect> for DeployScheduleEffect {
    fn from(effect: commands::ScheduleEffect) -> Self {
        Self {
            name: effect.name,
            before: effect.before,
            after: effect.after,
            added: effect.added,
            removed: effect.removed,
            added_sample: effect.added_sample.into_iter().map(Into::into).collect(),
            removed_sample: effect.removed_sample.into_iter().map(Into::into).collect(),
            compared_until: effect.compared_until.into(),
            is_complete: effect.is_complete,
        }
    }
}
