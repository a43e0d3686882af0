//! Wakes the other nodes, and receives their wake-ups.
//!
//! Promises: a wake-up here wakes the same service on every node of the database, usually within
//! milliseconds; a node sends a few calls a second, however much it does. A call names its sender
//! and the services to wake, and carries no data: each service reads the tables, and each follower
//! continues from its own cursor. So a lost call costs the time until the next poll, and a
//! duplicate one costs a query.
//!
//! This never delays other work: no transaction sends a call. The services record wake-ups in
//! `signals`, and this task sends them on its own connection (`store::calls`).
//!
//! After each connect, all services are woken once, because calls may have been missed in the
//! meantime.
//!
//! - `pace`: when to send which wake-up, as a pure decision

mod pace;

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use self::pace::RelayPace;
use crate::{
    clock::Clock,
    engine::{
        core::Core,
        signals::{Kinds, SignalKind},
    },
    random,
    store::{Store, StoreError, calls::Wire},
};

/// After this long without a call, the connection is checked with a ping.
const BEAT: Duration = Duration::from_secs(2);

/// The pause after the first failure, doubled after each further one, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Asks the other nodes for a heartbeat, on behalf of a process that has not joined yet. If the
/// call reaches no node, the process has to wait.
pub(in crate::engine) async fn wake_pulses(store: &Store) -> Result<(), StoreError> {
    let Some(mut wire) = store.wire().await? else { return Ok(()) };
    wire.call(&format!("{} {}", origin(), SignalKind::Pulse.letter())).await
}

/// A random origin that distinguishes the calls of this process, or a single call, from others.
fn origin() -> String {
    format!("{:016x}", u64::from_be_bytes(random::bytes()))
}

/// Runs until `stop`, or returns at once if there can be no other nodes.
pub(in crate::engine) async fn run(core: Arc<Core>, stop: CancellationToken) {
    // Real time rather than the application's clock: this only limits the load on the database.
    let clock = Clock::system();
    let origin = origin();
    let mut pause = FIRST_PAUSE;
    let mut is_told = false;
    while !stop.is_cancelled() {
        match core.store.wire().await {
            Ok(None) => return,
            Ok(Some(wire)) => {
                let since = clock.instant();
                is_told = false;
                if let Err(error) = carry(&core, wire, &origin, &clock, &stop).await {
                    is_told = true;
                    tracing::warn!(%error, "the connection that wakes nodes broke");
                }
                if since.elapsed() > LONGEST_PAUSE {
                    pause = FIRST_PAUSE;
                }
            }
            // Logged once per outage.
            Err(error) if std::mem::replace(&mut is_told, true) => {
                tracing::debug!(%error, "failed to open the connection that wakes nodes");
            }
            Err(error) => {
                tracing::warn!(%error, "failed to open the connection that wakes nodes");
            }
        }
        stop.run_until_cancelled(clock.sleep(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Carries calls both ways until the connection breaks, or until `stop`: pending calls are then
/// sent at once.
async fn carry(
    core: &Core,
    mut wire: Wire,
    origin: &str,
    clock: &Clock,
    stop: &CancellationToken,
) -> Result<(), StoreError> {
    for kind in SignalKind::ALL {
        rouse(core, kind);
    }
    let mut written = core.store.changes().written();
    let mut pace = RelayPace::default();
    // This node may have missed calls as well, and the other nodes may not know that it exists.
    for kind in SignalKind::ALL {
        pace.add(Kinds::of(kind));
    }
    loop {
        let wait = pace.wait(clock.instant()).unwrap_or(BEAT);
        tokio::select! {
            heard = wire.heard() => hear(core, &heard?, origin),
            kinds = core.signals.something_to_tell() => pace.add(kinds),
            changed = written.changed() => {
                // Cannot fail: the store holds the sender.
                changed.ok();
                pace.add(Kinds::of(SignalKind::Followers));
            }
            () = stop.cancelled() => {}
            () = clock.sleep(wait) => {
                if pace.is_idle() {
                    wire.ping().await?;
                }
            }
        }
        // Includes wake-ups that have arrived in the meantime.
        while let Some(kinds) = core.signals.something_to_tell().now_or_never() {
            pace.add(kinds);
        }
        let is_over = stop.is_cancelled();
        let due = if is_over { pace.take_all() } else { pace.take(clock.instant()) };
        if !due.is_empty() {
            let letters: String = due.iter().map(SignalKind::letter).collect();
            wire.call(&format!("{origin} {letters}")).await?;
        }
        if is_over {
            return Ok(());
        }
    }
}

/// Wakes the services that another node named. Ignores letters that it does not know, from a later
/// version.
fn hear(core: &Core, call: &str, origin: &str) {
    let Some((from, letters)) = call.split_once(' ') else { return };
    if from == origin {
        return;
    }
    let named = |kind: &SignalKind| letters.contains(kind.letter());
    SignalKind::ALL.into_iter().filter(named).for_each(|kind| rouse(core, kind));
}

fn rouse(core: &Core, kind: SignalKind) {
    match kind {
        SignalKind::Planner
        | SignalKind::Dispatcher
        | SignalKind::Canceller
        | SignalKind::Backfill
        | SignalKind::Pulse => {
            core.signals.wake_here(kind);
        }
        SignalKind::Followers => core.store.changes().heard(),
        SignalKind::Settled => core.run_settled_elsewhere(),
    }
}
