//! The write side of the control plane: the operations that people and tools may perform.
//!
//! Promises: a command changes everything it names or nothing. The audit log says who made the
//! call, from where and why. Repeated with the same idempotency key, a command returns the first
//! answer and changes nothing. Each command takes the permission that it needs as its first
//! argument, so it cannot be called without that permission. Commands know nothing of GraphQL: the
//! API, the CLI and tests call the same functions.
//!
//! A command is one transaction on one row at a time. If it is refused, its [`CommandError`] names
//! the field. Database constraints (a name is unique) are not checked beforehand: the write is
//! attempted, and the violated constraint becomes the error.
//!
//! - `error`: why a command was refused; `compute`: work on blocking threads
//! - `schedules`: create, update, delete, pause, resume and the other operations on schedules
//! - `workflows`: workflows created for schedules and modules, and standalone ones
//! - `bulk`: one request for everything that a search finds
//! - `runs`: trigger, retry, cancel
//! - `backfills`: runs for past instants: preview, create, pause, resume, cancel
//! - `calendars`: calendars that suppress fires, shared by schedules
//! - `maintenance`: windows during which schedules are paused as planned
//! - `feeds`: calendars of upcoming runs, and badges
//! - `groups`: limits that schedules share
//! - `budgets`: the limits by which the health of a tag is judged
//! - `secrets`: set, deleted and resealed; masked when shown
//! - `alerts`: alert rules and the channels that they notify
//! - `retention`: how long a namespace keeps its history; `quotas`: how much it may use
//! - `modules`: deploying what a file declares
//! - `nodes`: draining nodes; `test_call`: trying a target once
//! - `workers`: requests of programs that pull tasks
//! - `people`: users, memberships, sessions, tokens, namespaces
//! - `audit`: writing audit entries; `auditing`: reading and exporting them
//! - `versions`: checks that a change is based on the current version and not on an object that
//!   code declares
//! - `idempotency`: a repeated call gets the first answer; `stored`: parses what is stored as JSON

pub(crate) mod alerts;
mod audit;
mod auditing;
mod backfills;
mod budgets;
pub(crate) mod bulk;
mod calendars;
mod compute;
mod error;
pub mod feeds;
pub(crate) mod groups;
mod idempotency;
mod maintenance;
pub(crate) mod modules;
mod nodes;
mod people;
mod quotas;
pub(crate) mod retention;
mod runs;
pub(crate) mod schedules;
pub(crate) mod secrets;
pub(crate) mod stored;
mod test_call;
mod versions;
pub mod workers;
mod workflows;

use std::{sync::Arc, time::Duration};

pub use crate::model::BadInput;
pub use alerts::{
    AcknowledgedProblem, AcknowledgementInput, ChannelEdit, ChannelInput, MuteRequest, NewChannel,
    NewRule, RuleEdit, RuleSpec, SavedChannel, SavedRule, TestSent,
};
pub use auditing::{
    AuditScope, CSV_HEAD, NamedAuditEvent, audit_page, audit_scope, check_audit_filter, csv_line,
    json_line,
};
pub use backfills::{
    BackfillOptions, FiresPreview, OrderedBackfill, PreviewedFire, RequestedFires,
};
pub use budgets::{BudgetLimits, SavedBudget};
pub use bulk::{BulkItems, BulkRefusal, MAX as MAX_AT_ONCE, ManyDone};
pub use calendars::{CalendarEdit, CalendarSpec, NewCalendar, SavedCalendar};
pub use error::CommandError;
pub(crate) use error::QUOTA_HELP;
pub use groups::{GroupEdit, SavedGroup};
pub use idempotency::Call;
pub use maintenance::{PlannedWindow, SavedWindow, WindowSpec};
pub use modules::{
    Deployment, DeploymentSource, Drift, DriftOrder, DriftOwner, DriftedObject, Effect, Exported,
    FieldChange, FileFormat, ObjectChange, PlanAction, ScheduleEffect, SettledDrift, TextProblem,
    WantedExport, WorkflowReading, WorkflowSource, schema as module_schema,
};
pub use people::{
    Density, MAX_FEEDS, MadeFeed, MadeToken, Member, NewApiToken, NewFeed, NewMembership,
    NewPassword, NewPerson, NewView, OwnPassword, PersonalSettings, SettingsChange, Theme, View,
};
pub use quotas::{MAX_QUOTA, SetQuotas, UsedQuotas};
pub use retention::{EffectiveRetention, HypotheticalRetention};
pub use runs::{ByHand, OrderedRun};
use schedules::create::{group_commit::CreateBatcher, name_cache::NameCache};
pub use schedules::{Edit, NewSchedule, SavedSchedule};
pub use schedules::{
    buffer::RearrangedBuffer,
    many_edit::ManyEdit,
    outage_preview::{OutageEffect, ScheduleOutage},
    pause::AutomaticEnd,
    resume_preview::{ForeseenRows, MAX_FORESEEN, ResumeChoice, ResumePreview},
    rollback::Rollback,
    skip::RequestedSkips,
    undelete::Undelete,
};
pub use secrets::{
    rotation::RotationBatch,
    unset::{UnsetSecret, unset_secrets},
    vault::NewSecret,
};
pub use test_call::{TestCall, TestCalled};
pub use workflows::ScheduleWork;
pub use workflows::standalone::{NewWorkflow, WorkflowEdit};

use uuid::Uuid;

use super::vault::Vault;
use crate::{
    access::{GroupGrantLimits, Guesses},
    bulkhead::{self, Bulkhead},
    clock::Clock,
    engine::{
        Signals,
        cluster::{Cluster, Comparison, NodeReadiness, describe},
    },
    model::{Quotas, Retention, calendars::Calendars},
    store::{DatabaseTransaction, Store},
    target::Executor,
};

/// Carries out commands. Cheap to clone.
#[derive(Clone)]
pub struct Commands {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) cache: Arc<timetable::Cache>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) signals: Signals,
    pub(crate) calendars: Arc<Calendars>,
    pub(crate) retention: Retention,
    /// The quotas of a namespace that has none of its own.
    quotas: Quotas,
    /// Recent counts of each namespace's usage.
    counted: Arc<quotas::QuotaCounter>,
    /// Whether this node's clock can be trusted.
    cluster: Cluster,
    /// Batches of concurrent create requests, and the names that they refer to.
    gathering: Arc<CreateBatcher>,
    places: Arc<NameCache>,
    /// Limits how many bulk items run at once, by namespace, with the time limit of a bulk request.
    many: Arc<Bulkhead<Uuid>>,
    /// Jobs that wait for workers.
    board: Arc<workers::Board>,
    /// Batches of concurrent reports of workers on the ends of jobs.
    ends: Arc<workers::EndBatcher>,
    /// Limits the number of concurrent test calls, by namespace.
    test_calls: Arc<Bulkhead<Uuid>>,
    /// Limits how much is computed at once, by namespace.
    computing: Arc<Bulkhead<Uuid>>,
    patience: Duration,
    /// Counts guesses at passwords.
    guesses: Arc<Guesses>,
    /// Encrypts and decrypts secrets.
    vault: Vault,
    /// The identity provider whose groups grant rights here, and how long these rights last after a
    /// sign-in.
    issuer: Option<Arc<str>>,
    groups_last: Duration,
}

impl Commands {
    /// Creates the commands from these parts.
    pub fn new(
        store: Store,
        clock: Clock,
        cache: Arc<timetable::Cache>,
        executor: Arc<Executor>,
        signals: Signals,
    ) -> Self {
        let retention = Retention::default();
        let (calendars, gathering, places) = (Arc::default(), Arc::default(), Arc::default());
        let cluster = Cluster::default();
        let at_once = if store.dialect().is_postgres() { bulk::AT_ONCE } else { 1 };
        let (many, patience) = (Arc::new(Bulkhead::new(at_once, at_once)), bulk::PATIENCE);
        let test_calls = Bulkhead::new(test_call::AT_ONCE, test_call::OF_A_NAMESPACE);
        let computing = Bulkhead::new(bulkhead::max_computing(), compute::OF_A_NAMESPACE);
        let guesses = Arc::new(Guesses::new(store.clone(), clock.clone()));
        Self {
            store,
            clock,
            cache,
            executor,
            signals,
            calendars,
            retention,
            quotas: Quotas::default(),
            counted: Arc::default(),
            cluster,
            gathering,
            places,
            many,
            board: Arc::default(),
            ends: Arc::default(),
            test_calls: Arc::new(test_calls),
            computing: Arc::new(computing),
            patience,
            guesses,
            vault: Vault::default(),
            issuer: None,
            groups_last: Duration::ZERO,
        }
    }

    /// Sets the default retention.
    pub fn with_retention(self, retention: Retention) -> Self {
        Self { retention, ..self }
    }

    /// Sets the default quotas.
    pub fn with_quotas(self, quotas: Quotas) -> Self {
        Self { quotas, ..self }
    }

    /// Sets the cluster state, by which a node knows whether its clock is right.
    pub fn with_cluster(self, cluster: Cluster) -> Self {
        Self { cluster, ..self }
    }

    /// Sets the provider through which people sign in.
    pub fn with_provider(self, provider: GroupGrantLimits<'_>) -> Self {
        Self { issuer: provider.issuer.map(Arc::from), groups_last: provider.lasts, ..self }
    }

    /// The provider whose groups grant rights here, and how long these rights last.
    pub(crate) fn elsewhere(&self) -> GroupGrantLimits<'_> {
        GroupGrantLimits { issuer: self.issuer.as_deref(), lasts: self.groups_last }
    }

    /// Counts guesses at passwords, for all endpoints that accept one.
    pub fn guesses(&self) -> Arc<Guesses> {
        self.guesses.clone()
    }

    /// Refuses to move cursors while this node's clock is wrong.
    async fn has_right_clock(&self, tx: &DatabaseTransaction) -> Result<(), CommandError> {
        let Self { cluster, clock, store, signals, .. } = self;
        match (Comparison { cluster, clock, store, signals }).standing_by(tx).await? {
            NodeReadiness::ClockOff(offset) => {
                let problem = format!("the clock of this node is {}", describe(offset));
                let help = "ask another node, or try again when its clock is right";
                Err(CommandError::conflict(problem, help))
            }
            NodeReadiness::Ready
            | NodeReadiness::Draining
            | NodeReadiness::Drained
            | NodeReadiness::Usurped
            | NodeReadiness::OldZones => Ok(()),
        }
    }

    /// Refuses to place cursors by zone rules that differ from those of the nodes that schedule.
    async fn has_right_zones(&self, tx: &DatabaseTransaction) -> Result<(), CommandError> {
        let own = timetable::zone_data().version;
        let Some(theirs) = self.store.other_zone_rules(tx, &own).await? else { return Ok(()) };
        let problem = format!(
            "the zone data of this node is {own}, that of the nodes that schedule {theirs}"
        );
        let help = "ask another node, or install the same tzdata on all of them and restart them";
        Err(CommandError::conflict(problem, help))
    }
}
