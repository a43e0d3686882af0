use std::{
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::Duration,
};

use carillon::clock::Clock;
use chrono::{DateTime, Utc};

/// The periods in which the machine itself stood still, as virtual machines sometimes do. No
/// program on the machine can act during a stall.
#[derive(Debug)]
pub(super) struct Stalls {
    seen: Arc<Mutex<Vec<Stall>>>,
    /// Dropping this ends the watch.
    _end: Sender<()>,
}

#[derive(Clone, Copy, Debug)]
struct Stall {
    from: DateTime<Utc>,
    until: DateTime<Utc>,
}

/// How often it checks that the machine is running.
const LOOK: Duration = Duration::from_millis(20);
/// The longest delay of one thread that does not count as a stall: a busy machine may cause it.
const BUSY: Duration = Duration::from_millis(200);

impl Stalls {
    /// Starts the watch, on its own thread, because a test may be busy. It ends when the value is
    /// dropped.
    pub(super) fn watch(clock: &Clock) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, clock) = (seen.clone(), clock.clone());
        let (end, ended) = channel();
        std::thread::spawn(move || {
            let mut from = clock.now();
            while goes_on(&ended) {
                let until = clock.now();
                if (until - from).to_std().is_ok_and(|took| took > LOOK + BUSY) {
                    kept.lock().unwrap().push(Stall { from, until });
                }
                from = until;
            }
        });
        Self { seen, _end: end }
    }

    /// The stalls between these moments.
    pub(super) fn of(seen: &[(DateTime<Utc>, DateTime<Utc>)]) -> Self {
        let seen = seen.iter().map(|&(from, until)| Stall { from, until });
        Self { seen: Arc::new(Mutex::new(seen.collect())), _end: channel().0 }
    }

    /// The total stall time between two moments.
    pub(super) fn within(&self, from: DateTime<Utc>, until: DateTime<Utc>) -> Duration {
        let seen = self.seen.lock().unwrap();
        let overlaps = seen.iter().map(|stall| stall.until.min(until) - stall.from.max(from));
        overlaps.filter_map(|overlap| overlap.to_std().ok()).sum()
    }
}

/// Waits for the end of the watch, for at most one interval; returns whether to continue.
fn goes_on(ended: &Receiver<()>) -> bool {
    matches!(ended.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout))
}
