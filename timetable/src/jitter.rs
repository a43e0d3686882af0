use std::time::Duration;

use crate::hash;

/// Keeps the hash of jitter apart from the hash of `H`, whose salts count fields from zero.
const SALT: u64 = 1 << 63;

/// The delay of a fire after its scheduled instant: between zero and `most`, to the millisecond,
/// and always the same for one schedule and one instant.
pub(crate) fn delay(seed: &[u8; 16], at_ms: i64, most: Duration) -> i64 {
    // The product fits: `most` is at most a day.
    let bound = most.as_millis() as u64 + 1;
    hash::below(seed, SALT ^ at_ms as u64, bound) as i64
}
