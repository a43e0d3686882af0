//! Reads a feed continuously: woken by writes, at a bounded rate, without losing or repeating rows.
//!
//! The follower is registered before its first read, and marks wake-ups as seen before each read,
//! so a write that a read did not see wakes it again. For writes of other processes, a slow poll
//! backs this up.

use std::{collections::VecDeque, time::Duration, time::Instant};

use futures::{future::BoxFuture, stream::BoxStream};
use tokio::sync::watch;

use crate::{clock::Clock, store::StoreError};

/// The shortest time between two reads, however many writes there are.
const PACE: Duration = Duration::from_millis(50);
/// A read happens this often even without a wake-up.
const POLL: Duration = Duration::from_secs(1);

/// The result of one read of a feed.
pub(super) struct FeedRead<P, T> {
    pub(super) rows: Vec<T>,
    /// The position to continue from.
    pub(super) position: P,
    /// Whether more rows are available already.
    pub(super) more: bool,
    /// Whether no rows will ever follow.
    pub(super) ended: bool,
}

/// Reads a feed from a position.
pub(super) type FeedReader<P, T> =
    Box<dyn FnMut(P) -> BoxFuture<'static, Result<FeedRead<P, T>, StoreError>> + Send>;

struct Follower<P, T> {
    read: FeedReader<P, T>,
    changes: watch::Receiver<u64>,
    position: P,
    waiting: VecDeque<T>,
    caught_up: bool,
    ended: bool,
    last_read: Option<Instant>,
}

/// The rows of the feed after `position`. Ends with the feed, or after an error.
pub(super) fn follow<P, T>(
    changes: watch::Receiver<u64>,
    position: P,
    read: FeedReader<P, T>,
) -> BoxStream<'static, Result<T, StoreError>>
where
    P: Copy + Send + 'static,
    T: Send + 'static,
{
    let follower = Follower {
        read,
        changes,
        position,
        waiting: VecDeque::new(),
        caught_up: false,
        ended: false,
        last_read: None,
    };
    Box::pin(futures::stream::unfold(follower, |mut follower| async {
        let next = follower.next().await?;
        Some((next, follower))
    }))
}

impl<P: Copy, T> Follower<P, T> {
    async fn next(&mut self) -> Option<Result<T, StoreError>> {
        loop {
            if let Some(row) = self.waiting.pop_front() {
                return Some(Ok(row));
            }
            if self.ended {
                return None;
            }
            self.pause().await;
            self.changes.mark_unchanged();
            match (self.read)(self.position).await {
                Ok(read) => {
                    self.position = read.position;
                    self.caught_up = !read.more;
                    self.ended = read.ended;
                    self.waiting.extend(read.rows);
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Waits until there may be something to read and the last read is long enough ago.
    ///
    /// Uses real time rather than the application's clock, because this only limits the load on the
    /// database.
    async fn pause(&mut self) {
        let clock = Clock::system();
        if self.caught_up {
            // Cannot fail: the store that this reads from holds the sender.
            let _ = clock.timeout(POLL, self.changes.changed()).await;
            let since = self.last_read.map_or(PACE, |last| last.elapsed());
            if let Some(left) = PACE.checked_sub(since) {
                clock.sleep(left).await;
            }
        }
        self.last_read = Some(clock.instant());
    }
}
