//! Wakes services on the other nodes, and receives the wake-ups of other nodes.
//!
//! A wake-up on this node wakes the same service on every node of the database,
//! usually within milliseconds. A node sends only a few calls a second, however much it does.
//! A call names its sender and the services to wake, and carries no data:
//! each service reads the tables, and each follower continues from its own cursor.
//! So a lost call costs the time until the next poll, and a duplicate call costs a query.
//!
//! The relay never delays other work: no transaction sends a call. The services record wake-ups in
//! `signals`, and this task sends them on a connection of its own (`store::calls`).
//!
//! After each connect, all services are woken once, because calls may have
//! been missed while the connection was down.
//!
//! - `pace`: decides when to send which wake-up, without IO

mod pace;

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use self::pace::RelayPace;
use crate::{
    clock::Clock,
    engine::{
        core::Core,
        signals::{SignalKind, SignalKinds},
    },
    random,
    store::{Store, StoreError, calls::Wire},
};

/// If no call arrives for this long, a ping checks the connection.
const BEAT: Duration = Duration::from_secs(2);

/// The pause after the first failure, and the longest pause. The pause doubles after each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Asks the other nodes for a heartbeat, on behalf of a process that has not joined yet.
/// If the call reaches no node, the process waits for the next heartbeat.
pub(in crate::engine) async fn wake_pulses(store: &Store) -> Result<(), StoreError> {
    let Some(mut wire) = store.wire().await? else { return Ok(()) };
    wire.call(&format!("{} {}", origin(), SignalKind::Pulse.letter())).await
}

/// A random origin that tells the calls of this process from those of others.
fn origin() -> String {
    format!("{:016x}", u64::from_be_bytes(random::bytes()))
}

/// Runs until `stop`. Returns at once if there can be no other nodes.
pub(in crate::engine) async fn run(core: Arc<Core>, stop: CancellationToken) {
    // The pauses use real time, not the application's
    // clock: they only limit the load on the database.
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
            // The failure is logged once per outage.
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

/// Sends and receives calls until the connection breaks or `stop` is set.
/// After `stop`, pending calls are sent immediately.
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
    // This node may also have missed calls, and the other nodes may not know that it exists.
    for kind in SignalKind::ALL {
        pace.add(SignalKinds::of(kind));
    }
    loop {
        let wait = pace.wait(clock.instant()).unwrap_or(BEAT);
        tokio::select! {
            heard = wire.heard() => hear(core, &heard?, origin),
            kinds = core.signals.something_to_tell() => pace.add(kinds),
            changed = written.changed() => {
                // This wait cannot fail, because the store holds the sender.
                changed.ok();
                pace.add(SignalKinds::of(SignalKind::Followers));
            }
            () = stop.cancelled() => {}
            () = clock.sleep(wait) => {
                if pace.is_idle() {
                    wire.ping().await?;
                }
            }
        }
        // Wake-ups that have arrived in the meantime go into the same call.
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

/// Wakes the services that another node named. Letters that this version does not know are ignored.
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
        | SignalKind::Windows
        | SignalKind::Pulse => {
            core.signals.wake_here(kind);
        }
        SignalKind::Followers => core.store.changes().heard(),
        SignalKind::Settled => core.run_settled_elsewhere(),
    }
}
