use async_graphql::{Context, Enum, ID, InputObject, Object};
use entity::maintenance_window::{Model, State};
use uuid::Uuid;

use crate::{
    api::{
        context::ContextExt,
        error::Result,
        loaders::{MaintenanceCounts, MaintenanceRow, NamespaceName},
        scalar::Instant,
        schedule_policy::CatchUp,
    },
    commands::WindowSpec,
};

/// The cost of counting the schedules of a window.
const COUNTED: usize = 20;

/// A planned pause of the schedules that match a search: they do not fire while it lasts.
pub(crate) struct MaintenanceWindow(pub(crate) Model);

/// A planned pause of the schedules that match a search: they do not fire while it lasts.
#[Object]
impl MaintenanceWindow {
    pub(crate) async fn id(&self) -> ID {
        self.0.id.into()
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    /// The work that is planned: 1 to 100 characters.
    async fn title(&self) -> &str {
        &self.0.title
    }

    /// A URL, or the id of a ticket, for the people who read it.
    async fn ticket(&self) -> Option<&str> {
        self.0.ticket.as_deref()
    }

    /// The search that selects the schedules; null for all schedules of the namespace.
    async fn search(&self) -> Option<&str> {
        self.0.search.as_deref()
    }

    /// When the pauses begin, inclusive.
    async fn starts_at(&self) -> Instant {
        self.0.starts_at.into()
    }

    /// When the pauses end, exclusive.
    async fn ends_at(&self) -> Instant {
        self.0.ends_at.into()
    }

    /// What becomes of the fires that fall into the window when it ends.
    async fn missed(&self) -> CatchUp {
        self.0.missed.into()
    }

    /// Whether the window is ahead, in effect or over.
    async fn state(&self) -> MaintenanceState {
        self.0.state.into()
    }

    /// The name of the user or token that planned it.
    async fn planned_by(&self) -> &str {
        &self.0.planned_by
    }

    /// When it was planned.
    async fn planned_at(&self) -> Instant {
        self.0.planned_at.into()
    }

    /// The name of the user or token that cancelled it; null if it was not cancelled.
    async fn cancelled_by(&self) -> Option<&str> {
        self.0.cancelled_by.as_deref()
    }

    /// When it was cancelled.
    async fn cancelled_at(&self) -> Option<Instant> {
        self.0.cancelled_at.map(Into::into)
    }

    /// The reason that they gave.
    async fn cancel_reason(&self) -> Option<&str> {
        self.0.cancel_reason.as_deref()
    }

    /// The module that declares it; null if it was planned by hand.
    async fn module(&self) -> Option<&str> {
        self.0.module.as_deref()
    }

    /// While PLANNED, how many schedules carry its mark: those that it will pause, unless another
    /// window begins earlier for them. While ACTIVE, how many it holds paused. Afterwards, how many
    /// it has paused.
    #[graphql(complexity = "COUNTED")]
    async fn schedule_count(&self, cx: &Context<'_>) -> Result<i64> {
        if matches!(self.0.state, State::Ended | State::Cancelled) {
            return Ok(self.0.held);
        }
        let counts = cx.rows().load_one(MaintenanceCounts(self.0.id)).await?.unwrap_or_default();
        Ok(if self.0.state == State::Planned { counts.marked } else { counts.held })
    }
}

impl MaintenanceWindow {
    /// The window with this key.
    pub(in crate::api) async fn load(cx: &Context<'_>, id: Option<Uuid>) -> Result<Option<Self>> {
        let Some(id) = id else { return Ok(None) };
        Ok(cx.rows().load_one(MaintenanceRow(id)).await?.map(Self))
    }
}

/// The state of a maintenance window.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "State")]
pub(crate) enum MaintenanceState {
    /// The window is ahead. Its schedules are marked, and fire until it begins.
    Planned,
    /// The window is in effect: its schedules are paused.
    Active,
    /// The window is over.
    Ended,
    /// The window was cancelled.
    Cancelled,
}

/// A maintenance window to plan, or its new content.
#[derive(InputObject)]
pub(crate) struct MaintenanceInput {
    /// The namespace's name.
    #[graphql(default = "default")]
    namespace: String,
    /// The work that is planned: 1 to 100 characters.
    title: String,
    /// A URL, or the id of a ticket: at most 200 characters.
    ticket: Option<String>,
    /// The search that selects the schedules, in the language of docs/search.md, such as
    /// `tag:billing`; all schedules of the namespace if absent or empty.
    pub(super) search: Option<String>,
    /// Inclusive; the window begins now if this is past.
    starts_at: Instant,
    /// Exclusive; in the future, and at most 31 days after `startsAt`.
    ends_at: Instant,
    /// What becomes of the fires that fall into the window when it ends.
    #[graphql(default_with = "CatchUp::Skip")]
    missed: CatchUp,
}

impl From<MaintenanceInput> for WindowSpec {
    fn from(input: MaintenanceInput) -> Self {
        let MaintenanceInput { namespace, title, ticket, search, starts_at, ends_at, missed } =
            input;
        Self {
            namespace,
            title,
            ticket,
            search,
            starts_at: starts_at.0,
            ends_at: ends_at.0,
            missed: missed.into(),
        }
    }
}
