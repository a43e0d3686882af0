//! Reads data that another version has stored, without requiring this version's schema.

use migration::SchemaManager;
use sea_orm::{DatabaseConnection, FromQueryResult, Value};
use uuid::Uuid;

use super::open::DatabaseLocation;
use crate::store::{Dialect, Options, StoreError};

/// A connection to a database that may have the schema of an earlier version.
#[derive(Debug)]
pub struct Stored {
    single: DatabaseConnection,
    dialect: Dialect,
}

/// The data that the database keeps as JSON and that a version must parse to use it.
/// Short-lived data is left out, because its loss only costs a sign-in or a repeated message:
/// sessions, answers of repeated calls, messages to be sent, and jobs of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredKind {
    /// The timing of a schedule.
    Schedule,
    /// The tags of a schedule.
    ScheduleTags,
    /// The keys of a schedule's calendars.
    ScheduleCalendars,
    /// The addresses of the watchdog that a schedule calls.
    Ping,
    /// The former versions of a schedule.
    ScheduleVersion,
    /// The definition of a workflow.
    Workflow,
    /// A calendar.
    Calendar,
    /// The earlier versions of a calendar.
    CalendarVersion,
    /// The declaration of a module.
    Module,
    /// An alert rule.
    AlertRule,
    /// The unencrypted part of an alert channel.
    AlertChannel,
    /// The quotas of a namespace.
    Quotas,
    /// The settings of a user's console, with the saved views.
    UserSettings,
    /// The permissions that a user has from an identity provider.
    UserGrants,
    /// The queues to which a token gives access.
    TokenQueues,
}

/// One stored text. It is not parsed yet: a text that cannot be parsed must not hide the others.
#[derive(Clone, Debug, FromQueryResult)]
pub struct StoredText {
    /// The key of the object; for a module, that of its namespace.
    pub id: Uuid,
    /// The version, for objects that are kept in several versions.
    pub version: i32,
    /// The object's name.
    pub name: String,
    /// The name of the object's namespace; `None` for objects outside of namespaces.
    pub namespace: Option<String>,
    /// The text to parse.
    pub json: String,
    /// The other facts that the parser needs: a schedule's zone, a channel's kind, a calendar's
    /// mode. For a workflow, whether this is the current version.
    pub about: Option<String>,
}

/// A node that is alive, or that died without leaving the cluster.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct StoredNode {
    /// The node's name.
    pub name: String,
    /// The version of the node's program.
    pub version: String,
}

/// The place of stored texts of one kind. Their table is called `r` in all parts.
struct Source {
    table: &'static str,
    column: &'static str,
    /// The joins with other tables; `n` is the namespace.
    join: &'static str,
    condition: &'static str,
    /// The column with the object's key, and the rest of the row's key.
    id: &'static str,
    then: KeyEnd,
    name: &'static str,
    namespace: &'static str,
    about: &'static str,
    /// Number of rows that are read at once.
    page: i64,
}

/// The second part of a row's key.
enum KeyEnd {
    Nothing,
    Version,
    Name,
}

/// Number of rows that are read at once if each has only a few bytes.
const PAGE: i64 = 1_000;
/// Number of definitions that are read at once: they may be large.
const LARGE_PAGE: i64 = 200;
/// Number of modules that are read at once: they contain definitions.
const MODULES_PAGE: i64 = 20;

const NAMESPACE: &str = "JOIN namespace n ON n.id = r.namespace_id";
const NOTHING: &str = "CAST(NULL AS text)";

impl Source {
    /// The place of texts of objects in a namespace.
    const fn of(table: &'static str, column: &'static str) -> Self {
        Self {
            table,
            column,
            join: NAMESPACE,
            condition: "1 = 1",
            id: "r.id",
            then: KeyEnd::Nothing,
            name: "r.name",
            namespace: "n.name",
            about: NOTHING,
            page: LARGE_PAGE,
        }
    }

    /// The place of texts of schedules.
    const fn of_schedule(column: &'static str, condition: &'static str) -> Self {
        Self { condition, page: PAGE, ..Self::of("schedule", column) }
    }

    /// The place of texts in a table outside of namespaces.
    const fn of_all(table: &'static str, column: &'static str, condition: &'static str) -> Self {
        Self { join: "", namespace: NOTHING, condition, ..Self::of(table, column) }
    }

    /// The statement that reads the rows after a key.
    /// Its values are the parts of that key, and the limit.
    fn sql(&self) -> String {
        let Self { table, column, join, condition, id, then, name, namespace, about, page: _ } =
            self;
        let (version, key, after, limit) = match then {
            KeyEnd::Nothing => ("0", (*id).to_owned(), "$1", "$2"),
            KeyEnd::Version => ("r.version", format!("{id}, r.version"), "$1, $2", "$3"),
            KeyEnd::Name => ("0", format!("{id}, r.name"), "$1, $2", "$3"),
        };
        format!(
            "SELECT {id} AS id, {version} AS version, {name} AS name, {namespace} AS namespace, \
               CAST(r.{column} AS text) AS json, {about} AS about \
             FROM \"{table}\" r {join} WHERE {condition} AND ({key}) > ({after}) \
             ORDER BY {key} LIMIT {limit}"
        )
    }
}

impl StoredKind {
    /// All kinds, in the order in which they are read.
    pub const ALL: [Self; 15] = [
        Self::Schedule,
        Self::ScheduleTags,
        Self::ScheduleCalendars,
        Self::Ping,
        Self::ScheduleVersion,
        Self::Workflow,
        Self::Calendar,
        Self::CalendarVersion,
        Self::Module,
        Self::AlertRule,
        Self::AlertChannel,
        Self::Quotas,
        Self::UserSettings,
        Self::UserGrants,
        Self::TokenQueues,
    ];

    fn source(self) -> Source {
        match self {
            Self::Schedule => Source {
                about: "r.zone",
                ..Source::of_schedule("expressions", "r.deleted_at IS NULL")
            },
            Self::ScheduleTags => Source::of_schedule("tags", "r.deleted_at IS NULL"),
            Self::ScheduleCalendars => {
                Source::of_schedule("calendars", "r.deleted_at IS NULL AND r.calendars IS NOT NULL")
            }
            Self::Ping => {
                Source::of_schedule("ping", "r.deleted_at IS NULL AND r.ping IS NOT NULL")
            }
            Self::ScheduleVersion => Source {
                join: "JOIN schedule s ON s.id = r.schedule_id \
                    JOIN namespace n ON n.id = s.namespace_id",
                condition: "s.deleted_at IS NULL",
                id: "r.schedule_id",
                then: KeyEnd::Version,
                name: "s.name",
                ..Source::of("schedule_version", "snapshot")
            },
            Self::Workflow => Source {
                join: "JOIN workflow w ON w.id = r.workflow_id \
                    JOIN namespace n ON n.id = w.namespace_id",
                condition: "w.deleted_at IS NULL",
                id: "r.workflow_id",
                then: KeyEnd::Version,
                name: "w.name",
                about: "CASE WHEN r.version = w.version THEN 'current' END",
                ..Source::of("workflow_version", "definition")
            },
            Self::Calendar => Source {
                condition: "r.deleted_at IS NULL",
                about: "r.mode",
                ..Source::of("calendar", "definition")
            },
            Self::CalendarVersion => Source {
                join: "JOIN calendar c ON c.id = r.calendar_id \
                    JOIN namespace n ON n.id = c.namespace_id",
                condition: "c.deleted_at IS NULL",
                id: "r.calendar_id",
                then: KeyEnd::Version,
                name: "c.name",
                about: "r.mode",
                ..Source::of("calendar_version", "definition")
            },
            Self::Module => Source {
                id: "r.namespace_id",
                then: KeyEnd::Name,
                page: MODULES_PAGE,
                ..Source::of("module", "declared")
            },
            Self::AlertRule => Source::of("alert_rule", "definition"),
            Self::AlertChannel => {
                Source { about: "r.kind", ..Source::of("alert_channel", "shown") }
            }
            Self::Quotas => Source::of_all("namespace", "quotas", "r.quotas IS NOT NULL"),
            Self::UserSettings => Source {
                join: "JOIN \"user\" u ON u.id = r.user_id",
                id: "r.user_id",
                name: "u.name",
                ..Source::of_all("user_setting", "settings", "1 = 1")
            },
            Self::UserGrants => {
                Source::of_all("user", "given_elsewhere", "r.given_elsewhere IS NOT NULL")
            }
            Self::TokenQueues => Source::of_all(
                "api_token",
                "queues",
                "r.queues IS NOT NULL AND r.revoked_at IS NULL",
            ),
        }
    }
}

impl Stored {
    /// Connects to the database. The file of a SQLite database must exist.
    pub async fn open(options: &Options) -> Result<Self, StoreError> {
        let single = DatabaseLocation::of(&options.url)?.open_one(options).await?;
        let dialect = Dialect::new(single.get_database_backend());
        Ok(Self { single, dialect })
    }

    /// Whether the schema can store this kind.
    /// An earlier schema may not: then no text of this kind is stored.
    pub async fn has(&self, kind: StoredKind) -> Result<bool, StoreError> {
        let Source { table, column, .. } = kind.source();
        Ok(SchemaManager::new(&self.single).has_column(table, column).await?)
    }

    /// Some texts of this kind, in the order of their keys, after the last one that was read.
    /// At the end, there are none. Texts of deleted objects are left out.
    pub async fn after(
        &self,
        kind: StoredKind,
        last: Option<&StoredText>,
    ) -> Result<Vec<StoredText>, StoreError> {
        let source = kind.source();
        let mut values: Vec<Value> = vec![last.map_or_else(Uuid::nil, |last| last.id).into()];
        match source.then {
            KeyEnd::Nothing => {}
            KeyEnd::Version => values.push(last.map_or(0, |last| last.version).into()),
            KeyEnd::Name => {
                values.push(last.map_or_else(String::new, |last| last.name.clone()).into());
            }
        }
        values.push(source.page.into());
        let statement = self.dialect.statement(source.sql(), values);
        Ok(StoredText::find_by_statement(statement).all(&self.single).await?)
    }

    /// The nodes that have not been declared dead.
    pub async fn nodes(&self) -> Result<Vec<StoredNode>, StoreError> {
        let sql = "SELECT name, version FROM node WHERE state = 'alive' ORDER BY name";
        let statement = self.dialect.statement(sql, []);
        Ok(StoredNode::find_by_statement(statement).all(&self.single).await?)
    }

    /// Closes the connection.
    pub async fn close(self) -> Result<(), StoreError> {
        Ok(self.single.close().await?)
    }
}
