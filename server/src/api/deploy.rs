//! Deploying modules, and what is told of it.

use async_graphql::{Context, Enum, Object, SimpleObject};
use serde_json::json;
use uuid::Uuid;

use super::{
    context::Ask,
    error::Result,
    page::DECLARED,
    payload::SchedulePayload,
    scalar::{Instant, Long},
    timing::{TimingWarning, told},
};
use crate::commands::{self, Call, Source};

/// Orders about modules.
#[derive(Default)]
pub(super) struct OrderingDeployed;

/// Orders about modules.
#[Object]
impl OrderingDeployed {
    /// Makes schedules, workflows and alert rules what a module's file declares, all or nothing. What
    /// the module declared before and no longer does is deleted, unless `prune` is false. Things of
    /// the same names that were made by hand refuse it, unless `adopt` lets the module take them over.
    #[graphql(complexity = "2000 + child_complexity")]
    async fn deploy_module(
        &self,
        cx: &Context<'_>,
        source: String,
        #[graphql(default_with = "ModuleFormat::Yaml")] format: ModuleFormat,
        #[graphql(default = false, desc = "Only say what would happen.")] dry_run: bool,
        #[graphql(default = true)] prune: bool,
        #[graphql(default = false)] adopt: bool,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<DeployPayload> {
        let right = cx.editor()?;
        let format = format.into();
        let manner = (format!("{format:?}"), dry_run, prune, adopt);
        let arguments = json!([source, manner, reason]).to_string();
        let call = Call::new("deployModule", &arguments, idempotency_key)?;
        let wanted =
            Source { text: &source, format, dry_run, prune, adopt, reason: reason.as_deref() };
        Ok(cx.commands().deploy(&right, wanted, &call).await?.into())
    }

    /// Gives a schedule another note, whoever declares it: notes are the operators'.
    async fn annotate_schedule(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        note: String,
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.operator()?;
        let arguments = json!([id, note]).to_string();
        let call = Call::new("annotateSchedule", &arguments, idempotency_key)?;
        let saved = cx.commands().annotate(&right, id, &note, &call).await?;
        SchedulePayload::of(cx, saved).await
    }
}

/// What a module's file is written in.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "commands::Format")]
pub(crate) enum ModuleFormat {
    /// YAML, or JSON, which is a part of it.
    Yaml,
    /// TOML.
    Toml,
}

/// What a deployment did, or would do.
#[derive(SimpleObject)]
pub(crate) struct DeployPayload {
    module: String,
    dry_run: bool,
    #[graphql(complexity = "DECLARED * child_complexity")]
    changes: Vec<DeployChange>,
    /// What it does to the fires of the next 30 days; null in the answer to a call that was
    /// repeated.
    effect: Option<DeployEffect>,
}

/// What happened to one thing that the module declares or declared.
#[derive(SimpleObject)]
pub(crate) struct DeployChange {
    action: ChangeAction,
    /// `calendar`, `group`, `workflow`, `schedule`, `alert_channel` or `alert_rule`.
    kind: String,
    name: String,
    /// What changed, in words.
    detail: String,
    /// What changed, key by key of the module's file: at most 100.
    #[graphql(complexity = "DECLARED * child_complexity")]
    fields: Vec<FieldChange>,
    /// What is likely not meant by its timing, and the secrets that its tasks ask for and that are
    /// not set.
    #[graphql(complexity = "DECLARED * child_complexity")]
    warnings: Vec<TimingWarning>,
}

/// A key of a module's file whose value differs. Secrets are masked and long values truncated.
#[derive(SimpleObject)]
pub(crate) struct FieldChange {
    /// Its place inside the thing, such as `misfire.grace` or `task.target.http.url`.
    path: String,
    /// Null where nothing was said.
    before: Option<String>,
    /// Null where nothing is said.
    after: Option<String>,
}

/// What a deployment does to the fires to come, the schedules of others whose calendars it changes
/// included. Paused schedules do not fire.
#[derive(SimpleObject)]
pub(crate) struct DeployEffect {
    from: Instant,
    until: Instant,
    /// How many fires are new; at least so many, if not complete.
    added: Long,
    /// How many fires are gone; at least so many, if not complete.
    removed: Long,
    /// False where a schedule fires more often than its fires are compared one by one.
    is_complete: bool,
    /// Those whose fires change, by name.
    #[graphql(complexity = "DECLARED * child_complexity")]
    schedules: Vec<DeployScheduleEffect>,
}

/// What a deployment does to the fires of one schedule.
#[derive(SimpleObject)]
pub(crate) struct DeployScheduleEffect {
    name: String,
    /// How many fires there were until then; null where calendars cut them into too many pieces.
    before: Option<u64>,
    /// How many there are.
    after: Option<u64>,
    added: u64,
    removed: u64,
    /// The first of the new fires.
    added_sample: Vec<Instant>,
    /// The first of those that are gone.
    removed_sample: Vec<Instant>,
    /// Added and removed are counted up to here.
    compared_until: Instant,
    /// Whether that is all of it.
    is_complete: bool,
}

/// What happened.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "commands::Action")]
pub(crate) enum ChangeAction {
    /// It was made.
    Create,
    /// It was changed.
    Update,
    /// It was made by hand, and belongs to the module from now on.
    Adopt,
    /// It was deleted.
    Delete,
    /// It is as declared.
    Unchanged,
}

impl From<commands::Deployment> for DeployPayload {
    fn from(deployment: commands::Deployment) -> Self {
        let change = |change: commands::Change| DeployChange {
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
