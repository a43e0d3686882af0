//! How many fires a schedule has left, if it was given a number.
//!
//! What counts are the fires that start or are on their way to it: handed over at once, waiting
//! for their turn, buffered. One that is skipped, missed or collapsed does not count, nor does a
//! run by hand. It counts when it is claimed, in the statement that moves the cursor, and is not
//! given back if the hand-off refuses it afterwards.

use std::collections::{HashMap, HashSet};

use entity::fire::Verdict;
use uuid::Uuid;

use crate::store::claims::{Advance, DueSchedule, NewFire};

/// Cuts off the fires behind the last one that the schedule may have; gives the first of those.
pub(super) fn cut_off(schedule: &DueSchedule, fires: &mut Vec<NewFire>) -> Option<NewFire> {
    let mut left = schedule.max_fires? - schedule.fire_count;
    let last = fires.iter().position(|fire| {
        left -= i64::from(counts(fire));
        left <= 0
    })?;
    fires.split_off(last + 1).into_iter().next()
}

/// How many of `fires` count.
pub(super) fn counted(fires: &[NewFire]) -> i64 {
    i64::try_from(fires.iter().filter(|fire| counts(fire)).count()).unwrap_or(i64::MAX)
}

/// Takes off again what was not written, because the slot was taken.
pub(super) fn discount(advances: &mut [Advance], fires: &[NewFire], written: &HashSet<Uuid>) {
    if written.len() == fires.len() {
        return;
    }
    let mut taken: HashMap<Uuid, i64> = HashMap::new();
    for fire in fires.iter().filter(|fire| counts(fire) && !written.contains(&fire.id)) {
        *taken.entry(fire.schedule_id).or_default() += 1;
    }
    for advance in advances {
        advance.fires -= taken.get(&advance.schedule_id).copied().unwrap_or(0);
    }
}

fn counts(fire: &NewFire) -> bool {
    fire.verdict == Verdict::Pending
}
