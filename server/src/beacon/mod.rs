//! Heartbeats and locks in Redis, for fleets that already run one.
//!
//! Promises: the other nodes see a node's heartbeat at their next beat; if several nodes are about
//! to claim one fire, one of them goes first. Nothing else: the contents can be lost at any moment,
//! be flushed, be another server's or be out of reach, so nothing may follow from what is *not*
//! here. The database decides which nodes are dead and what each holds (docs/decisions/0027).
//!
//! A node talks to Redis at each beat, and before a claim while there are other nodes. It keeps the
//! heartbeats that it has seen in memory, with their age on the monotonic clock: so a flush makes
//! no node look silent, and a jump of the server's clock makes no heartbeat look new.
//!
//! - `link`: the connection, which is dropped at the first error and reopened at the next beat
//! - `heartbeats`: the heartbeats seen of each node; pure

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
use self::link::Link;
use crate::{clock::Clock, config::RedisUrl};

/// How long Redis may take to answer at the start.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
/// How long it may take later: then the heartbeat goes into the database, and must not be late.
const MAX_PATIENCE: Duration = Duration::from_secs(1);
/// How long a claim waits for its lock, which it does not need.
const LOCK_PATIENCE: Duration = Duration::from_millis(250);

/// How long to wait for answers from Redis.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a heartbeat.
    pub beat: Duration,
    /// For a claim.
    pub lock: Duration,
}

impl Patience {
    /// The patience that fits into the expiry of heartbeats.
    pub fn within(expiry: Duration) -> Self {
        Self { beat: (expiry / 6).min(MAX_PATIENCE), lock: LOCK_PATIENCE }
    }
}

/// Why Redis cannot be used. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
#[error(
    "reach Redis at {address} (cluster.redis_url): {problem}; start it, set the address right, or \
     take cluster.backend = \"database\""
)]
pub struct BeaconError {
    address: String,
    problem: String,
}

/// How Redis is used.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it is.
    pub url: RedisUrl,
    /// The prefix of each key.
    pub prefix: String,
    /// How long a heartbeat is kept.
    pub expiry: Duration,
    /// How long it may take to answer.
    pub patience: Patience,
}

/// A fire that a node is about to claim: its schedule, and when that falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FireClaim {
    /// The schedule.
    pub schedule: Uuid,
    /// Its cursor.
    pub at: Timestamp,
}

/// A node's way to Redis. Cheap to clone; clones share one connection and one memory.
#[derive(Clone)]
pub struct Beacon {
    inner: Arc<Inner>,
}

struct Inner {
    link: Link,
    prefix: String,
    expiry: Duration,
    patience: Patience,
    clock: Clock,
    /// Since when the connection is there without a break.
    since: Mutex<Option<Instant>>,
    /// Counts the beats.
    beats: AtomicU64,
    heard: Mutex<HeartbeatLog>,
    /// Why the last beat was not taken.
    problem: Mutex<Option<String>>,
    /// Why the last locks were not.
    lock_problem: Mutex<Option<String>>,
}

impl Beacon {
    /// Reaches the server, and tries each command there that is needed later: one that may only be
    /// read is of no use.
    pub async fn connect(options: Options, clock: Clock) -> Result<Self, BeaconError> {
        let Options { url, prefix, expiry, patience } = options;
        let failed = |address: &str, problem: redis::RedisError| BeaconError {
            address: address.to_owned(),
            problem: problem.to_string(),
        };
        let address = url.address().to_owned();
        let link = Link::new(&url, patience.beat).map_err(|error| failed(&address, error))?;
        let mut probe = pipe();
        let key = format!("{prefix}:probe");
        probe.cmd("SET").arg(&key).arg(1).arg("PX").arg(ms(expiry)).ignore();
        for command in ["GET", "PTTL", "MGET"] {
            probe.cmd(command).arg(&key).ignore();
        }
        // Not the probe, which may be another node's at this moment.
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

    /// Where Redis is.
    pub fn address(&self) -> &str {
        self.inner.link.address()
    }

    /// Why the last beat was not taken, if it was not, or else the last locks.
    pub fn problem(&self) -> Option<String> {
        let of_beat = lock(&self.inner.problem).clone();
        of_beat.or_else(|| lock(&self.inner.lock_problem).clone())
    }

    /// For how long Redis has been listened to without a break.
    pub fn listened(&self) -> Duration {
        let since = lock(&self.inner.since).filter(|_| self.inner.link.is_up());
        let listened = |since| self.inner.clock.instant().saturating_duration_since(since);
        since.map_or(Duration::ZERO, listened)
    }

    /// Says that `own` lives, and listens to `lives`; whether that was possible.
    pub async fn beat(&self, own: Uuid, held: i32, clock_offset_ms: i64, lives: &[Uuid]) -> bool {
        let beat = self.inner.beats.fetch_add(1, Ordering::Relaxed) + 1;
        let heartbeat = Heartbeat { beat, held, clock_offset_ms };
        let mut request = pipe();
        let ttl = ms(self.inner.expiry);
        request.cmd("SET").arg(self.key(own)).arg(heartbeat.to_text()).arg("PX").arg(ttl).ignore();
        let answer = self.ask(request, lives).await;
        if answer.is_ok() && lock(&self.inner.lock_problem).is_some() {
            // It is not for the next fire to find out that locks are taken again.
            let probe = FireClaim { schedule: Uuid::nil(), at: Timestamp(0) };
            self.first_to(own, vec![probe], Duration::from_millis(1)).await;
        }
        let problem = answer.as_ref().err().map(|error| format!("{}: {error}", self.address()));
        self.note(problem);
        answer.is_ok()
    }

    /// Listens to `lives`, if that is possible.
    pub async fn listen(&self, lives: &[Uuid]) {
        if let Err(error) = self.ask(pipe(), lives).await {
            tracing::warn!("failed to ask Redis at {} for heartbeats: {error}", self.address());
        }
    }

    /// What was heard last of a life that was listened to.
    pub fn heard(&self, life: Uuid) -> Option<LastHeartbeat> {
        lock(&self.inner.heard).of(life, self.inner.clock.instant())
    }

    /// Says goodbye.
    pub async fn forget(&self, own: Uuid) {
        let mut request = pipe();
        request.cmd("DEL").arg(self.key(own)).ignore();
        // What is left expires.
        let _ = self.inner.link.ask::<()>(&request).await;
    }

    /// Those of `claims` that `own` may go for first: each for `term`. All of them when Redis
    /// cannot say, for the lock only saves work.
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
            Ok(Ok(_)) => Err("it answers other than Redis does".to_owned()),
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
                tracing::debug!("fires are claimed without locks: {problem}");
                let problem = format!("{}: locks: {problem}", self.address());
                *lock(&self.inner.lock_problem) = Some(problem);
                return claims;
            }
        };
        let is_own = |holder: &Option<String>| holder.as_ref().is_none_or(|holder| *holder == own);
        let both = claims.into_iter().zip(answer);
        both.filter(|(_, holder)| is_own(holder)).map(|(claim, _)| claim).collect()
    }

    /// Sends the request, and asks for the heartbeats of `lives` with it.
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
            // What cannot be read is not ours.
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
                "Redis is not reached ({problem}); heartbeats go into the database and fires are \
                 claimed without locks until it is"
            ),
            (Some(_), None) => tracing::info!("Redis is reached again at {}", self.address()),
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
