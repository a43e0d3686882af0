//! The stable hash that `H` and jitter use.
//!
//! The hash must be the same on every node, in every release and after every restart. So it is
//! written out here (two rounds of SplitMix64's finaliser): the hasher of the standard library does
//! not promise stability. The hash must spread values well, but need not resist an adversary.

/// A number below `bound` that depends only on `seed` and `salt`; zero for a bound of zero.
pub(crate) fn below(seed: &[u8; 16], salt: u64, bound: u64) -> u64 {
    let (low, high) = halves(seed);
    let hash = mix(mix(low ^ mix(salt)) ^ high);
    // The high half of a 128-bit product is close enough to a uniform choice below `bound`.
    ((u128::from(hash) * u128::from(bound)) >> 64) as u64
}

fn halves(seed: &[u8; 16]) -> (u64, u64) {
    let all = u128::from_le_bytes(*seed);
    (all as u64, (all >> 64) as u64)
}

fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_never_changes_between_releases() {
        let seed = *b"0123456789abcdef";
        let answers: Vec<u64> = (0..6).map(|salt| below(&seed, salt, 60)).collect();
        assert_eq!(answers, PINNED);
    }

    const PINNED: [u64; 6] = [48, 39, 58, 22, 39, 7];

    #[test]
    fn a_thousand_schedules_spread_over_the_hour() {
        let mut minutes = [0_u32; 60];
        for id in 0..60_000_u128 {
            minutes[below(&id.to_le_bytes(), 1, 60) as usize] += 1;
        }
        assert!(minutes.iter().all(|&n| (850..1150).contains(&n)), "{minutes:?}");
    }
}
