//! How long the leases of other nodes last, by this node's own monotonic clock.
//! Computed without IO, from terms and instants.

use std::{collections::HashMap, time::Instant};

use crate::store::leases::ForeignLease;

/// The lease terms of other nodes, as this node saw them first.
///
/// Leases end by the database's clock. If that clock is stepped back, a dead node's lease lasts
/// longer by the size of the step, and no other node runs its services.
/// The dead node is not even declared dead, because that is one of these services.
/// A live holder renews its term, which changes it. So a term is over if it stays unchanged
/// for the time that was left when it was first seen, whatever the database's clock did.
/// If its holder is alive after all, its writes name an outdated epoch.
#[derive(Debug, Default)]
pub(crate) struct SeenTerms {
    seen: HashMap<&'static str, SeenTerm>,
}

/// A term, and the moment from which this node treats it as over.
#[derive(Clone, Copy, Debug)]
struct SeenTerm {
    theirs: ForeignLease,
    ends: Instant,
}

impl SeenTerms {
    /// Records the term of a lease that another node holds.
    pub(crate) fn look(&mut self, name: &'static str, theirs: ForeignLease, now: Instant) {
        if !self.seen.get(name).is_some_and(|seen| seen.theirs.is_still(&theirs)) {
            // A term of centuries cannot end while this process runs, so it is not tracked.
            let Some(ends) = now.checked_add(theirs.left) else { return };
            self.seen.insert(name, SeenTerm { theirs, ends });
        }
    }

    /// Returns the recorded term if it is over.
    pub(crate) fn over(&self, name: &str, now: Instant) -> Option<ForeignLease> {
        self.seen.get(name).filter(|seen| now > seen.ends).map(|seen| seen.theirs)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use entity::Timestamp;

    use super::*;
    use crate::clock::Clock;

    fn theirs(epoch: i64, until: i64, left: u64) -> ForeignLease {
        ForeignLease { epoch, until_at: Timestamp(until), left: Duration::from_secs(left) }
    }

    #[test]
    fn a_term_that_nobody_renews_is_over_however_the_databases_clock_went() {
        let (start, second) = (Clock::system().instant(), Duration::from_secs(1));
        let mut terms = SeenTerms::default();
        assert_eq!(terms.over("bells", start), None);
        terms.look("bells", theirs(1, 15, 10), start);
        // The clock was stepped back by an hour.
        terms.look("bells", theirs(1, 15, 3_605), start + 5 * second);
        assert_eq!(terms.over("bells", start + 10 * second), None);
        assert!(terms.over("bells", start + 11 * second).is_some());
        assert_eq!(terms.over("others", start + 11 * second), None);
    }

    #[test]
    fn a_term_that_is_renewed_is_another_one() {
        let (start, second) = (Clock::system().instant(), Duration::from_secs(1));
        let mut terms = SeenTerms::default();
        terms.look("bells", theirs(1, 15, 10), start);
        terms.look("bells", theirs(1, 20, 10), start + 5 * second);
        assert_eq!(terms.over("bells", start + 15 * second), None);
        terms.look("bells", theirs(2, 20, 10), start + 15 * second);
        assert_eq!(terms.over("bells", start + 25 * second), None);
        assert!(terms.over("bells", start + 26 * second).is_some());
    }
}
