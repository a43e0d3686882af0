//! Counts how many places each holder has, without IO.

use std::{collections::HashMap, fmt, sync::Arc};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{FreePlaces, NoPlace};

/// One in this many places is kept for namespaces that hold few of them.
const KEPT_OF: usize = 16;
/// The smallest capacity of which a place is kept.
const MIN_TO_KEEP: usize = 4;

/// Something that competes for places.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaceHolder {
    /// The target of a run: the scheme, host and port of a
    /// URL, or a program or queue of a namespace.
    Origin(Arc<str>),
    /// A schedule.
    Schedule(Uuid),
    /// A namespace, which has a quota, and leaves the last places to others.
    Namespace(Uuid),
}

impl PlaceHolder {
    /// The holder's kind as a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Origin(_) => "origin",
            Self::Schedule(_) => "schedule",
            Self::Namespace(_) => "namespace",
        }
    }
}

impl fmt::Display for PlaceHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(origin) => write!(f, "target origin {origin}"),
            Self::Schedule(id) => write!(f, "schedule {id}"),
            Self::Namespace(id) => write!(f, "namespace {id}"),
        }
    }
}

/// A holder whose runs wait because it has used up its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// The holder that has used up its share.
    pub holder: PlaceHolder,
    /// Number of places that the holder has.
    pub held: usize,
    /// Since when runs of the holder have waited without interruption.
    pub since: DateTime<Utc>,
    /// Whether it is a namespace that has as many live runs as its quota allows.
    pub is_quota: bool,
}

/// The account of all places of a node.
#[derive(Debug)]
pub(super) struct PlaceAccount {
    capacity: usize,
    max_share: usize,
    /// Whether several namespaces have schedules.
    is_shared: bool,
    held: usize,
    by: HashMap<PlaceHolder, usize>,
    usual_quota: Option<i64>,
    quotas: HashMap<Uuid, Option<i64>>,
    elsewhere: HashMap<Uuid, i64>,
    held_back: HashMap<PlaceHolder, DateTime<Utc>>,
    full_since: Option<DateTime<Utc>>,
}

impl PlaceAccount {
    pub(super) fn new(capacity: usize, max_share: u32) -> Self {
        let max_share = usize::try_from(max_share).unwrap_or(100).clamp(1, 100);
        Self {
            capacity,
            max_share,
            is_shared: false,
            held: 0,
            by: HashMap::new(),
            usual_quota: None,
            quotas: HashMap::new(),
            elsewhere: HashMap::new(),
            held_back: HashMap::new(),
            full_since: None,
        }
    }

    /// Takes a place for all of `holders`.
    /// If one of them has used up its share, records that instead.
    pub(super) fn take(
        &mut self,
        holders: impl Iterator<Item = PlaceHolder>,
        now: impl FnOnce() -> DateTime<Utc>,
    ) -> Result<(), NoPlace> {
        if self.free() == 0 {
            self.full_since.get_or_insert_with(now);
            return Err(NoPlace::Full);
        }
        let holders: Vec<PlaceHolder> = holders.collect();
        if let Some(full) = holders.iter().find(|holder| self.room_of(holder) == 0) {
            self.held_back.entry(full.clone()).or_insert_with(now);
            return Err(NoPlace::Share(full.clone()));
        }
        self.held += 1;
        for holder in holders {
            *self.by.entry(holder).or_default() += 1;
        }
        Ok(())
    }

    pub(super) fn give_back(&mut self, holders: impl Iterator<Item = PlaceHolder>) {
        self.held = self.held.saturating_sub(1);
        for holder in holders {
            if let Some(held) = self.by.get_mut(&holder) {
                *held -= 1;
                if *held == 0 {
                    self.by.remove(&holder);
                }
            }
        }
    }

    pub(super) fn room(&self) -> FreePlaces {
        let (mut of_held_back, mut full) = (0, Vec::new());
        for holder in self.held_back.keys() {
            match self.room_of(holder) {
                0 => full.push(holder.clone()),
                room => of_held_back += room,
            }
        }
        full.sort();
        let (free, is_held_back) = (self.free(), !self.held_back.is_empty());
        FreePlaces { free, is_held_back, of_held_back: of_held_back.min(free), full }
    }

    pub(super) fn forget_held_back(&mut self, but: &[PlaceHolder]) {
        self.held_back.retain(|holder, _| but.contains(holder));
    }

    pub(super) fn full_since(&self) -> Option<DateTime<Utc>> {
        self.full_since.filter(|_| self.free() == 0)
    }

    pub(super) fn forget_full(&mut self) {
        self.full_since = None;
    }

    pub(super) fn set_quotas(
        &mut self,
        usual: Option<i64>,
        own: impl IntoIterator<Item = (Uuid, Option<i64>)>,
        elsewhere: impl IntoIterator<Item = (Uuid, i64)>,
    ) {
        self.usual_quota = usual;
        self.quotas = own.into_iter().collect();
        self.elsewhere = elsewhere.into_iter().collect();
    }

    pub(super) fn set_shared(&mut self, is_shared: bool) {
        self.is_shared = is_shared;
    }

    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn held_back(&self) -> Vec<HeldBack> {
        let of = |(holder, since): (&PlaceHolder, &DateTime<Utc>)| HeldBack {
            holder: holder.clone(),
            held: self.held_by(holder),
            since: *since,
            is_quota: self.quota_left(holder) == 0,
        };
        let mut all: Vec<_> = self.held_back.iter().map(of).collect();
        all.sort_by(|a, b| b.held.cmp(&a.held).then_with(|| a.holder.cmp(&b.holder)));
        all
    }

    fn free(&self) -> usize {
        self.capacity.saturating_sub(self.held)
    }

    fn held_by(&self, holder: &PlaceHolder) -> usize {
        self.by.get(holder).copied().unwrap_or(0)
    }

    /// Number of further places that the holder could take now if no other holder took one.
    fn room_of(&self, holder: &PlaceHolder) -> usize {
        let (free, held) = (self.free(), self.held_by(holder));
        // The holder may take only the first few of these, because the limit shrinks with each
        // place that it takes.
        let (mut room, mut more) = (0, self.quota_left(holder).min(free));
        while room < more {
            let middle = room + (more - room).div_ceil(2);
            if self.may_have(holder, held + middle - 1, free - (middle - 1)) {
                room = middle;
            } else {
                more = middle - 1;
            }
        }
        room
    }

    /// How many more runs a namespace's quota allows on this node.
    fn quota_left(&self, holder: &PlaceHolder) -> usize {
        let PlaceHolder::Namespace(id) = holder else { return usize::MAX };
        let quota = self.quotas.get(id).copied().unwrap_or(self.usual_quota);
        let Some(quota) = quota else { return usize::MAX };
        let left = quota - self.elsewhere.get(id).copied().unwrap_or(0);
        usize::try_from(left).unwrap_or(0).saturating_sub(self.held_by(holder))
    }

    /// Whether a holder with `held` places may take one of the `free` ones.
    fn may_have(&self, holder: &PlaceHolder, held: usize, free: usize) -> bool {
        match holder {
            // The limit grows with the square of the free places: a single holder gets its whole
            // share, and each later holder leaves a larger part of the rest to those that follow.
            PlaceHolder::Origin(_) | PlaceHolder::Schedule(_) => {
                let (share, rest) = (self.max_share, 100 - self.max_share);
                held * rest * rest * self.capacity < share * 100 * free * free
            }
            // However many origins and schedules a namespace has, it takes at most half of the last
            // places that are left.
            PlaceHolder::Namespace(_) => free > self.kept_places() || held < free,
        }
    }

    /// How many of the last places are kept for namespaces that hold few.
    fn kept_places(&self) -> usize {
        if !self.is_shared || self.max_share == 100 || self.capacity < MIN_TO_KEEP {
            return 0;
        }
        (self.capacity / KEPT_OF).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn origin(name: &str) -> PlaceHolder {
        PlaceHolder::Origin(name.into())
    }

    /// Takes as many places as the holder may have.
    fn fill(account: &mut PlaceAccount, holder: &PlaceHolder) -> usize {
        let mut taken = 0;
        while account.take([holder.clone()].into_iter(), || at(7)).is_ok() {
            taken += 1;
        }
        taken
    }

    #[test]
    fn one_holder_has_its_share_and_a_newcomer_finds_a_place() {
        for (capacity, most) in [(1, 1), (2, 2), (4, 4), (5, 4), (10, 8), (512, 410)] {
            let mut account = PlaceAccount::new(capacity, 80);
            assert_eq!(fill(&mut account, &origin("a")), most, "of {capacity}");
        }
        let mut whole = PlaceAccount::new(512, 100);
        assert_eq!(fill(&mut whole, &origin("a")), 512);
    }

    #[test]
    fn those_that_hang_one_after_the_other_leave_places() {
        let mut account = PlaceAccount::new(512, 80);
        let left = (0..11).map(|number| {
            assert!(fill(&mut account, &origin(&number.to_string())) > 0, "holder {number}");
            512 - account.held()
        });
        assert_eq!(left.collect::<Vec<_>>(), [102, 39, 21, 13, 9, 7, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn the_room_is_the_number_of_free_places() {
        for share in [1, 50, 67, 80, 99, 100] {
            for (capacity, others) in [(1, 0), (7, 3), (64, 10), (512, 300)] {
                let mut account = PlaceAccount::new(capacity, share);
                for number in 0..others {
                    let one = [origin(&format!("other {number}"))].into_iter();
                    assert!(account.take(one, || at(7)).is_ok());
                }
                let room = account.room_of(&origin("a"));
                assert_eq!(fill(&mut account, &origin("a")), room, "{share} % of {capacity}");
            }
        }
    }

    #[test]
    fn a_holder_that_waits_is_known_until_it_is_forgotten() {
        let mut account = PlaceAccount::new(10, 80);
        fill(&mut account, &origin("slow"));
        let room = account.room();
        assert_eq!((room.free, room.of_held_back, &*room.full), (2, 0, &[origin("slow")][..]));
        let held = [HeldBack { holder: origin("slow"), held: 8, since: at(7), is_quota: false }];
        assert_eq!(account.held_back(), held);
        account.give_back([origin("slow")].into_iter());
        let room = account.room();
        assert_eq!((room.free, room.of_held_back, room.full.len()), (3, 1, 0));
        assert!(room.is_held_back);
        account.forget_held_back(&[origin("other")]);
        assert!(!account.room().is_held_back);
    }

    #[test]
    fn a_namespace_whose_targets_all_hang_leaves_places_to_every_other() {
        let hog = PlaceHolder::Namespace(Uuid::from_u128(1));
        for (capacity, kept) in [(1, 0), (3, 0), (4, 1), (16, 1), (50, 3), (512, 32)] {
            let mut account = PlaceAccount::new(capacity, 80);
            account.set_shared(true);
            // Each of its runs has another origin.
            let mut taken = 0;
            let run = |number: usize| [origin(&number.to_string()), hog.clone()].into_iter();
            while account.take(run(taken), || at(7)).is_ok() {
                taken += 1;
            }
            assert_eq!(capacity - taken, kept, "of {capacity}");
            let other = PlaceHolder::Namespace(Uuid::from_u128(2));
            assert_eq!(fill(&mut account, &other), kept.div_ceil(2), "of {capacity}");
        }
    }

    #[test]
    fn a_namespace_alone_has_all_places() {
        for (is_shared, max_share) in [(false, 80), (true, 100)] {
            let mut account = PlaceAccount::new(50, max_share);
            account.set_shared(is_shared);
            assert_eq!(fill(&mut account, &PlaceHolder::Namespace(Uuid::from_u128(1))), 50);
        }
    }

    #[test]
    fn a_namespace_has_its_quota_and_no_share() {
        let (id, mut account) = (Uuid::from_u128(1), PlaceAccount::new(10, 50));
        assert_eq!(fill(&mut account, &PlaceHolder::Namespace(id)), 10);
        let mut account = PlaceAccount::new(10, 50);
        account.set_quotas(Some(7), [(id, Some(3))], []);
        assert_eq!(fill(&mut account, &PlaceHolder::Namespace(id)), 3);
        let other = PlaceHolder::Namespace(Uuid::from_u128(2));
        assert_eq!(account.room_of(&other), 7);
        account.set_quotas(None, [(id, Some(3))], [(id, 5)]);
        assert_eq!(account.room_of(&PlaceHolder::Namespace(id)), 0);
        assert_eq!(account.room_of(&other), 7);
    }
}
