use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use crate::{clock::Clock, store::guesses::Guess};

/// `burst` attempts at once, and one more after each `pause`.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    burst: f64,
    pause: Duration,
}

/// Guesses at one name from one address.
const PAIR: Allowance = Allowance { burst: 5.0, pause: Duration::from_secs(30) };
/// Guesses at one name from a browser in which its user has signed in before.
const DEVICE: Allowance = Allowance { burst: 5.0, pause: Duration::from_secs(30) };
/// Guesses at any names from one address.
const ADDRESS: Allowance = Allowance { burst: 30.0, pause: Duration::from_secs(5) };
/// Guesses at one name from all addresses together. The limit is high, because the owner of the
/// name shares it.
const NAME: Allowance = Allowance { burst: 60.0, pause: Duration::from_secs(2) };

/// Beyond this number, the oldest entries are dropped.
const REMEMBERED: usize = 20_000;

/// Counts attempts in this process alone, except successful ones.
#[derive(Debug)]
pub struct Limiter {
    clock: Clock,
    buckets: Mutex<HashMap<LimiterKey, TokenBucket>>,
}

/// The owner of an allowance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum LimiterKey {
    Pair(String, IpAddr),
    Address(IpAddr),
    Name(String),
    /// The hash of a known device and a name.
    Device(String),
}

impl LimiterKey {
    fn allowance(&self) -> Allowance {
        match self {
            Self::Pair(..) => PAIR,
            Self::Address(_) => ADDRESS,
            Self::Name(_) => NAME,
            Self::Device(_) => DEVICE,
        }
    }

    /// This key as the database stores it, with everything that a user typed hashed.
    pub(super) fn guess(&self) -> Guess {
        let text = match self {
            Self::Pair(name, address) => format!("pair\0{address}\0{name}"),
            Self::Address(address) => format!("address\0{address}"),
            Self::Name(name) => format!("name\0{name}"),
            Self::Device(id) => format!("device\0{id}"),
        };
        let Allowance { burst, pause } = self.allowance();
        let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let id = format!("{:x}", Sha256::digest(text));
        Guess { id, pause_ms: ms(pause), room_ms: ms(pause.mul_f64(burst)) }
    }
}

/// The unused part of an allowance at an instant. It refills over time.
#[derive(Clone, Copy, Debug)]
struct TokenBucket {
    left: f64,
    at: Instant,
}

impl TokenBucket {
    fn refilled(self, allowance: Allowance, now: Instant) -> Self {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        let left = (self.left + passed / allowance.pause.as_secs_f64()).min(allowance.burst);
        Self { left, at: now }
    }
}

impl Limiter {
    /// A limiter without any attempts yet.
    pub fn new(clock: Clock) -> Self {
        Self { clock, buckets: Mutex::default() }
    }

    /// Counts an attempt; if none is left, returns how long to wait.
    pub fn attempt(&self, name: &str, address: IpAddr) -> Result<(), Duration> {
        self.count(&keys(name, address))
    }

    /// Takes one attempt from each of these allowances, or returns how long to wait until that is
    /// possible.
    pub(super) fn count(&self, keys: &[LimiterKey]) -> Result<(), Duration> {
        let now = self.clock.instant();
        let mut buckets = self.locked();
        let mut wait = Duration::ZERO;
        for key in keys {
            let allowance = key.allowance();
            let full = TokenBucket { left: allowance.burst, at: now };
            let bucket = buckets.entry(key.clone()).or_insert(full);
            *bucket = bucket.refilled(allowance, now);
            if bucket.left < 1.0 {
                wait = wait.max(allowance.pause.mul_f64(1.0 - bucket.left));
            }
        }
        if wait.is_zero() {
            for key in keys {
                if let Some(bucket) = buckets.get_mut(key) {
                    bucket.left -= 1.0;
                }
            }
        }
        if buckets.len() > REMEMBERED {
            forget(&mut buckets, now);
        }
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }

    /// Adopts the database's state of an allowance: `missing` is the time until it is full.
    pub(super) fn learn(&self, key: &LimiterKey, missing: Duration) {
        let Allowance { burst, pause } = key.allowance();
        let left = burst - missing.as_secs_f64() / pause.as_secs_f64();
        let bucket = TokenBucket { left: left.max(0.0), at: self.clock.instant() };
        self.locked().insert(key.clone(), bucket);
    }

    /// Gives back an attempt, because its password was correct.
    pub fn forgive(&self, name: &str, address: IpAddr) {
        self.give_back(&keys(name, address));
    }

    /// Adds one attempt back to each of the allowances.
    pub(super) fn give_back(&self, keys: &[LimiterKey]) {
        let mut buckets = self.locked();
        for key in keys {
            if let Some(bucket) = buckets.get_mut(key) {
                bucket.left = (bucket.left + 1.0).min(key.allowance().burst);
            }
        }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<LimiterKey, TokenBucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The allowances that an attempt uses.
pub(super) fn keys(name: &str, address: IpAddr) -> [LimiterKey; 3] {
    let name: String = name.chars().take(128).collect();
    let address = network(address);
    [LimiterKey::Pair(name.clone(), address), LimiterKey::Address(address), LimiterKey::Name(name)]
}

/// The unit that counts as one address: an IPv4 address in any notation, or a whole /64 network of
/// IPv6, which usually belongs to one owner.
pub fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => v4.into(),
            None => IpAddr::from((v6.to_bits() >> 64 << 64).to_be_bytes()),
        },
    }
}

/// Drops full buckets, which carry no information; if those are too few, also the oldest half.
fn forget(buckets: &mut HashMap<LimiterKey, TokenBucket>, now: Instant) {
    buckets.retain(|key, bucket| {
        let allowance = key.allowance();
        bucket.refilled(allowance, now).left < allowance.burst
    });
    if buckets.len() > REMEMBERED {
        let mut ages: Vec<Instant> = buckets.values().map(|bucket| bucket.at).collect();
        let middle = ages.len() / 2;
        let (_, median, _) = ages.select_nth_unstable(middle);
        let median = *median;
        buckets.retain(|_, bucket| bucket.at > median);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn after_a_few_guesses_at_a_name_one_waits() {
        let limiter = Limiter::new(Clock::system());
        for _ in 0..5 {
            assert!(limiter.attempt("ada", HOME).is_ok());
        }
        let wait = limiter.attempt("ada", HOME).unwrap_err();
        assert!(wait > Duration::from_secs(25) && wait <= Duration::from_secs(30), "{wait:?}");
        assert!(limiter.attempt("bob", HOME).is_ok());
        assert!(limiter.attempt("ada", ELSEWHERE).is_ok());
    }

    #[test]
    fn an_address_has_so_many_guesses_for_all_names() {
        let limiter = Limiter::new(Clock::system());
        let passed = (0..40).filter(|n| limiter.attempt(&n.to_string(), HOME).is_ok()).count();
        assert_eq!(passed, 30);
    }

    #[test]
    fn the_right_password_costs_nothing() {
        let limiter = Limiter::new(Clock::system());
        for _ in 0..50 {
            assert!(limiter.attempt("ada", HOME).is_ok());
            limiter.forgive("ada", HOME);
        }
    }

    #[test]
    fn a_bucket_fills_up_with_time() {
        let now = Clock::system().instant();
        let empty = TokenBucket { left: 0.0, at: now };
        assert_eq!(empty.refilled(PAIR, now + PAIR.pause).left, 1.0);
        assert_eq!(empty.refilled(PAIR, now + PAIR.pause * 100).left, PAIR.burst);
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_count_as_one() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), HOME);
    }

    #[test]
    fn the_limiter_has_bounded_memory() {
        let limiter = Limiter::new(Clock::system());
        for n in 0..30_000_u32 {
            let _ = limiter.attempt("ada", IpAddr::from(n.to_be_bytes()));
        }
        assert!(limiter.locked().len() <= REMEMBERED + 3);
    }
}
