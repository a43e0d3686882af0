//! Wakes the other nodes, and is woken by them.
//!
//! Promises: what wakes a service here wakes it on every node of the database, usually within
//! milliseconds; a node sends a few calls a second, however much it does. A call says who it comes
//! from and whom to wake, and carries no data: each service looks into the tables, each follower
//! reads on from its own cursor. So a call that is lost costs the time to the next poll, and one
//! that is doubled costs a look.
//!
//! Nothing of it is in the way of work: no transaction sends a call. The services leave what is to
//! be told in `signals`, and this task sends it on a connection of its own (`store::calls`).
//!
//! After each connect everything is woken once, for nobody knows what was called meanwhile.
//!
//! - `pace`: when to send what, as a pure decision

mod pace;

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use self::pace::Pace;
use crate::{
    clock::Clock,
    engine::{
        core::Core,
        signals::{Kind, Kinds},
    },
    random,
    store::{Store, StoreError, calls::Wire},
};

/// A connection on which nothing was called for so long is asked whether it is alive.
const BEAT: Duration = Duration::from_secs(2);

/// After a failure the next try waits: this long, then twice as long, up to the ceiling.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Has the others say that they live, for a process that takes part in nothing yet. A call that
/// nobody hears costs it a wait.
pub(in crate::engine) async fn wake_pulses(store: &Store) -> Result<(), StoreError> {
    let Some(mut wire) = store.wire().await? else { return Ok(()) };
    wire.call(&format!("{} {}", origin(), Kind::Pulse.letter())).await
}

/// What tells the calls of this process, or of this moment, from those of others.
fn origin() -> String {
    format!("{:016x}", u64::from_be_bytes(random::bytes()))
}

/// Goes on until `stop`, or ends at once where there are no other nodes.
pub(in crate::engine) async fn run(core: Arc<Core>, stop: CancellationToken) {
    // Real time, whatever the application's clock shows: it spares the database, and decides
    // nothing.
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
            // Once for as long as it fails.
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

/// Carries calls both ways until the connection breaks, or until `stop`: then what is left to tell
/// goes at once.
async fn carry(
    core: &Core,
    mut wire: Wire,
    origin: &str,
    clock: &Clock,
    stop: &CancellationToken,
) -> Result<(), StoreError> {
    for kind in Kind::ALL {
        rouse(core, kind);
    }
    let mut written = core.store.changes().written();
    let mut pace = Pace::default();
    // Nor what of this node's calls was heard; and that it is there, nobody may know.
    for kind in Kind::ALL {
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
                pace.add(Kinds::of(Kind::Followers));
            }
            () = stop.cancelled() => {}
            () = clock.sleep(wait) => {
                if pace.is_idle() {
                    wire.ping().await?;
                }
            }
        }
        // What wakes at this very moment goes along.
        while let Some(kinds) = core.signals.something_to_tell().now_or_never() {
            pace.add(kinds);
        }
        let is_over = stop.is_cancelled();
        let due = if is_over { pace.take_all() } else { pace.take(clock.instant()) };
        if !due.is_empty() {
            let letters: String = due.iter().map(Kind::letter).collect();
            wire.call(&format!("{origin} {letters}")).await?;
        }
        if is_over {
            return Ok(());
        }
    }
}

/// Wakes whom another node named. Letters of a later version are none of our business.
fn hear(core: &Core, call: &str, origin: &str) {
    let Some((from, letters)) = call.split_once(' ') else { return };
    if from == origin {
        return;
    }
    let named = |kind: &Kind| letters.contains(kind.letter());
    Kind::ALL.into_iter().filter(named).for_each(|kind| rouse(core, kind));
}

fn rouse(core: &Core, kind: Kind) {
    match kind {
        Kind::Planner | Kind::Dispatcher | Kind::Canceller | Kind::Backfill | Kind::Pulse => {
            core.signals.wake_here(kind);
        }
        Kind::Followers => core.store.changes().heard(),
        Kind::Settled => core.run_settled_elsewhere(),
    }
}
