//! The partition of an event, chosen as in Kafka's own clients, so that equal keys are in the same
//! partition whichever client publishes them.

/// The partition of a key.
pub(super) fn of_key(key: &[u8], partitions: i32) -> i32 {
    (murmur2(key) & i32::MAX) % partitions.max(1)
}

/// The partition of an event without a key, by the event's number.
pub(super) fn in_turn(number: u32, partitions: i32) -> i32 {
    let count = partitions.max(1).cast_unsigned();
    (number % count).cast_signed()
}

fn murmur2(bytes: &[u8]) -> i32 {
    const M: u32 = 0x5bd1_e995;
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut hash = 0x9747_b28c ^ length;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        let mut word = u32::from_le_bytes(*word).wrapping_mul(M);
        word = (word ^ word >> 24).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ word;
    }
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u32::from_le_bytes(last)).wrapping_mul(M);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(M);
    (hash ^ hash >> 15).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values come from the Java client's own test.
    #[test]
    fn a_key_is_hashed_as_the_java_client_does() {
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key.as_bytes()), hash, "{key}");
        }
    }

    #[test]
    fn every_partition_has_its_turn() {
        let turns: Vec<i32> =
            (u32::MAX - 1..=u32::MAX).chain(0..3).map(|n| in_turn(n, 3)).collect();
        assert_eq!(turns, [2, 0, 0, 1, 2]);
    }
}
