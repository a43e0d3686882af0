//! Errors of the database, sorted by what a caller can do about them, and constraints by name.

use std::{borrow::Cow, io, path::PathBuf, time::Duration};

use crate::store::WriteRefusal;
use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr, SqlErr, SqlxError};

/// Why the store could not do something. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL does not name a database that Carillon supports.
    #[error(
        "use database.url: '{url}' is neither sqlite:PATH nor postgres://USER@HOST/NAME; \
         set it in the configuration file, by CARILLON_DATABASE__URL or --database-url"
    )]
    UnknownUrl {
        /// The given URL, with its password masked.
        url: String,
    },
    /// The URL names a database in memory.
    /// Each connection would have a database of its own, which would end with the connection.
    #[error(
        "use database.url: '{url}' names no file, and a database in memory is not enough; give \
         sqlite:PATH"
    )]
    NoFile {
        /// The given URL.
        url: String,
    },
    /// The servers in the URL cannot be parsed.
    #[error("use database.url: '{url}' {problem}")]
    BadUrl {
        /// The given URL, with its password masked.
        url: String,
        /// The problem, and how to solve it.
        problem: String,
    },
    /// No server answers at the address, or its answer is not that of a database.
    #[error("reach the database at {url}: {source}; check database.url and that it is running")]
    Unreachable {
        /// The given URL, with its password masked.
        url: String,
        /// The driver's error.
        source: DbErr,
    },
    /// A newer version of Carillon has migrated the database.
    #[error(
        "use the database at {url}: its schema has the migration '{migration}', which this \
         version of Carillon does not know; run the newer version, or restore a backup"
    )]
    SchemaNewer {
        /// The given URL, with its password masked.
        url: String,
        /// The first migration that this program does not know.
        migration: String,
    },
    /// The database has pending migrations.
    #[error(
        "use the database at {url}: {pending} migrations are pending; run 'carillon migrate', \
         or start with database.migrate = true"
    )]
    SchemaOlder {
        /// The given URL, with its password masked.
        url: String,
        /// Number of pending migrations.
        pending: usize,
    },
    /// Another server has the database file open.
    #[error(
        "open the database {}: another server{} has it open; stop that server, or give this one \
         a database of its own; several servers need PostgreSQL",
        path.display(),
        process.map(|id| format!(" (process {id})")).unwrap_or_default()
    )]
    ServedAlready {
        /// The path of the database file.
        path: PathBuf,
        /// The process id of the other server.
        process: Option<u32>,
    },
    /// The server's lock cannot be taken.
    #[error(
        "lock {}: {source}; the server needs to write beside its database, and one server writes \
         to it alone",
        path.display()
    )]
    NoLock {
        /// The path of the lock file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A row violates a constraint of the database.
    #[error("write a row that breaks {constraint:?}")]
    Broken {
        /// The constraint that the row violates.
        constraint: Constraint,
    },
    /// A text contains a NUL character, which PostgreSQL cannot store.
    #[error("query the database: a text has a NUL character")]
    Nul,
    /// The disk of the database is full.
    #[error(
        "write to the database: the disk of the database is full; free some space, and everything \
         continues on its own ({source})"
    )]
    DiskFull {
        /// The driver's error.
        source: DbErr,
    },
    /// A search did not finish within its time limit.
    #[error("search: it took longer than {} s and was stopped", .limit.as_secs_f64())]
    SearchTooLong {
        /// The time limit of searches.
        limit: Duration,
    },
    /// Any other error that the driver reports.
    #[error("query the database: {0}")]
    Database(#[source] DbErr),
}

/// The constraints of the database that a caller can violate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// The namespace has another schedule with that name.
    ScheduleName,
    /// The namespace has another workflow with that name.
    WorkflowName,
    /// The namespace has another calendar with that name.
    CalendarName,
    /// Another namespace has that name.
    NamespaceName,
    /// Another user has that name, or one that looks like it.
    UserName,
    /// Another user has that identity at the identity provider.
    UserIdentity,
    /// Another token of the same owner, or another token without an owner, has that name.
    TokenName,
    /// Another feed of the same owner has that name.
    FeedName,
    /// Another concurrency group of the namespace has that name.
    GroupName,
    /// Another secret of the namespace has that name.
    SecretName,
    /// Another channel of the namespace has that name.
    ChannelName,
    /// Another alert rule of the namespace has that name.
    AlertRuleName,
    /// The tag already has a budget in the namespace.
    BudgetTag,
    /// The module already declares a maintenance window of that title.
    WindowTitle,
    /// The schedule already has a fire for that instant.
    FireSlot,
    /// The caller has already used this idempotency key.
    IdempotencyKey,
}

/// Each constraint, as the databases report it. PostgreSQL reports the index.
/// SQLite reports the table and columns, or the index if it contains expressions.
const CONSTRAINTS: [(Constraint, &str, &str); 18] = [
    (Constraint::ScheduleName, "schedule_name", "index 'schedule_name'"),
    (Constraint::WorkflowName, "workflow_name", "workflow.namespace_id, workflow.name"),
    (Constraint::CalendarName, "calendar_name", "calendar.namespace_id, calendar.name"),
    (Constraint::NamespaceName, "namespace_name_key", "namespace.name"),
    (Constraint::UserName, "user_name_key", "user.name"),
    (Constraint::UserName, "user_name_lookalike", "user.name_key"),
    (Constraint::UserIdentity, "user_identity", "user.issuer, user.subject"),
    (Constraint::TokenName, "api_token_name", "api_token.user_id, api_token.name"),
    (Constraint::TokenName, "api_token_free", "api_token.name"),
    (Constraint::FeedName, "calendar_feed_name", "calendar_feed.user_id, calendar_feed.name"),
    (
        Constraint::GroupName,
        "concurrency_group_name",
        "concurrency_group.namespace_id, concurrency_group.name",
    ),
    (Constraint::SecretName, "secret_name", "secret.namespace_id, secret.name"),
    (
        Constraint::ChannelName,
        "alert_channel_name",
        "alert_channel.namespace_id, alert_channel.name",
    ),
    (Constraint::AlertRuleName, "alert_rule_name", "alert_rule.namespace_id, alert_rule.name"),
    (Constraint::BudgetTag, "health_budget_tag", "health_budget.namespace_id, health_budget.tag"),
    (
        Constraint::WindowTitle,
        "maintenance_window_declared",
        "maintenance_window.namespace_id, maintenance_window.module, maintenance_window.title",
    ),
    (Constraint::FireSlot, "fire_slot", "fire.schedule_id, fire.scheduled_at"),
    (Constraint::IdempotencyKey, "idempotency_pkey", "idempotency.actor, idempotency.key"),
];

impl From<DbErr> for StoreError {
    fn from(error: DbErr) -> Self {
        if let Some(SqlErr::UniqueConstraintViolation(message)) = error.sql_err() {
            for (constraint, index, columns) in CONSTRAINTS {
                let named = message.contains(&format!("\"{index}\""));
                if named || message.ends_with(columns) {
                    return Self::Broken { constraint };
                }
            }
        }
        // The code is 22021 for a text and 22P05 for JSON.
        let text = error.to_string();
        if text.contains("invalid byte sequence for encoding \"UTF8\": 0x00")
            || text.contains("\\u0000 cannot be converted to text")
        {
            return Self::Nul;
        }
        if code(&error).is_some_and(|code| is_disk_full(&code)) {
            return Self::DiskFull { source: error };
        }
        Self::Database(error)
    }
}

impl StoreError {
    /// The error if the database did not answer for as long as the caller waits.
    pub fn unanswered() -> Self {
        Self::Database(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))
    }

    /// The database's own error; `None` if this error is a more specific one.
    fn database_error(&self) -> Option<&DbErr> {
        match self {
            Self::Database(error) => Some(error),
            Self::DiskFull { .. }
            | Self::UnknownUrl { .. }
            | Self::NoFile { .. }
            | Self::BadUrl { .. }
            | Self::Unreachable { .. }
            | Self::SchemaNewer { .. }
            | Self::SchemaOlder { .. }
            | Self::ServedAlready { .. }
            | Self::NoLock { .. }
            | Self::Broken { .. }
            | Self::SearchTooLong { .. }
            | Self::Nul => None,
        }
    }

    /// Whether a lock was not granted within the lock timeout of the transaction.
    pub fn is_lock_refused(&self) -> bool {
        matches!(self, Self::Database(error) if code(error).as_deref() == Some("55P03"))
    }

    /// Whether the same call may succeed if it is repeated: after a lost connection, a standby's
    /// refusal, a lock timeout, a serialisation failure or a full disk.
    pub fn is_transient(&self) -> bool {
        if matches!(self, Self::DiskFull { .. }) {
            return true;
        }
        let Some(error) = self.database_error() else { return false };
        if matches!(error, DbErr::ConnectionAcquire(_)) {
            return true;
        }
        let (DbErr::Conn(runtime) | DbErr::Exec(runtime) | DbErr::Query(runtime)) = error else {
            return false;
        };
        let RuntimeErr::SqlxError(error) = runtime else { return false };
        match error.as_database_error() {
            None => !is_unreadable(error),
            Some(error) => error.code().is_some_and(|code| passes(&code)),
        }
    }

    /// Why the database cannot serve a call now, as a text for the caller. The reason will pass on
    /// its own or after an operator's action, and the call may be sent again.
    pub fn unavailable(&self) -> Option<&'static str> {
        if matches!(self, Self::DiskFull { .. }) {
            return Some(WriteRefusal::DiskFull.problem());
        }
        let error = self.database_error()?;
        if let Some(why) = WriteRefusal::of(error) {
            return Some(why.problem());
        }
        let is_locked = self.is_lock_refused() || code(error).is_some_and(|code| is_busy(&code));
        if is_locked {
            return Some(LOCKED);
        }
        self.is_transient().then_some(AWAY)
    }

    /// Whether the database refuses the data, so that the same call can never succeed: no column
    /// can store a value, a constraint is violated, or there is too much data.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Broken { .. } | Self::Nul)
            || self.database_error().and_then(code).is_some_and(|code| refuses(&code))
    }
}

/// The text for callers when the database does not answer.
/// After an error in the middle of a change, it is unknown whether the change was made.
pub const AWAY: &str = "the database does not answer; if this was a change, check whether it was \
                        made before sending it again, or send it with an idempotency key";

/// The text for callers when a lock was not granted in time.
const LOCKED: &str = "the rows that this call needs are locked in the database; nothing was \
                      changed, and the call may be repeated";

/// Whether a code is SQLite's BUSY or LOCKED.
fn is_busy(code: &str) -> bool {
    code.len() < 5 && code.parse::<u32>().is_ok_and(|number| matches!(number & 0xff, 5 | 6))
}

/// Whether a value that was read does not fit the type of its
/// column: the next read will fail in the same way.
fn is_unreadable(error: &SqlxError) -> bool {
    matches!(
        error,
        SqlxError::ColumnDecode { .. }
            | SqlxError::Decode(_)
            | SqlxError::ColumnNotFound(_)
            | SqlxError::ColumnIndexOutOfBounds { .. }
            | SqlxError::TypeNotFound { .. }
    )
}

/// Whether the condition behind a code is transient. On PostgreSQL: lost connections, rollbacks in
/// favour of other transactions, lack of resources, lock timeouts, operator interventions,
/// standbys, and transactions that were idle for too long. On SQLite: BUSY and LOCKED.
fn passes(code: &str) -> bool {
    const CLASSES: [&str; 4] = ["08", "40", "53", "57"];
    const CODES: [&str; 3] = ["25006", "25P03", "55P03"];
    const KINDS: [u32; 2] = [5, 6];
    match code.parse::<u32>() {
        Ok(number) if code.len() < 5 => KINDS.contains(&(number & 0xff)),
        Ok(_) | Err(_) => {
            CODES.contains(&code) || CLASSES.iter().any(|class| code.starts_with(class))
        }
    }
}

/// The error code that the database reported.
pub(in crate::store) fn code(error: &DbErr) -> Option<Cow<'_, str>> {
    let (DbErr::Exec(RuntimeErr::SqlxError(error)) | DbErr::Query(RuntimeErr::SqlxError(error))) =
        error
    else {
        return None;
    };
    error.as_database_error()?.code()
}

/// Whether a code is PostgreSQL's `disk_full`, SQLite's FULL,
/// or SQLite's code for a WAL index that cannot grow.
pub(in crate::store) fn is_disk_full(code: &str) -> bool {
    matches!(code, "53100" | "13" | "4874")
}

/// Whether a code means that the database refuses the data.
/// PostgreSQL's codes have five characters, of which the first two name a class.
/// SQLite's codes are numbers whose lowest byte is the kind.
fn refuses(code: &str) -> bool {
    const CLASSES: [&str; 4] = ["21", "22", "23", "54"];
    /// SQLite's TOOBIG, CONSTRAINT and MISMATCH.
    const KINDS: [u32; 3] = [18, 19, 20];
    match code.parse::<u32>() {
        Ok(number) if code.len() < 5 => KINDS.contains(&(number & 0xff)),
        Ok(_) | Err(_) => CLASSES.iter().any(|class| code.starts_with(class)),
    }
}

#[cfg(test)]
mod tests {
    use sea_orm::DbErr;

    use super::{AWAY, StoreError, is_busy, passes, refuses};

    #[test]
    fn an_unavailable_database_differs_from_one_that_is_locked_or_refuses() {
        let away = StoreError::unanswered();
        assert_eq!(away.unavailable(), Some(AWAY));
        let full = StoreError::DiskFull { source: DbErr::Custom("full".to_owned()) };
        assert!(
            full.unavailable().unwrap().contains("disk of the database is full; free some space")
        );
        assert_eq!(StoreError::Nul.unavailable(), None);
        assert_eq!(StoreError::Database(DbErr::Custom("a defect".to_owned())).unavailable(), None);
        for (code, expected) in [("5", true), ("517", true), ("6", true), ("19", false)] {
            assert_eq!(is_busy(code), expected, "{code}");
        }
    }

    #[test]
    fn transient_errors_are_distinguished_from_permanent_ones() {
        // On PostgreSQL: deadlock, shutdown, standby, lock timeout, idle transaction.
        // On SQLite: busy, locked.
        for code in ["40P01", "57P01", "25006", "55P03", "25P03", "5", "517", "6"] {
            assert!(passes(code), "{code}");
        }
        for code in ["23505", "42P01", "22021", "1", "19"] {
            assert!(!passes(code), "{code}");
        }
    }

    #[test]
    fn values_that_can_never_be_stored_are_distinguished_from_temporary_failures() {
        // On PostgreSQL: a text with NUL, a violated constraint, a value that is too large.
        // On SQLite: a trigger, a value that is too large.
        for code in ["22P05", "22021", "23514", "54000", "1811", "18"] {
            assert!(refuses(code), "{code}");
        }
        // On PostgreSQL: deadlock, disk full, no such table, shutdown.
        // On SQLite: busy, a disk error, disk full.
        for code in ["40P01", "53100", "42P01", "57P01", "5", "10", "13", "1"] {
            assert!(!refuses(code), "{code}");
        }
    }
}
