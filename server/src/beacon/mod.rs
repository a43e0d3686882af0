//! Heartbeats and locks in Redis, for fleets that already run one.
//!
//! Promises: the other nodes see a node's heartbeat at their next heartbeat, and if several nodes
//! are about to claim one fire, one of them goes first. Nothing else is promised. The contents can
//! be lost or flushed at any moment, can belong to another server, or can be out of reach, so
//! nothing may follow from what Redis does *not* contain. The database decides which nodes are dead
//! and what each holds (docs/decisions/0027).
//!
//! A node talks to Redis at each heartbeat and, while there are other nodes, before a claim. It
//! keeps the heartbeats that it has seen in memory, with their age on the monotonic clock. So a
//! flush does not make a node look silent, and a step of the server's clock does not make a
//! heartbeat look new.
//!
//! - `link`: the connection, which is dropped at the first error and reopened at the next heartbeat
//! - `heartbeats`: the last heartbeat of each node; pure

mod heartbeats;
mod link;

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use entity::Timestamp;
use redis::{FromRedisValue, Value, pipe};
use uuid::Uuid;

use self::heartbeats::HeartbeatLog;
pub use self::heartbeats::{Heartbeat, LastHeartbeat};
use self::link::RedisLink;
use crate::{clock::Clock, config::RedisUrl};

/// How long Redis may take to answer when the node starts.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
/// How long Redis may take to answer later. Without an answer, the node sends its heartbeat to the
/// database, and that heartbeat must not be late.
const MAX_PATIENCE: Duration = Duration::from_secs(1);
/// How long a claim waits for its lock. Without an answer, the claim proceeds without a lock.
const LOCK_PATIENCE: Duration = Duration::from_millis(250);

/// How long to wait for answers from Redis.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The timeout of a heartbeat.
    pub beat: Duration,
    /// The timeout of a claim.
    pub lock: Duration,
}

impl Patience {
    /// Timeouts that fit into the expiry of heartbeats.
    pub fn within(expiry: Duration) -> Self {
        Self { beat: (expiry / 6).min(MAX_PATIENCE), lock: LOCK_PATIENCE }
    }
}

/// Why Redis cannot be used. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
#[error(
    "reach Redis at {address} (cluster.redis_url): {problem}; start it, correct the address, or \
     use cluster.backend = \"database\""
)]
pub struct BeaconError {
    address: String,
    problem: String,
}

/// How Redis is used.
#[derive(Clone, Debug)]
pub struct BeaconOptions {
    /// The URL of the server.
    pub url: RedisUrl,
    /// The prefix of each key.
    pub prefix: String,
    /// How long a heartbeat is kept.
    pub expiry: Duration,
    /// How long the server may take to answer.
    pub patience: Patience,
}

/// A fire that a node is about to claim: the schedule, and when it falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FireClaim {
    /// The schedule.
    pub schedule: Uuid,
    /// The position of its cursor.
    pub at: Timestamp,
}

/// A node's access to Redis. Cheap to clone; clones share one connection and one memory.
#[derive(Clone)]
pub struct Beacon {
    inner: Arc<Inner>,
}

struct Inner {
    link: RedisLink,
    prefix: String,
    expiry: Duration,
    patience: Patience,
    clock: Clock,
    /// Since when there has been a connection without interruption.
    since: Mutex<Option<Instant>>,
    /// Counts the heartbeats.
    beats: AtomicU64,
    heard: Mutex<HeartbeatLog>,
    /// Why Redis did not accept the last heartbeat.
    problem: Mutex<Option<String>>,
    /// Why Redis did not grant the last locks.
    lock_problem: Mutex<Option<String>>,
}

impl Beacon {
    /// Connects to the server, and tries each command that is needed later, because a server that
    /// only permits reading is of no use.
    pub async fn connect(options: BeaconOptions, clock: Clock) -> Result<Self, BeaconError> {
        let BeaconOptions { url, prefix, expiry, patience } = options;
        let failed = |address: &str, problem: redis::RedisError| BeaconError {
            address: address.to_owned(),
            problem: problem.to_string(),
        };
        let address = url.address().to_owned();
        let link = RedisLink::new(&url, patience.beat).map_err(|error| failed(&address, error))?;
        let mut probe = pipe();
        let key = format!("{prefix}:probe");
        probe.cmd("SET").arg(&key).arg(1).arg("PX").arg(ms(expiry)).ignore();
        for command in ["GET", "PTTL", "MGET"] {
            probe.cmd(command).arg(&key).ignore();
        }
        // Deletes another key than the probe's, which another node may be using at this moment.
        probe.cmd("DEL").arg(format!("{key}:none")).ignore();
        let reached = async {
            link.connect(FIRST_PATIENCE).await?;
            link.ask::<()>(&probe).await
        };
        reached.await.map_err(|error| failed(&address, error))?;
        let since = Mutex::new(Some(clock.instant()));
        let inner = Inner {
            link,
            prefix,
            expiry,
            patience,
            clock,
            since,
            beats: AtomicU64::new(0),
            heard: Mutex::default(),
            problem: Mutex::default(),
            lock_problem: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The address of Redis.
    pub fn address(&self) -> &str {
        self.inner.link.address()
    }

    /// Why Redis did not accept the last heartbeat, or else the last locks; `None` if it accepted
    /// both.
    pub fn problem(&self) -> Option<String> {
        let of_beat = lock(&self.inner.problem).clone();
        of_beat.or_else(|| lock(&self.inner.lock_problem).clone())
    }

    /// How long this node has been able to read Redis without interruption.
    pub fn listened(&self) -> Duration {
        let since = lock(&self.inner.since).filter(|_| self.inner.link.is_up());
        let listened = |since| self.inner.clock.instant().saturating_duration_since(since);
        since.map_or(Duration::ZERO, listened)
    }

    /// Sends the heartbeat of `own` and reads those of `lives`; returns whether that succeeded.
    pub async fn beat(&self, own: Uuid, held: i32, clock_offset_ms: i64, lives: &[Uuid]) -> bool {
        let beat = self.inner.beats.fetch_add(1, Ordering::Relaxed) + 1;
        let heartbeat = Heartbeat { beat, held, clock_offset_ms };
        let mut request = pipe();
        let ttl = ms(self.inner.expiry);
        request.cmd("SET").arg(self.key(own)).arg(heartbeat.to_text()).arg("PX").arg(ttl).ignore();
        let answer = self.ask(request, lives).await;
        if answer.is_ok() && lock(&self.inner.lock_problem).is_some() {
            // Checks that locks work again, so that the next fire does not have to.
            let probe = FireClaim { schedule: Uuid::nil(), at: Timestamp(0) };
            self.first_to(own, vec![probe], Duration::from_millis(1)).await;
        }
        let problem = answer.as_ref().err().map(|error| format!("{}: {error}", self.address()));
        self.note(problem);
        answer.is_ok()
    }

    /// Reads the heartbeats of `lives`, if that is possible.
    pub async fn listen(&self, lives: &[Uuid]) {
        if let Err(error) = self.ask(pipe(), lives).await {
            tracing::warn!(redis = self.address(), %error, "failed to ask Redis for heartbeats");
        }
    }

    /// The last heartbeat of a node's life that this node has read.
    pub fn heard(&self, life: Uuid) -> Option<LastHeartbeat> {
        lock(&self.inner.heard).of(life, self.inner.clock.instant())
    }

    /// Removes the heartbeat of a life that has ended.
    pub async fn forget(&self, own: Uuid) {
        let mut request = pipe();
        request.cmd("DEL").arg(self.key(own)).ignore();
        // If this fails, the heartbeat expires on its own.
        let _ = self.inner.link.ask::<()>(&request).await;
    }

    /// The claims that the node `own` may attempt first, each locked for `term`. Returns all
    /// `claims` if Redis does not answer, because the locks only save work.
    pub async fn first_to(
        &self,
        own: Uuid,
        claims: Vec<FireClaim>,
        term: Duration,
    ) -> Vec<FireClaim> {
        if claims.is_empty() || !self.inner.link.is_up() {
            return claims;
        }
        let own = own.simple().to_string();
        let key = |claim: &FireClaim| {
            format!("{}:fire:{}:{}", self.inner.prefix, claim.schedule.simple(), claim.at.0)
        };
        let mut request = pipe();
        for claim in &claims {
            let set = request.cmd("SET").arg(key(claim)).arg(&own);
            set.arg("NX").arg("PX").arg(ms(term)).ignore();
        }
        request.cmd("MGET").arg(claims.iter().map(key).collect::<Vec<_>>());
        let asked = self.inner.link.ask::<(Vec<Option<String>>,)>(&request);
        let answer = match self.inner.clock.timeout(self.inner.patience.lock, asked).await {
            Ok(Ok((holders,))) if holders.len() == claims.len() => Ok(holders),
            Ok(Ok(_)) => Err("it does not answer as Redis does".to_owned()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => {
                self.inner.link.give_up();
                Err(format!("no answer within {} ms", ms(self.inner.patience.lock)))
            }
        };
        let answer = match answer {
            Ok(holders) => {
                *lock(&self.inner.lock_problem) = None;
                holders
            }
            Err(problem) => {
                tracing::debug!(error = %problem, "fires are claimed without locks");
                let problem = format!("{}: locks: {problem}", self.address());
                *lock(&self.inner.lock_problem) = Some(problem);
                return claims;
            }
        };
        let is_own = |holder: &Option<String>| holder.as_ref().is_none_or(|holder| *holder == own);
        let both = claims.into_iter().zip(answer);
        both.filter(|(_, holder)| is_own(holder)).map(|(claim, _)| claim).collect()
    }

    /// Sends the request together with a query for the heartbeats of `lives`.
    async fn ask(
        &self,
        mut request: redis::Pipeline,
        lives: &[Uuid],
    ) -> Result<(), redis::RedisError> {
        if lives.is_empty() && request.is_empty() {
            return Ok(());
        }
        if !self.inner.link.is_up() {
            self.inner.link.connect(self.inner.patience.beat).await?;
            *lock(&self.inner.since) = Some(self.inner.clock.instant());
        }
        for life in lives {
            request.cmd("GET").arg(self.key(*life));
            request.cmd("PTTL").arg(self.key(*life));
        }
        let answers = self.inner.link.ask::<Vec<Value>>(&request).await?;
        let now = self.inner.clock.instant();
        let mut heard = lock(&self.inner.heard);
        heard.keep(lives);
        for (life, answer) in lives.iter().zip(answers.chunks(2)) {
            let [text, left] = answer else { continue };
            let text: Option<String> = FromRedisValue::from_redis_value_ref(text).ok().flatten();
            let left: Option<u64> = FromRedisValue::from_redis_value_ref(left).ok();
            // A value that cannot be parsed is not one of ours.
            let Some(heartbeat) = text.and_then(|text| Heartbeat::of_text(&text)) else { continue };
            let left = left.map_or(self.inner.expiry, Duration::from_millis);
            heard.hear(*life, heartbeat, now, self.inner.expiry.saturating_sub(left));
        }
        Ok(())
    }

    fn key(&self, life: Uuid) -> String {
        format!("{}:node:{life}", self.inner.prefix)
    }

    fn note(&self, problem: Option<String>) {
        let mut last = lock(&self.inner.problem);
        match (&*last, &problem) {
            (None, Some(problem)) => tracing::error!(
                error = %problem,
                "Redis cannot be reached; until it can, heartbeats go into the database and fires \
                 are claimed without locks"
            ),
            (Some(_), None) => {
                tracing::info!(redis = self.address(), "Redis can be reached again");
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        *last = problem;
    }
}

impl fmt::Debug for Beacon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Beacon").field(&self.address()).finish()
    }
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
