//! Bulk requests: one request for all schedules or runs that a search finds.
//!
//! Each item is handled by the command that would be called for it alone, in its own transaction.
//! So an item that fails does not affect the others, SQLite's single writer is never occupied for
//! longer than a single command, and each item has its own entry in the audit log in addition to
//! the entry for the whole request. The answer says how many were done and which were refused, and
//! why.
//!
//! A bulk request stops when it runs out of time, and the answer says how many items remain, so the
//! caller always gets an answer. It runs in a separate task, which records what was done even if
//! the caller is gone.
//!
//! With an idempotency key, the found items are stored under the key before the first is handled,
//! and the remaining items afterwards. Each item's command has a key of its own, derived from it.
//! If the request was cut short (no time left, the server stopped, the answer was lost), repeating
//! it does not search again, because the search would find other items after the changes. It
//! continues where it stopped, and does nothing twice.
//!
//! - `actions`: what is done to each item; `query`: a search as a caller writes it
//! - `preview`: which items a dry run expects to be refused; `refusals`: refused items in the answer

pub(super) mod actions;
mod preview;
pub(crate) mod query;
mod refusals;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use futures::{StreamExt, future::ready, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

pub use self::refusals::BulkRefusal;
use self::refusals::refusal;
use super::{
    BadInput, Call, CommandError, Commands,
    audit::AuditEntry,
    bulk::{actions::BulkAction, query::sought},
};
use crate::{
    access::{Permit, Viewer},
    clock::Clock,
    model::check,
    search::SearchedList,
    store::reads::{runs, schedules, within::Within},
};

/// Maximum number of items in one request. A larger number is usually a mistake, and would take too
/// long.
pub const MAX: u64 = 10_000;
/// Maximum number of found items to show.
const SAMPLE: usize = 10;
/// Maximum number of concurrent items of all bulk requests on this node, because the engine needs
/// connections as well.
pub(super) const AT_ONCE: usize = 2;
/// No further item is started after this time; a request is answered within 30 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// Number of tries to write the final entry, and the pause between two tries.
const ENDINGS: usize = 3;
const PAUSE: Duration = Duration::from_secs(1);

/// The items that a request is for.
#[derive(Clone, Debug)]
pub struct BulkItems {
    /// The namespace, by name.
    pub namespace: String,
    /// The search that finds the items.
    pub search: String,
    /// The number of items that the caller expects; the request is refused if it differs.
    pub expected: Option<i64>,
    /// Whether to only count the items, and those that would be refused.
    pub dry_run: bool,
}

/// The result of a bulk request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ManyDone {
    /// Number of found items; [`MAX`] plus one means that there are more than the maximum.
    pub matched: u64,
    /// The first of the found items.
    pub sample: Vec<Uuid>,
    /// For how many items the action succeeded.
    pub done: u64,
    /// How many items were refused; in a dry run, how many would be.
    pub refused: u64,
    /// The first refusals.
    pub refusals: Vec<BulkRefusal>,
    /// Number of items that remain because time ran out or the database became unreachable. If the
    /// request is repeated with the same idempotency key, it continues with these items. In a dry
    /// run, the number of items that were not checked.
    pub remaining: u64,
}

/// The progress of a request, as stored under its key.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BulkProgress {
    told: ManyDone,
    /// The items that remain.
    left: Vec<Uuid>,
}

/// The action, and how it is audited.
#[derive(Clone, Copy)]
pub(super) struct BulkRequest<'a> {
    pub(super) which: &'a BulkItems,
    pub(super) list: SearchedList,
    pub(super) action: &'static str,
    pub(super) reason: Option<&'a str>,
    pub(super) call: &'a Call,
}

/// A request whose items are known.
struct StartedRequest {
    who: Viewer,
    namespace: Uuid,
    search: String,
    action: &'static str,
    reason: Option<String>,
    call: Call,
    deed: BulkAction,
    until: Instant,
}

impl Commands {
    /// Sets the time limit of bulk requests.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Carries out an action for each item that the search finds.
    pub(super) async fn each(
        &self,
        permit: Permit<'_>,
        order: BulkRequest<'_>,
        deed: BulkAction,
    ) -> Result<ManyDone, CommandError> {
        let until = self.clock.instant() + self.patience;
        check::optional_reason(order.reason)?;
        let (who, BulkRequest { which, call, .. }) = (permit.who(), order);
        let namespace = self.namespace(self.store.read(), permit, &which.namespace).await?;
        let mut earlier = None;
        if !which.dry_run && call.has_key() {
            // This transaction only reads: the key is taken once the items are known.
            let tx = self.store.begin().await?;
            earlier = self.recall::<BulkProgress>(&tx, who, call).await?;
            tx.rollback().await?;
        }
        let progress = if let Some(earlier) = earlier {
            earlier
        } else {
            let left = self.found(who, namespace, order.list, &which.search).await?;
            let matched = many(&left);
            let sample = left.iter().copied().take(SAMPLE).collect();
            let told = ManyDone { matched, sample, ..ManyDone::default() };
            if which.dry_run {
                as_expected(which, matched)?;
                return self.preview(namespace, &deed, &left, until, told).await;
            }
            fits(which, matched)?;
            let found = BulkProgress { told: ManyDone { remaining: matched, ..told }, left };
            self.keep_found(who, call, found).await?
        };
        if progress.left.is_empty() && progress.told.matched > 0 {
            return Ok(progress.told);
        }
        let begun = StartedRequest {
            who: who.clone(),
            namespace,
            search: which.search.clone(),
            action: order.action,
            reason: order.reason.map(str::to_owned),
            call: call.clone(),
            deed,
            until,
        };
        let commands = self.clone();
        // The caller may disconnect; the outcome is recorded in any case.
        let carried_out = tokio::spawn(async move { commands.go_on(begun, progress).await });
        carried_out.await.unwrap_or_else(|gone| {
            if gone.is_panic() {
                std::panic::resume_unwind(gone.into_panic());
            }
            let help = "repeat it with its idempotency key when the server runs again";
            Err(CommandError::conflict("the server stopped before the request was complete", help))
        })
    }

    /// Stores the found items under the call's key. If a concurrent call was first, returns its
    /// progress.
    async fn keep_found(
        &self,
        who: &Viewer,
        call: &Call,
        found: BulkProgress,
    ) -> Result<BulkProgress, CommandError> {
        let tx = self.store.begin().await?;
        let progress = match self.recall(&tx, who, call).await? {
            Some(earlier) => earlier,
            None => {
                self.remember(&tx, who, call, &found).await?;
                found
            }
        };
        self.store.commit(tx).await?;
        Ok(progress)
    }

    /// Handles the remaining items until time runs out or the database becomes unreachable.
    async fn go_on(
        &self,
        begun: StartedRequest,
        progress: BulkProgress,
    ) -> Result<ManyDone, CommandError> {
        let BulkProgress { mut told, left } = progress;
        let is_lost = AtomicBool::new(false);
        let goes_on = |index: &usize| {
            let in_time = *index == 0 || self.clock.instant() < begun.until;
            ready(in_time && !is_lost.load(Ordering::Relaxed))
        };
        let (begun, is_lost) = (&begun, &is_lost);
        let each = stream::iter(0..left.len()).take_while(goes_on).map(|index| {
            let id = left.get(index).copied().unwrap_or_default();
            async move {
                let done = self.in_turn(begun, id).await.map_err(refusal);
                if matches!(done, Err(Err(_))) {
                    is_lost.store(true, Ordering::Relaxed);
                }
                (id, done)
            }
        });
        let mut answers = std::pin::pin!(each.buffered(AT_ONCE));
        let (mut answered, mut failed, mut problem) = (0, Vec::new(), None);
        while let Some((id, answer)) = answers.next().await {
            answered += 1;
            match answer {
                Ok(()) => told.done += 1,
                Err(Ok(refused)) => told.refuse(id, refused),
                Err(Err(error)) => {
                    tracing::warn!(
                        %id,
                        action = begun.action,
                        %error,
                        "a bulk request has stopped"
                    );
                    failed.push(id);
                    problem = Some(error);
                }
            }
        }
        // Failed items come last, so that a problem with one cannot block the others for ever.
        let was_left = many(&left);
        let mut left: Vec<_> = left.get(answered..).unwrap_or_default().to_vec();
        left.extend(failed);
        told.remaining = many(&left);
        if let Some(problem) = problem
            && told.remaining == was_left
        {
            return Err(problem);
        }
        self.end(begun, BulkProgress { told, left }).await
    }

    async fn in_turn(&self, begun: &StartedRequest, id: Uuid) -> Result<(), CommandError> {
        let _turn = self.many.enter(begun.namespace).await;
        self.do_to(&begun.deed, id, &begun.call.of_item(id)).await
    }

    /// Records the outcome; retries if the database has just become unreachable.
    async fn end(
        &self,
        begun: &StartedRequest,
        progress: BulkProgress,
    ) -> Result<ManyDone, CommandError> {
        let mut endings = 1;
        loop {
            match self.write_end(begun, &progress).await {
                Err(CommandError::Store(_)) if endings < ENDINGS => endings += 1,
                ended => return ended,
            }
            Clock::system().sleep(PAUSE).await;
        }
    }

    async fn write_end(
        &self,
        begun: &StartedRequest,
        progress: &BulkProgress,
    ) -> Result<ManyDone, CommandError> {
        let StartedRequest { who, call, .. } = begun;
        let BulkProgress { told, left } = progress;
        let tx = self.store.begin().await?;
        if let Some(other) = self.recall::<BulkProgress>(&tx, who, call).await?
            && other.left.len() <= left.len()
            && told.matched > 0
        {
            // The same request was sent twice at once, and the other call has recorded as much.
            return Ok(other.told);
        }
        let entry = AuditEntry {
            action: begun.action,
            namespace: Some(begun.namespace),
            subject_id: None,
            subject: &begun.search,
            reason: begun.reason.as_deref(),
            before: None,
            after: Some(json!({
                "matched": told.matched, "done": told.done, "refused": told.refused,
                "remaining": told.remaining,
            })),
        };
        self.audit(&tx, who, entry).await?;
        self.remember(&tx, who, call, progress).await?;
        self.store.commit(tx).await?;
        Ok(told.clone())
    }

    /// The items that the search finds, at most one more than the maximum.
    async fn found(
        &self,
        who: &Viewer,
        namespace: Uuid,
        list: SearchedList,
        search: &str,
    ) -> Result<Vec<Uuid>, CommandError> {
        let sought = sought(&self.clock, list, search, who.sees_payloads(namespace))?;
        if sought.search.terms.is_empty() {
            let help = match list {
                SearchedList::Schedules => {
                    "say which schedules, as in tag:billing or state:active,paused"
                }
                SearchedList::Runs => {
                    "say which runs, as in state:queued,running or workflow:report"
                }
            };
            return Err(BadInput::new("search", search, "is empty", help).into());
        }
        let (search, within) = (Some(sought), Within::One(namespace));
        Ok(match list {
            SearchedList::Schedules => {
                let filter = schedules::Filter { search, ..schedules::Filter::default() };
                schedules::keys(&self.store, &within, &filter, MAX + 1).await?
            }
            SearchedList::Runs => {
                let filter = runs::Filter { search, ..runs::Filter::default() };
                runs::keys(&self.store, &within, &filter, MAX + 1).await?
            }
        })
    }
}

fn many(ids: &[Uuid]) -> u64 {
    u64::try_from(ids.len()).unwrap_or(u64::MAX)
}

/// Refuses a request if it finds too many items, or a number that the caller did not expect.
fn fits(which: &BulkItems, matched: u64) -> Result<(), CommandError> {
    if matched > MAX {
        let problem = format!("finds more than {MAX}");
        let help = "narrow it, and send several requests";
        return Err(BadInput::new("search", &which.search, problem, help).into());
    }
    as_expected(which, matched)
}

/// Refuses a number of items that the caller did not expect, also for a dry run.
fn as_expected(which: &BulkItems, matched: u64) -> Result<(), CommandError> {
    match which.expected {
        Some(expected) if u64::try_from(expected) != Ok(matched) => Err(CommandError::conflict(
            format!("the search finds {matched}, and {expected} were expected"),
            "check them again with dryRun, and repeat the request with the new number",
        )),
        Some(_) | None => Ok(()),
    }
}
