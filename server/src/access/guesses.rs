//! Counts guesses at passwords, for all nodes together and across restarts.
//!
//! The database's counts are decisive. But each node first consults its own knowledge: it refuses a
//! caller without guesses left without a query, so that guessing, which unauthenticated callers can
//! do, causes no more writes than the limits allow. A node only knows guesses that the database has
//! accepted or refused, so except for moments it never refuses a caller whom the database would
//! admit.

use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::limiter::{Limiter, LimiterKey, keys, network};
use crate::{
    clock::Clock,
    store::{
        Store, StoreError,
        guesses::{self, AllowanceLeft, GuessOutcome},
    },
};

/// Maximum number of rows; beyond it, the least informative ones are removed. Each row is for a
/// name, an address or both.
const MAX: u32 = 100_000;
/// The rows are pruned at this interval, and after this many guesses.
const LOOK: Duration = Duration::from_secs(60);
const MANY: u32 = 1_000;

/// Why a guess is not allowed now.
#[derive(Debug)]
pub enum GuessRefusal {
    /// There were too many guesses; the next is allowed after this time.
    Wait(Duration),
    /// The database could not tell the number of guesses.
    Unknown(StoreError),
}

/// Counts attempts to sign in, except successful ones.
#[derive(Debug)]
pub struct Guesses {
    store: Store,
    clock: Clock,
    known: Limiter,
    looked: Mutex<LastPrune>,
}

/// When the rows were last pruned, and the number of guesses since.
#[derive(Debug, Default)]
struct LastPrune {
    at: Option<Instant>,
    guesses: u32,
}

impl Guesses {
    /// Counts guesses in the database of `store`.
    pub fn new(store: Store, clock: Clock) -> Self {
        let known = Limiter::new(clock.clone());
        Self { store, clock, known, looked: Mutex::default() }
    }

    /// Counts an attempt, or returns why it is not allowed.
    pub async fn attempt(&self, name: &str, address: IpAddr) -> Result<(), GuessRefusal> {
        self.count(&keys(name, address)).await
    }

    /// Counts an attempt at the password of a session's own user, against a limit that only this
    /// session uses up. The session is named by its hashed key.
    pub async fn attempt_in(&self, session: &str) -> Result<(), GuessRefusal> {
        self.count(&[LimiterKey::Device(session.to_owned())]).await
    }

    /// Gives back an attempt that [`Self::attempt_in`] counted, because its password was correct.
    pub async fn forgive_in(&self, session: &str) {
        self.forgive_keys(&[LimiterKey::Device(session.to_owned())]).await;
    }

    /// Counts a sign-in that begins without a name. To give it back, call [`Self::forgive`] with an
    /// empty name.
    pub async fn visit(&self, address: IpAddr) -> Result<(), GuessRefusal> {
        self.count(&[LimiterKey::Address(network(address))]).await
    }

    pub(super) async fn count(&self, keys: &[LimiterKey]) -> Result<(), GuessRefusal> {
        self.known.count(keys).map_err(GuessRefusal::Wait)?;
        let wanted: Vec<_> = keys.iter().map(LimiterKey::guess).collect();
        let counted = guesses::take_if_left(&self.store, &wanted).await;
        let (left, is_taken) = match counted {
            Ok(GuessOutcome::Taken(left)) => (left, true),
            Ok(GuessOutcome::Refused(left)) => (left, false),
            Err(error) => {
                self.known.give_back(keys);
                return Err(GuessRefusal::Unknown(error));
            }
        };
        let mut wait = Duration::ZERO;
        for (key, guess) in keys.iter().zip(&wanted) {
            let of_it = left.iter().find(|left| left.id == guess.id);
            let Some(AllowanceLeft { missing_ms, .. }) = of_it else { continue };
            let not_taken = if is_taken { 0 } else { guess.pause_ms };
            self.known.learn(key, millis(missing_ms - not_taken));
            if !is_taken {
                wait = wait.max(millis(missing_ms - guess.room_ms));
            }
        }
        self.look_through().await;
        if is_taken { Ok(()) } else { Err(GuessRefusal::Wait(wait)) }
    }

    /// Gives back an attempt that [`Self::attempt`] counted, because its password was correct.
    pub async fn forgive(&self, name: &str, address: IpAddr) {
        self.forgive_keys(&keys(name, address)).await;
    }

    pub(super) async fn forgive_keys(&self, keys: &[LimiterKey]) {
        self.known.give_back(keys);
        let given: Vec<_> = keys.iter().map(LimiterKey::guess).collect();
        if let Err(error) = guesses::give_back(&self.store, &given).await {
            tracing::warn!(%error, "failed to return an attempt to the limit on guesses");
        }
    }

    /// Keeps the table small. A failure does not delay the sign-in.
    async fn look_through(&self) {
        let now = self.clock.instant();
        {
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            looked.guesses += 1;
            let is_early = looked.at.is_some_and(|at| now.saturating_duration_since(at) < LOOK);
            if is_early && looked.guesses < MANY {
                return;
            }
            *looked = LastPrune { at: Some(now), guesses: 0 };
        }
        if let Err(error) = guesses::remove_needless(&self.store, MAX).await {
            tracing::warn!(%error, "failed to remove old guesses");
        }
    }
}

fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}
