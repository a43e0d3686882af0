//! Wakes the other nodes, and receives their wake-ups.
//!
//! Promises: a wake-up here wakes the same service on every node of the database, usually within
//! milliseconds; a node sends a few calls a second, however much it does. A call names its sender
//! and the services to wake, and carries no data: each service reads the tables, and each follower
//! reads on from its own cursor. So a lost call costs the time until the next poll, and a duplicate
//! one costs a look.
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

/// A connection without a call for this long is checked with a ping.
const BEAT: Duration = Duration::from_secs(2);

/// The pause after the first failure, doubled after each further one, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Makes the other nodes send a heartbeat, for a process that has not joined yet. If no node
/// receives the call, the process has to wait.
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
    // Real time, whatever the application's clock shows: it only limits the load on the database
    // and decides nothing.
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
                    tracing::warn!("the connection that wakes nodes broke: {error}");
                }
                if since.elapsed() > LONGEST_PAUSE {
                    pause = FIRST_PAUSE;
                }
            }
            // Logged once per outage.
            Err(error) if std::mem::replace(&mut is_told, true) => {
                tracing::debug!("failed to open the connection that wakes nodes: {error}");
            }
            Err(error) => {
                tracing::warn!("failed to open the connection that wakes nodes: {error}");
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
    // This node's calls may have been missed too, and the others may not know that it exists.
    for kind in SignalKind::ALL {
        pace.add(Kinds::of(kind));
    }
    loop {
        let wait = pace.wait(clock.instant()).unwrap_or(BEAT);
        tokio::select! {
            heard = wire.heard() => hear(core, &heard?, origin),
            kinds = core.signals.something_to_tell() => pace.add(kinds),
            changed = written.changed() => {
                // The store holds the other end.
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
        // Wake-ups that have just arrived are included.
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

/// Wakes the services that another node named. Unknown letters, from a later version, are ignored.
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
