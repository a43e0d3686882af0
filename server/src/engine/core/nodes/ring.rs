//! Rendezvous hashing: each node has a score for each shard, and the nodes with the two highest
//! scores own the shard. When a node joins or leaves, only its own shards move.

use std::time::Duration;

use chrono::TimeDelta;
use entity::Timestamp;

use crate::store::{
    ahead::{CursorAhead, LOOKED_AT},
    claims::ShardTurns,
};

/// The number of shards over which schedules are spread.
pub const SHARDS: usize = 256;

/// The indexes in `names` of a shard's first and second owner.
pub fn owners(names: &[&str], shard: u8) -> (Option<usize>, Option<usize>) {
    let draw = |place: &usize| (score(names[*place], shard), names[*place]);
    let first = (0..names.len()).max_by_key(draw);
    let others = (0..names.len()).filter(|place| Some(*place) != first);
    (first, others.max_by_key(draw))
}

/// A node's score for a shard: the same on each node and in each release.
/// It is FNV-1a over the name, followed by SplitMix64's finaliser.
fn score(name: &str, shard: u8) -> u64 {
    let bytes = name.bytes().chain([shard]);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut z = hash;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// When this node, one of several, may claim the fires of each shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimTurns {
    /// One digit for each shard; see [`ShardTurns`].
    turns: String,
    /// The delay from the first owner's turn to the second owner's, and from that to the others'.
    after: TimeDelta,
}

impl ClaimTurns {
    /// The share of the node `own` among the nodes in `names`;
    /// `None` if it is alone and may claim everything.
    pub(crate) fn of(own: &str, names: &[&str], after: Duration) -> Option<Self> {
        if names.iter().all(|name| *name == own) {
            return None;
        }
        let turn = |shard: u8| {
            let (first, second) = owners(names, shard);
            let is_own = |place: Option<usize>| place.is_some_and(|place| names[place] == own);
            match (is_own(first), is_own(second)) {
                (true, _) => '1',
                (false, true) => '2',
                (false, false) => '3',
            }
        };
        let after = TimeDelta::from_std(after).unwrap_or_default();
        Some(Self { turns: (0..=u8::MAX).map(turn).collect(), after })
    }

    /// The parameters of the store's query at `now`.
    pub(crate) fn turns(&self, now: Timestamp) -> ShardTurns<'_> {
        let before = |delay: TimeDelta| Timestamp(now.0 - delay.num_milliseconds());
        ShardTurns {
            of_shards: &self.turns,
            second: before(self.after),
            last: before(self.after * 2),
        }
    }

    /// How long after its instant this node may claim a fire of a shard.
    fn delay(&self, shard: u8) -> TimeDelta {
        match self.turns.as_bytes().get(usize::from(shard)) {
            Some(b'1') => TimeDelta::zero(),
            Some(b'2') => self.after,
            Some(_) | None => self.after * 2,
        }
    }

    /// When this node next has something to claim, after it has claimed all that it could at `now`.
    /// The answer is early enough for the rows in `ahead` and for later rows, which were not read.
    pub(crate) fn next(&self, ahead: &[CursorAhead], now: Timestamp) -> Option<Timestamp> {
        let after = |at: Timestamp, delay: TimeDelta| Timestamp(at.0 + delay.num_milliseconds());
        let turn = |row: &CursorAhead| {
            after(row.at, row.shard.map_or(TimeDelta::zero(), |shard| self.delay(shard)))
        };
        let next = ahead.iter().map(turn).min();
        let cursors = ahead.iter().filter(|row| row.shard.is_some());
        let (overdue, to_come): (Vec<_>, Vec<_>) = cursors.partition(|row| row.at <= now);
        // Rows that were not read come after the last row that was.
        // If this node could have claimed one of them before, the last claim would have taken it.
        let hidden = |rows: &[&CursorAhead], delay| {
            let last = rows.iter().map(|row| row.at).max().filter(|_| rows.len() >= LOOKED_AT);
            last.map(|at| after(at, delay))
        };
        let hidden = [hidden(&overdue, self.after), hidden(&to_come, TimeDelta::zero())];
        next.into_iter().chain(hidden.into_iter().flatten()).min()
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::btree_set, prelude::*};

    use super::*;

    fn names() -> impl Strategy<Value = Vec<String>> {
        btree_set("[a-z]{1,6}(:[0-9]{1,4})?", 1..12).prop_map(|set| set.into_iter().collect())
    }

    fn borrowed(names: &[String]) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }

    proptest! {
        #[test]
        fn each_shard_has_two_owners_unless_a_node_is_alone(names in names(), shard: u8) {
            let names = borrowed(&names);
            let (first, second) = owners(&names, shard);
            prop_assert!(first.is_some());
            prop_assert_eq!(second.is_some(), names.len() > 1);
            prop_assert_ne!(first, second);
        }

        #[test]
        fn the_order_in_which_nodes_are_listed_does_not_matter(names in names(), shard: u8) {
            let forward = borrowed(&names);
            let backward: Vec<&str> = forward.iter().rev().copied().collect();
            let named = |names: &[&str]| {
                let (first, second) = owners(names, shard);
                (first.map(|at| names[at].to_owned()), second.map(|at| names[at].to_owned()))
            };
            prop_assert_eq!(named(&forward), named(&backward));
        }

        /// When a node leaves, its shards go to their second owners, and no other shard moves.
        #[test]
        fn only_the_shards_of_a_node_move_when_it_leaves(names in names(), gone: prop::sample::Index) {
            let all = borrowed(&names);
            prop_assume!(all.len() > 1);
            let gone = all[gone.index(all.len())];
            let left: Vec<&str> = all.iter().copied().filter(|name| *name != gone).collect();
            for shard in 0..=u8::MAX {
                let (first, second) = owners(&all, shard);
                let (first, second) = (all[first.unwrap()], all[second.unwrap()]);
                let (now, then) = owners(&left, shard);
                let now = left[now.unwrap()];
                if first == gone {
                    prop_assert_eq!(now, second);
                } else {
                    prop_assert_eq!(now, first);
                    if second != gone {
                        prop_assert_eq!(then.map(|at| left[at]), Some(second));
                    }
                }
            }
        }

        #[test]
        fn every_shard_is_somebodys_to_claim_at_once_and_anothers_next(names in names()) {
            let all = borrowed(&names);
            prop_assume!(all.len() > 1);
            let shares: Vec<ClaimTurns> = all
                .iter()
                .map(|own| ClaimTurns::of(own, &all, Duration::from_secs(1)).unwrap())
                .collect();
            for shard in 0..SHARDS {
                let turn = |digit| {
                    shares.iter().filter(|share| share.turns.as_bytes()[shard] == digit).count()
                };
                prop_assert_eq!((turn(b'1'), turn(b'2')), (1, 1));
            }
        }
    }

    #[test]
    fn shards_are_spread_evenly() {
        for count in [2, 3, 5, 8] {
            let names: Vec<String> = (0..count).map(|index| format!("node-{index}:8080")).collect();
            let names = borrowed(&names);
            let mut had = vec![[0_usize; 2]; count];
            for shard in 0..=u8::MAX {
                let (first, second) = owners(&names, shard);
                had[first.unwrap()][0] += 1;
                had[second.unwrap()][1] += 1;
            }
            let even = SHARDS / count;
            for shards in had.iter().flatten() {
                assert!((even / 2..=even * 2).contains(shards), "{count} nodes: {had:?}");
            }
        }
    }

    #[test]
    fn a_node_that_is_alone_asks_for_no_shard() {
        assert_eq!(ClaimTurns::of("a", &["a"], Duration::from_secs(1)), None);
        assert_eq!(ClaimTurns::of("a", &[], Duration::from_secs(1)), None);
    }

    /// A share in which this node is the first owner of shard 0, the second
    /// owner of shard 1, and no owner of shard 2.
    fn share() -> ClaimTurns {
        ClaimTurns { turns: "123".to_owned(), after: TimeDelta::seconds(1) }
    }

    fn ahead(shard: u8, at: i64) -> CursorAhead {
        CursorAhead { shard: Some(shard), at: Timestamp(at) }
    }

    #[test]
    fn a_node_looks_later_at_shards_that_another_owns_first() {
        let now = Timestamp(10_000);
        let next = |rows: &[CursorAhead]| share().next(rows, now).map(|at| at.0);
        assert_eq!(next(&[ahead(0, 12_000), ahead(1, 11_500)]), Some(12_000));
        assert_eq!(next(&[ahead(1, 9_900), ahead(2, 9_900)]), Some(10_900));
        assert_eq!(next(&[ahead(2, 9_900)]), Some(11_900));
        assert_eq!(next(&[CursorAhead { shard: None, at: Timestamp(10_100) }]), Some(10_100));
        assert_eq!(next(&[]), None);
    }

    /// If it did, this node would query again and again while the others claim their own backlog.
    #[test]
    fn a_backlog_of_others_does_not_keep_a_node_awake() {
        let now = Timestamp(10_000);
        let mut rows: Vec<CursorAhead> = (0..LOOKED_AT).map(|_| ahead(2, 9_990)).collect();
        assert_eq!(share().next(&rows, now), Some(Timestamp(10_990)));
        // This node may own a row that was not read, so it must wake for the last row that was.
        rows.extend((0..LOOKED_AT).map(|_| ahead(2, 10_500)));
        assert_eq!(share().next(&rows, now), Some(Timestamp(10_500)));
    }

    #[test]
    fn overdue_schedules_are_claimed_by_the_second_owner_and_then_by_all() {
        let share = share();
        let turns = share.turns(Timestamp(10_000));
        assert_eq!((turns.second, turns.last), (Timestamp(9_000), Timestamp(8_000)));
    }
}
