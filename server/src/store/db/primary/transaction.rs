use std::{
    any::Any,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use futures::FutureExt;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, Statement};
use tokio::sync::OwnedSemaphorePermit;

use super::{link::DatabaseLink, pool::UsedPool};

/// The number of the next transaction.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A transaction that does not wait for a lost server. It is rolled back when it is dropped.
#[derive(Debug)]
pub struct DatabaseTransaction {
    /// The driver's transaction; `None` once it has ended.
    inner: Option<sea_orm::DatabaseTransaction>,
    link: DatabaseLink,
    held: UsedPool,
    /// Whether a statement of the transaction has changed a row.
    has_written: AtomicBool,
    /// The transaction's permit on a link that limits transactions.
    _turn: Option<OwnedSemaphorePermit>,
    number: u64,
    /// Values that are dropped once the transaction has ended.
    kept: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl DatabaseTransaction {
    pub(super) fn new(
        inner: sea_orm::DatabaseTransaction,
        link: DatabaseLink,
        held: UsedPool,
        turn: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let (has_written, number) = (AtomicBool::new(false), Self::next_number());
        Self {
            inner: Some(inner),
            link,
            held,
            has_written,
            _turn: turn,
            number,
            kept: Mutex::default(),
        }
    }

    /// A number that no other transaction of this process has.
    pub(crate) fn next_number() -> u64 {
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// A number that no other transaction of this process has.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Keeps `what` until the transaction has ended, whether it was committed or rolled back.
    pub(crate) fn keep(&self, what: impl Any + Send) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(what));
    }

    /// Commits the transaction. After a connection error, it is unknown whether it was committed.
    pub async fn commit(mut self) -> Result<(), DbErr> {
        let Some(inner) = self.inner.take() else { return Err(ended()) };
        let commit = self.link.at_home(inner.commit().boxed());
        let committed = self.link.answer(&self.held, commit).await;
        match &committed {
            Ok(()) if self.has_written.load(Ordering::Relaxed) => self.link.writes().taken(),
            Ok(()) => {}
            Err(error) => self.link.writes().failed(error),
        }
        committed
    }

    /// Rolls the transaction back.
    pub async fn rollback(mut self) -> Result<(), DbErr> {
        let Some(inner) = self.inner.take() else { return Err(ended()) };
        let rollback = self.link.at_home(inner.rollback().boxed());
        self.link.answer(&self.held, rollback).await
    }

    fn inner(&self) -> Result<&sea_orm::DatabaseTransaction, DbErr> {
        self.inner.as_ref().ok_or_else(ended)
    }

    /// Records the result of a statement.
    fn note<T>(&self, answer: &Result<T, DbErr>, has_written: impl Fn(&T) -> bool) {
        match answer {
            Ok(answer) if has_written(answer) => self.has_written.store(true, Ordering::Relaxed),
            Ok(_) => {}
            Err(error) => self.link.writes().failed(error),
        }
    }
}

/// A dropped connection is returned to its pool by a task of the current runtime.
/// That must be the runtime that opened the database. The tasks of the API's runtime are delayed
/// while it is busy, and for that time SQLite's only connection for writing would be missing.
impl Drop for DatabaseTransaction {
    fn drop(&mut self) {
        let _home = self.link.enter_home();
        drop(self.inner.take());
    }
}

/// The error of a statement after the end of its transaction.
fn ended() -> DbErr {
    DbErr::Custom("the transaction has ended".to_owned())
}

/// Whether the rows that a statement returns are the rows that it changed.
fn returns_changes(sql: &str) -> bool {
    sql.contains("RETURNING")
}

#[async_trait]
impl ConnectionTrait for DatabaseTransaction {
    fn get_database_backend(&self) -> DbBackend {
        self.link.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let text = self.link.text(&statement);
        let answer =
            self.link.answer(&self.held, async { self.inner()?.execute_raw(statement).await });
        let answer = self.link.observe(text, answer).await;
        self.note(&answer, |done| done.rows_affected() > 0);
        answer
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let answer = self
            .link
            .answer(&self.held, async { self.inner()?.execute_unprepared(sql).await })
            .await;
        if let Err(error) = &answer {
            self.link.writes().failed_order(error);
        }
        answer
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let (text, changes) = (self.link.text(&statement), returns_changes(&statement.sql));
        let answer =
            self.link.answer(&self.held, async { self.inner()?.query_one_raw(statement).await });
        let answer = self.link.observe(text, answer).await;
        self.note(&answer, |row| changes && row.is_some());
        answer
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let (text, changes) = (self.link.text(&statement), returns_changes(&statement.sql));
        let answer =
            self.link.answer(&self.held, async { self.inner()?.query_all_raw(statement).await });
        let answer = self.link.observe(text, answer).await;
        self.note(&answer, |rows| changes && !rows.is_empty());
        answer
    }
}
