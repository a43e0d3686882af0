//! The work on one maintenance window in one round: marks, pauses, and their end.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp, audit_event,
    maintenance_window::{ActiveModel, Model, State},
};
use sea_orm::Set;
use serde_json::json;

use crate::{
    engine::{EngineError, cluster::LeaseTerm, core::Core},
    random::new_id,
    search::{Search, SearchedList},
    store::{
        DatabaseTransaction, audit,
        maintenance::{self, HeldSchedule, PauseText},
        reads::search::TimedSearch,
    },
};

/// Maximum number of schedules that one transaction marks or pauses.
const BATCH: u64 = 500;

/// If the search for its schedules fails, a window that has begun stays planned for this long, and
/// the search is repeated. Only a planned window marks schedules that are older than the window, so
/// once it is active, the schedules that it has missed are not paused.
const SEARCH_RETRIES_FOR: TimeDelta = TimeDelta::minutes(1);

/// The source of audit entries that the service writes.
const SOURCE: &str = "carillon";

/// The work on one window in one round.
pub(super) struct Turn<'a> {
    pub(super) core: &'a Core,
    pub(super) term: &'a LeaseTerm,
    /// The window, as this turn has changed it so far.
    pub(super) window: Model,
    pub(super) now: DateTime<Utc>,
    /// Whether the window has changed since its last complete turn.
    pub(super) is_changed: bool,
    /// Whether the turn could not be completed: see [`Self::begin`].
    pub(super) is_cut: bool,
}

/// The results of a round of maintenance windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct WindowsReport {
    /// Number of schedules that got a mark.
    marked: u64,
    /// Number of schedules that lost their mark.
    unmarked: u64,
    /// Number of schedules that were paused.
    paused: u64,
    /// Number of pauses that got another reason or end.
    changed: u64,
}

impl WindowsReport {
    /// Number of schedules whose mark is gone, so that another window can mark them.
    pub(super) fn freed(&self) -> u64 {
        self.unmarked + self.paused
    }
}

/// The reason and the end of the pauses of a window.
pub(crate) fn pause_text(window: &Model) -> PauseText {
    let ticket = window.ticket.as_deref().map(|ticket| format!(" ({ticket})"));
    let reason = format!("Maintenance: {}{}", window.title, ticket.unwrap_or_default());
    // The pauses of a cancelled window end at its cancellation.
    let until = window.cancelled_at.map_or(window.ends_at, |at| at.min(window.ends_at));
    PauseText { reason, until }
}

impl Turn<'_> {
    /// Does the work on the window that is due. `sweeps` says whether its schedules are compared
    /// with its search. Returns whether schedules wait for their pause to begin.
    pub(super) async fn take(
        &mut self,
        sweeps: bool,
        report: &mut WindowsReport,
    ) -> Result<bool, EngineError> {
        if self.window.state == State::Cancelled {
            self.release(report).await?;
            return Ok(false);
        }
        let is_over = self.window.ends_at.utc() <= self.now;
        // This comes first, because no pause may end before its window.
        if self.window.state == State::Active
            && (self.is_changed || is_over)
            && !self.change_pauses(report).await?
        {
            return Ok(false);
        }
        // If no node carried a window out in time, it still pauses its schedules for the instants
        // that have no row yet.
        let is_current = match self.window.state {
            State::Planned => true,
            State::Active => !is_over,
            State::Ended | State::Cancelled => false,
        };
        let swept = if is_current && sweeps { self.sweep(report).await } else { Ok(true) };
        let failed = match swept {
            Ok(true) => None,
            Ok(false) => return Ok(false),
            Err(error) if error.is_transient() => return Err(error),
            // The pauses of the schedules that are already marked must begin nevertheless.
            Err(error) => Some(error),
        };
        let has_begun = self.window.starts_at.utc() <= self.now;
        let stays_planned = failed.is_some()
            && self.window.state == State::Planned
            && self.now < self.window.starts_at.utc() + SEARCH_RETRIES_FOR;
        let is_waiting = match has_begun {
            true if stays_planned => {
                self.pause(report).await?;
                true
            }
            true => self.carry_out(is_over, report).await?,
            false => false,
        };
        failed.map_or(Ok(is_waiting), Err)
    }

    /// Does the work on a window that has begun. Returns whether schedules wait for their pause.
    async fn carry_out(
        &mut self,
        is_over: bool,
        report: &mut WindowsReport,
    ) -> Result<bool, EngineError> {
        if self.window.state == State::Planned && !self.change_state(State::Active, true).await? {
            return Ok(false);
        }
        self.pause(report).await?;
        self.leave_alone(report).await?;
        if is_over
            && self.window.state == State::Active
            && !self.change_state(State::Ended, true).await?
        {
            return Ok(false);
        }
        if self.window.state == State::Ended {
            let is_done = self.core.store.marked(self.window.id, 1).await?.is_empty();
            if is_done {
                self.change_state(State::Ended, false).await?;
            }
            return Ok(!is_done);
        }
        Ok(self.core.store.has_due_marks(self.window.id, self.now.into()).await?)
    }

    /// Begins a transaction that has locked the window. `None` if this node no longer leads, or if
    /// the window has been changed since it was read: then the next round works on it.
    async fn begin(&mut self) -> Result<Option<DatabaseTransaction>, EngineError> {
        let Some(tx) = self.term.begin(&self.core.store, &self.core.clock).await? else {
            self.is_cut = true;
            return Ok(None);
        };
        let row = maintenance::lock(&tx, self.window.id).await?;
        if row.as_ref() != Some(&self.window) {
            self.is_cut = true;
            tx.rollback().await?;
            return Ok(None);
        }
        Ok(Some(tx))
    }

    /// Writes the state of the window. Returns whether that was possible.
    async fn change_state(&mut self, state: State, is_open: bool) -> Result<bool, EngineError> {
        let Some(tx) = self.begin().await? else { return Ok(false) };
        let columns =
            ActiveModel { state: Set(state), is_open: Set(is_open), ..ActiveModel::default() };
        maintenance::update(&tx, self.window.id, columns).await?;
        self.core.store.commit(tx).await?;
        (self.window.state, self.window.is_open) = (state, is_open);
        Ok(true)
    }

    /// Marks the schedules that match the window, and removes the marks of those that no longer do.
    /// Returns false if the window must be read again.
    async fn sweep(&mut self, report: &mut WindowsReport) -> Result<bool, EngineError> {
        let core = self.core;
        let store = &core.store;
        let search = match &self.window.search {
            None => None,
            Some(text) => match Search::parse(SearchedList::Schedules, text) {
                Ok(search) => Some(TimedSearch { search, at: self.now.into(), in_errors: false }),
                Err(error) => {
                    let window_id = self.window.id;
                    tracing::error!(%window_id, %error, "failed to read the search of a window");
                    return Ok(true);
                }
            },
        };
        if let Some(search) = &search {
            loop {
                let strangers = store.to_unmark(&self.window, search, BATCH).await?;
                if strangers.is_empty() {
                    break;
                }
                let Some(tx) = self.begin().await? else { return Ok(false) };
                let unmarked = store.unmark(&tx, self.window.id, &strangers).await?;
                store.commit(tx).await?;
                report.unmarked += unmarked;
                if unmarked == 0 {
                    break;
                }
            }
        }
        loop {
            let unmarked = store.to_mark(&self.window, search.as_ref(), BATCH).await?;
            if unmarked.is_empty() {
                return Ok(true);
            }
            let Some(tx) = self.begin().await? else { return Ok(false) };
            let marked = store.mark(&tx, &self.window, &unmarked).await?;
            store.commit(tx).await?;
            report.marked += marked;
            if marked == 0 {
                return Ok(true);
            }
        }
    }

    /// Turns the marks that are due into pauses.
    async fn pause(&mut self, report: &mut WindowsReport) -> Result<(), EngineError> {
        let (core, text) = (self.core, pause_text(&self.window));
        loop {
            let Some(tx) = self.begin().await? else { return Ok(()) };
            let store = &core.store;
            let now = self.now.into();
            let paused = store.begin_pauses(&tx, &self.window, &text, now, BATCH).await?;
            if paused.is_empty() {
                tx.rollback().await?;
                return Ok(());
            }
            let events = paused.iter().map(|schedule| self.audited(schedule, &text)).collect();
            audit::insert_all(&tx, events).await?;
            let count = u64::try_from(paused.len()).unwrap_or(u64::MAX);
            let held = self.window.held.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
            let columns = ActiveModel { held: Set(held), ..ActiveModel::default() };
            maintenance::update(&tx, self.window.id, columns).await?;
            store.commit_after_handoffs(tx).await?;
            self.window.held = held;
            report.paused += count;
        }
    }

    /// The audit entry of a pause, as that of a pause by a user.
    fn audited(&self, schedule: &HeldSchedule, text: &PauseText) -> audit_event::ActiveModel {
        let window = &self.window;
        audit_event::ActiveModel {
            id: Set(new_id(self.now)),
            namespace_id: Set(Some(window.namespace_id)),
            at: Set(Timestamp::from(self.now)),
            actor: Set(window.planned_by.clone()),
            source: Set(SOURCE.to_owned()),
            action: Set("schedule.pause".to_owned()),
            subject_id: Set(Some(schedule.id)),
            subject: Set(schedule.name.clone()),
            reason: Set(Some(text.reason.clone())),
            before: Set(Some(json!({ "paused": false, "reason": null }))),
            after: Set(Some(json!({
                "paused": true,
                "from": schedule.pause_from.utc(),
                "until": text.until.utc(),
                "missed": window.missed,
                "maintenance": window.id,
            }))),
        }
    }

    /// Removes the marks of schedules that were paused already when their pause should have begun.
    async fn leave_alone(&mut self, report: &mut WindowsReport) -> Result<(), EngineError> {
        let core = self.core;
        let store = &core.store;
        loop {
            let paused = store.to_leave_alone(&self.window, self.now.into(), BATCH).await?;
            if paused.is_empty() {
                return Ok(());
            }
            let Some(tx) = self.begin().await? else { return Ok(()) };
            let unmarked = store.unmark(&tx, self.window.id, &paused).await?;
            store.commit(tx).await?;
            report.unmarked += unmarked;
            if unmarked == 0 {
                return Ok(());
            }
        }
    }

    /// Writes the reason and the end of the window to its pauses where they differ. Returns false
    /// if the window must be read again.
    async fn change_pauses(&mut self, report: &mut WindowsReport) -> Result<bool, EngineError> {
        let (core, text) = (self.core, pause_text(&self.window));
        let (store, now) = (&core.store, self.now.into());
        loop {
            let Some(tx) = self.begin().await? else { return Ok(false) };
            let changed = store.change_pauses(&tx, self.window.id, &text, now, BATCH).await?;
            if changed == 0 {
                tx.rollback().await?;
                return Ok(true);
            }
            store.commit(tx).await?;
            report.changed += changed;
        }
    }

    /// Removes the marks of a cancelled window, and lets its pauses end.
    async fn release(&mut self, report: &mut WindowsReport) -> Result<(), EngineError> {
        let core = self.core;
        let store = &core.store;
        loop {
            let marked = store.marked(self.window.id, BATCH).await?;
            if marked.is_empty() {
                break;
            }
            let Some(tx) = self.begin().await? else { return Ok(()) };
            report.unmarked += store.unmark(&tx, self.window.id, &marked).await?;
            store.commit(tx).await?;
        }
        if self.change_pauses(report).await? {
            self.change_state(State::Cancelled, false).await?;
        }
        Ok(())
    }
}
