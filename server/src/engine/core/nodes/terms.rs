//! For how long the leases of others last, by this node's own monotonic clock. Pure: from terms and
//! instants to an answer.

use std::{collections::HashMap, time::Instant};

use crate::store::leases::Theirs;

/// The terms of others, as this node saw them first.
///
/// Leases end by the database's clock. When that is stepped back, what a dead node has does not end
/// for as long as the step, and nobody else does its services: nor does anybody declare it dead, for
/// that is one of them. Who lives renews its term, which is another one by that. So a term that
/// stands unchanged for as long as was left of it when it was seen first is over however the
/// database's clock went. Should its holder live after all, its writes name an epoch that is past.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    seen: HashMap<&'static str, Seen>,
}

/// A term, and when it is over at the latest.
#[derive(Clone, Copy, Debug)]
struct Seen {
    theirs: Theirs,
    ends: Instant,
}

impl Terms {
    /// Takes down what somebody else has.
    pub(crate) fn look(&mut self, name: &'static str, theirs: Theirs, now: Instant) {
        if !self.seen.get(name).is_some_and(|seen| seen.theirs.is_still(&theirs)) {
            // A term of centuries is one that nobody waits for.
            let Some(ends) = now.checked_add(theirs.left) else { return };
            self.seen.insert(name, Seen { theirs, ends });
        }
    }

    /// The term that is over, if it is still the one that was seen.
    pub(crate) fn over(&self, name: &str, now: Instant) -> Option<Theirs> {
        self.seen.get(name).filter(|seen| now > seen.ends).map(|seen| seen.theirs)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use entity::Timestamp;

    use super::*;
    use crate::clock::Clock;

    fn theirs(epoch: i64, until: i64, left: u64) -> Theirs {
        Theirs { epoch, until_at: Timestamp(until), left: Duration::from_secs(left) }
    }

    #[test]
    fn a_term_that_nobody_renews_is_over_however_the_databases_clock_went() {
        let (start, second) = (Clock::system().instant(), Duration::from_secs(1));
        let mut terms = Terms::default();
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
        let mut terms = Terms::default();
        terms.look("bells", theirs(1, 15, 10), start);
        terms.look("bells", theirs(1, 20, 10), start + 5 * second);
        assert_eq!(terms.over("bells", start + 15 * second), None);
        terms.look("bells", theirs(2, 20, 10), start + 15 * second);
        assert_eq!(terms.over("bells", start + 25 * second), None);
        assert!(terms.over("bells", start + 26 * second).is_some());
    }
}
