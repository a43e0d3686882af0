//! The only source of randomness: for keys, and for spreading work over time.
//!
//! A simulation gives its thread a seed. From then on, the thread draws the same numbers in the
//! same order each time. Secrets do not use this: where they are created, they use the system's own
//! randomness.

use std::cell::RefCell;

use chrono::{DateTime, Utc};
use rand::{Rng, RngCore, SeedableRng, rngs::StdRng};
use uuid::Uuid;

thread_local! {
    static SEEDED: RefCell<Option<StdRng>> = const { RefCell::new(None) };
}

/// A random number, uniformly distributed in `[0, 1)`.
pub fn unit() -> f64 {
    draw(|source| source.random())
}

/// `N` random bytes.
pub fn bytes<const N: usize>() -> [u8; N] {
    draw(|source| {
        let mut bytes = [0; N];
        source.fill_bytes(&mut bytes);
        bytes
    })
}

/// A key that begins with the application's time, so that keys sort by creation on any clock.
pub fn new_id(now: DateTime<Utc>) -> Uuid {
    let millis = u64::try_from(now.timestamp_millis()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes()).into_uuid()
}

/// Makes this thread draw its numbers from `seed` from now on, for simulations.
pub fn seed(seed: u64) {
    SEEDED.set(Some(StdRng::seed_from_u64(seed)));
}

fn draw<T>(from: impl FnOnce(&mut dyn RngCore) -> T) -> T {
    SEEDED.with_borrow_mut(|seeded| match seeded {
        Some(source) => from(source),
        None => from(&mut rand::rng()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_what_its_thread_draws() {
        let drawn = || std::thread::spawn(|| (bytes::<10>(), unit())).join().unwrap();
        let seeded = || {
            let draw = || {
                seed(7);
                (bytes::<10>(), unit())
            };
            std::thread::spawn(draw).join().unwrap()
        };
        assert_eq!(seeded(), seeded());
        assert_ne!(drawn(), drawn());
        assert!((0.0..1.0).contains(&unit()));
    }
}
