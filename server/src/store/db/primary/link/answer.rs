//! How a link sends a request, and how long it waits for the answer.

use std::{future::poll_fn, pin::pin, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use sea_orm::{ConnAcquireErr, DatabaseConnection, DbErr};
use tokio::runtime::{EnterGuard, Handle};

use super::DatabaseLink;
use crate::{
    clock::Clock,
    store::db::primary::{
        pool::{DatabasePool, UsedPool},
        suspicion::{SuspicionReason, lost, reason},
    },
};

/// If a statement waits this long for its answer, the keeper
/// checks whether the server is still the primary.
const SLOW: Duration = Duration::from_secs(5);
/// If a caller has waited this long for an answer, the database is pinged: a statement may take
/// long, but an unreachable database does not answer at all.
const CALLERS_PATIENCE: Duration = Duration::from_secs(1);
/// How long the answer to that ping may take.
const PROBE: Duration = Duration::from_millis(500);

impl DatabaseLink {
    /// The current pool. If its server is lost, waits for the next pool for a while.
    pub(super) async fn current(&self) -> Result<DatabasePool, DbErr> {
        let pool = self.pool.borrow().clone();
        if !pool.lost.is_cancelled() {
            return Ok(pool);
        }
        let mut pools = self.pool.clone();
        let found = pools.wait_for(|pool| !pool.lost.is_cancelled());
        match Clock::system().timeout(self.patience, found).await {
            Ok(Ok(pool)) => Ok(pool.clone()),
            Ok(Err(_)) | Err(_) => {
                if let Some(suspicion) = &self.suspicion {
                    suspicion.raise(SuspicionReason::Broken, pool.generation);
                }
                Err(lost())
            }
        }
    }

    /// Sends a request through the current pool. If the pool was replaced before a connection was
    /// free, sends the request again, because the first time nothing was sent.
    pub(super) async fn ask<T>(
        &self,
        ask: impl Fn(DatabaseConnection) -> BoxFuture<'static, Result<T, DbErr>> + Send + Sync,
    ) -> Result<(T, DatabasePool), DbErr> {
        loop {
            let pool = self.current().await?;
            let held = UsedPool { lost: pool.lost.clone(), generation: pool.generation };
            let asked = self.at_home(ask(pool.connection(self.purpose).clone()));
            match self.answer(&held, asked).await {
                Err(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed))
                    if self.pool.borrow().generation > pool.generation => {}
                answer => return answer.map(|answer| (answer, pool)),
            }
        }
    }

    /// Polls a future inside the runtime that opened the database.
    /// That runtime then drives a connection that the future opens, so the connection does not
    /// depend on how busy its first caller's runtime is.
    pub(in crate::store::db::primary) async fn at_home<T>(
        &self,
        asked: impl Future<Output = T>,
    ) -> T {
        let mut asked = pin!(asked);
        poll_fn(|cx| {
            let _home = self.enter_home();
            asked.as_mut().poll(cx)
        })
        .await
    }

    /// Enters the runtime that opened the database, until the returned guard is dropped.
    pub(in crate::store::db::primary) fn enter_home(&self) -> Option<EnterGuard<'_>> {
        self.runtime.as_ref().map(Handle::enter)
    }

    /// Waits for an answer, but not from a server that is lost.
    /// On behalf of an API caller, does not wait for a server that does not answer at all.
    pub(in crate::store::db::primary) async fn answer<T>(
        &self,
        held: &UsedPool,
        answer: impl Future<Output = Result<T, DbErr>>,
    ) -> Result<T, DbErr> {
        if !self.is_for_callers || self.suspicion.is_none() {
            return self.answer_by_keeper(held, answer).await;
        }
        let clock = Clock::system();
        let mut answer = pin!(self.answer_by_keeper(held, answer));
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = clock.sleep(CALLERS_PATIENCE) => {}
        }
        let beating = self.pool.borrow().beating.clone();
        // The probe is boxed because few statements need it, and the future
        // of every statement would reserve space for it.
        let probe = async move { beating.ping().await }.boxed();
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            probed = clock.timeout(PROBE, self.at_home(probe)) => if !matches!(probed, Ok(Ok(()))) {
                return Err(lost());
            },
        }
        answer.await
    }

    async fn answer_by_keeper<T>(
        &self,
        held: &UsedPool,
        answer: impl Future<Output = Result<T, DbErr>>,
    ) -> Result<T, DbErr> {
        let Some(suspicion) = &self.suspicion else { return answer.await };
        let clock = Clock::system();
        let mut answer = pin!(answer);
        let early = tokio::select! {
            biased;
            answer = &mut answer => Some(answer),
            () = held.lost.cancelled() => Some(Err(lost())),
            () = clock.sleep(SLOW) => None,
        };
        let answer = match early {
            Some(answer) => answer,
            None => {
                suspicion.raise(SuspicionReason::Silence, held.generation);
                tokio::select! {
                    biased;
                    answer = &mut answer => answer,
                    () = held.lost.cancelled() => Err(lost()),
                    () = clock.sleep(self.longest - SLOW) => {
                        suspicion.raise(SuspicionReason::Broken, held.generation);
                        Err(lost())
                    }
                }
            }
        };
        if let Err(error) = &answer
            && !held.lost.is_cancelled()
            && let Some(reason) = reason(error)
        {
            suspicion.raise(reason, held.generation);
        }
        answer
    }
}
