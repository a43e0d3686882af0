//! Maintenance windows: planning, changing and cancelling them.
//!
//! A command only writes the window. The engine marks, pauses and releases the schedules
//! (`engine::planning::windows`), with one exception: a new end of an active window is written to
//! the first of its pauses in the same transaction. Usually a window has no others, so no user sees
//! the old end afterwards.
//!
//! - `spec`: what a caller asks for, and its limits

mod spec;

use chrono::{DateTime, Utc};
use entity::{
    Timestamp,
    maintenance_window::{ActiveModel, Model, State},
};
use sea_orm::{ActiveEnum, Set};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Call, CommandError, Commands, audit::AuditEntry, versions};
use crate::{
    access::{Operator, Permit, Viewer},
    engine::planning::windows::pause_text,
    model::check,
    random::new_id,
    store::{Constraint, DatabaseTransaction, StoreError, maintenance},
};

pub(in crate::commands) use spec::MOMENT;
pub use spec::{PlannedWindow, WindowSpec};

/// Maximum number of windows of a namespace that are not over.
const MAX_WINDOWS: u64 = 100;

/// Number of pauses to which a command writes the new end of their window. The service writes it to
/// the others, as many in each transaction.
const PAUSES: u64 = 500;

/// A maintenance window after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedWindow {
    /// The window.
    pub id: Uuid,
}

impl Commands {
    /// Plans a maintenance window.
    pub async fn plan_maintenance(
        &self,
        right: &Operator,
        spec: &WindowSpec,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<SavedWindow, CommandError> {
        check::optional_reason(reason)?;
        let who = right.who();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let namespace_id = self.namespace(&tx, right.permit(), &spec.namespace).await?;
        let window = spec.planned(&self.clock, None)?;
        let id = self.add_window(&tx, who, namespace_id, &window, None, reason).await?;
        let saved = SavedWindow { id };
        self.remember(&tx, who, call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_windows();
        Ok(saved)
    }

    /// Changes a maintenance window: all of one that has not begun; title, ticket and end of an
    /// active one.
    pub async fn change_maintenance(
        &self,
        right: &Operator,
        id: Uuid,
        spec: &WindowSpec,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<SavedWindow, CommandError> {
        check::optional_reason(reason)?;
        let (who, now) = (right.who(), self.clock.now());
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let row = self.changeable_window(&tx, right.permit(), id, "plan another one").await?;
        versions::owned_by_people("maintenance window", &row.title, row.module.as_deref())?;
        let namespace_id = self.namespace(&tx, right.permit(), &spec.namespace).await?;
        if namespace_id != row.namespace_id {
            let problem = "a window cannot move to another namespace";
            return Err(CommandError::conflict(problem, "cancel it, and plan another one there"));
        }
        let window = spec.planned(&self.clock, Some(&row))?;
        self.revise_window(&tx, who, &row, &window, reason).await?;
        if row.state == State::Active {
            let (title, ticket) = (window.title.clone(), window.ticket.clone());
            let changed = Model { title, ticket, ends_at: window.ends_at, ..row.clone() };
            let text = pause_text(&changed);
            self.store.change_pauses(&tx, id, &text, now.into(), PAUSES).await?;
        }
        let saved = SavedWindow { id };
        self.remember(&tx, who, call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_windows();
        self.signals.wake_planner();
        Ok(saved)
    }

    /// Cancels a maintenance window, even if a module declares it. The pauses of an active one end
    /// now.
    pub async fn cancel_maintenance(
        &self,
        right: &Operator,
        id: Uuid,
        reason: &str,
        call: &Call,
    ) -> Result<SavedWindow, CommandError> {
        check::reason("reason", reason)?;
        let who = right.who();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let row = self.changeable_window(&tx, right.permit(), id, "it needs no cancelling").await?;
        self.cancel_window(&tx, who, &row, reason).await?;
        let saved = SavedWindow { id };
        self.remember(&tx, who, call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_windows();
        Ok(saved)
    }

    /// The window that a caller would plan, if it may be planned.
    pub fn check_maintenance(
        &self,
        spec: &WindowSpec,
        current: Option<&Model>,
    ) -> Result<PlannedWindow, CommandError> {
        spec.planned(&self.clock, current)
    }

    /// Adds a window, and returns its key.
    pub(super) async fn add_window(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        window: &PlannedWindow,
        module: Option<&str>,
        reason: Option<&str>,
    ) -> Result<Uuid, CommandError> {
        if maintenance::not_over(tx, namespace).await? >= MAX_WINDOWS {
            let problem = format!("the namespace has {MAX_WINDOWS} windows that are not over");
            let help = "cancel those that are not needed, or use a calendar for what recurs";
            return Err(CommandError::conflict(problem, help));
        }
        let now = self.clock.now();
        let id = new_id(now);
        let row = ActiveModel {
            id: Set(id),
            namespace_id: Set(namespace),
            state: Set(State::Planned),
            is_open: Set(true),
            held: Set(0),
            planned_by: Set(who.name.clone()),
            planned_at: Set(now.into()),
            changed_at: Set(None),
            cancelled_by: Set(None),
            cancelled_at: Set(None),
            cancel_reason: Set(None),
            module: Set(module.map(str::to_owned)),
            ..window.columns()
        };
        maintenance::insert(tx, row).await.map_err(planned_meanwhile)?;
        let entry = AuditEntry {
            action: "maintenance.plan",
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: &window.title,
            reason,
            before: None,
            after: Some(window.told()),
        };
        self.audit(tx, who, entry).await?;
        Ok(id)
    }

    /// Writes the new content of a locked window that is not over. The pauses of an active one get
    /// their new end later, by the service.
    pub(super) async fn revise_window(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        window: &PlannedWindow,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        if row.state == State::Active && !window.has_same_beginning(row) {
            let problem = "the window has begun: only its title, its ticket and its end can change";
            return Err(CommandError::conflict(problem, "cancel it, and plan another one"));
        }
        let changed_at = Set(Some(self.clock.now().into()));
        let columns = ActiveModel { changed_at, ..window.columns() };
        maintenance::update(tx, row.id, columns).await?;
        let entry = AuditEntry {
            action: "maintenance.change",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &window.title,
            reason,
            before: Some(PlannedWindow::of(row).told()),
            after: Some(window.told()),
        };
        Ok(self.audit(tx, who, entry).await?)
    }

    /// Cancels a locked window that is not over.
    pub(super) async fn cancel_window(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        reason: &str,
    ) -> Result<(), CommandError> {
        let columns = ActiveModel {
            state: Set(State::Cancelled),
            is_open: Set(true),
            cancelled_by: Set(Some(who.name.clone())),
            cancelled_at: Set(Some(self.clock.now().into())),
            cancel_reason: Set(Some(reason.trim().to_owned())),
            ..ActiveModel::default()
        };
        maintenance::update(tx, row.id, columns).await?;
        let entry = AuditEntry {
            action: "maintenance.cancel",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &row.title,
            reason: Some(reason),
            before: Some(state_of(row)),
            after: Some(json!({ "state": State::Cancelled.to_value() })),
        };
        Ok(self.audit(tx, who, entry).await?)
    }

    /// The window, locked. Fails if it is over.
    async fn changeable_window(
        &self,
        tx: &DatabaseTransaction,
        permit: Permit<'_>,
        id: Uuid,
        help: &str,
    ) -> Result<Model, CommandError> {
        let row = maintenance::lock(tx, id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("maintenance window", id))?;
        permit.over(row.namespace_id, "maintenance window", id)?;
        let over = match row.state {
            State::Planned | State::Active => return Ok(row),
            State::Ended => "is over",
            State::Cancelled => "is cancelled already",
        };
        Err(CommandError::conflict(format!("the window {:?} {over}", row.title), help))
    }
}

fn planned_meanwhile(error: StoreError) -> CommandError {
    let StoreError::Broken { constraint: Constraint::WindowTitle } = error else {
        return error.into();
    };
    let problem = "another deployment of the module has just planned this window";
    CommandError::conflict(problem, "deploy it again")
}

fn state_of(row: &Model) -> Value {
    json!({ "state": row.state.to_value() })
}

/// An instant as the table keeps it.
fn stored(at: DateTime<Utc>) -> Timestamp {
    at.into()
}
