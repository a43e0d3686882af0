use std::{
    path::{Path, PathBuf},
    sync::Once,
};

use carillon::store::{Options, Store};
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, FromQueryResult};
use tempfile::TempDir;
use uuid::Uuid;

use super::postgres;

/// A migrated, empty database for the test.
pub(crate) struct TestDatabase {
    /// The URL for a server process.
    pub(crate) url: String,
    /// The same database, open in this process.
    pub(crate) store: Store,
    /// Declared after the store, so that it is dropped after the store.
    place: Place,
}

enum Place {
    Folder {
        _removed_when_dropped: TempDir,
    },
    Server {
        admin: String,
        name: String,
    },
    /// The caller removes the database.
    Elsewhere,
}

impl TestDatabase {
    /// Creates a database in a file, as a copy of the template.
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("carillon.db");
        std::fs::copy(template_file().await, &path).unwrap();
        let url = format!("sqlite:{}", path.display());
        let store = open(&url).await;
        Self { url, store, place: Place::Folder { _removed_when_dropped: folder } }
    }

    /// Creates a clone of the template on PostgreSQL.
    pub(crate) async fn postgres() -> Self {
        let admin = postgres::admin_url().to_owned();
        let name = format!("test_{}", Uuid::now_v7().simple());
        let connection = connect(&admin).await;
        let template = template(&connection, &admin).await;
        let clone = format!("CREATE DATABASE {name} TEMPLATE {template}");
        connection.execute_unprepared(&clone).await.unwrap();
        connection.close().await.unwrap();
        let url = postgres::with_database(&admin, &name);
        let store = open(&url).await;
        Self { url, store, place: Place::Server { admin, name } }
    }

    /// Opens a database that the caller created and will remove; migrates it if needed.
    pub(crate) async fn at(url: impl Into<String>) -> Self {
        let url = url.into();
        let store = open(&url).await;
        Self { url, store, place: Place::Elsewhere }
    }

    /// The whole content of the database as text: tests search it for data that must not be stored.
    pub(crate) async fn dump(&self) -> String {
        #[derive(FromQueryResult)]
        struct Row {
            text: String,
        }
        match &self.place {
            Place::Folder { _removed_when_dropped: folder } => {
                let files = std::fs::read_dir(folder.path()).unwrap();
                let read = |file: std::io::Result<std::fs::DirEntry>| {
                    std::fs::read(file.unwrap().path()).unwrap()
                };
                let bytes: Vec<u8> = files.flat_map(read).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Place::Server { .. } | Place::Elsewhere => {
                let ask = async |sql: &str| {
                    let statement = self.store.dialect().statement(sql, []);
                    Row::find_by_statement(statement).all(self.store.read()).await.unwrap()
                };
                let tables = "SELECT table_name::text AS text FROM information_schema.tables
                     WHERE table_schema = current_schema()";
                let mut dump = String::new();
                for table in ask(tables).await {
                    let rows = format!("SELECT t::text AS text FROM \"{}\" t", table.text);
                    dump.extend(ask(&rows).await.into_iter().map(|row| row.text + "\n"));
                }
                dump
            }
        }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (admin, name) = match &self.place {
            Place::Server { admin, name } => (admin.clone(), name.clone()),
            Place::Elsewhere | Place::Folder { .. } => return,
        };
        // This drop runs inside a runtime, which must not block on itself.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let connection = connect(&admin).await;
                let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                connection.execute_unprepared(&drop).await.unwrap();
            });
        });
        if dropped.join().is_err() && !std::thread::panicking() {
            panic!("could not drop the test's database");
        }
    }
}

async fn open(url: &str) -> Store {
    // The test harness shows the log of a test that fails.
    static LOG: Once = Once::new();
    LOG.call_once(|| {
        let log = tracing_subscriber::fmt().with_env_filter("warn,carillon=debug");
        log.with_ansi(false).with_test_writer().init();
    });
    Store::open(&Options::new(url)).await.unwrap()
}

async fn connect(url: &str) -> DatabaseConnection {
    let mut options = sea_orm::ConnectOptions::new(url);
    options.max_connections(1).sqlx_logging(false);
    Database::connect(options).await.unwrap()
}

/// The migrated database from which clones are made. The first process that needs it creates it,
/// under a lock, and gives it its name only once it is complete.
async fn template(connection: &DatabaseConnection, admin: &str) -> String {
    const LOCK: i64 = 0x6361_7269_6c6c_6f6e;
    let name = format!("template_{}", build());
    connection.execute_unprepared(&format!("SELECT pg_advisory_lock({LOCK})")).await.unwrap();
    let exists = format!("SELECT 1 FROM pg_database WHERE datname = '{name}'");
    let statement = sea_orm::Statement::from_string(sea_orm::DbBackend::Postgres, exists);
    if connection.query_one_raw(statement).await.unwrap().is_none() {
        let raw = format!("raw_{}", Uuid::now_v7().simple());
        connection.execute_unprepared(&format!("CREATE DATABASE {raw}")).await.unwrap();
        open(&postgres::with_database(admin, &raw)).await.close().await.unwrap();
        let rename = format!("ALTER DATABASE {raw} RENAME TO {name}");
        connection.execute_unprepared(&rename).await.unwrap();
    }
    connection.execute_unprepared(&format!("SELECT pg_advisory_unlock({LOCK})")).await.unwrap();
    name
}

/// The migrated file from which copies are made, because a copy takes far less time than all
/// migrations. A process that finds none creates it, and gives it its name only once it is
/// complete. It is in cargo's folder for the files of tests, which `cargo clean` removes.
async fn template_file() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let template = folder.join(format!("template_{}.db", build()));
    if !template.exists() {
        let making = tempfile::tempdir_in(folder).unwrap();
        let raw = making.path().join("raw.db");
        open(&format!("sqlite:{}", raw.display())).await.close().await.unwrap();
        std::fs::rename(raw, &template).unwrap();
    }
    template
}

/// A text that differs from build to build: a changed migration needs a new template.
fn build() -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let program = std::env::current_exe().unwrap();
    let metadata = program.metadata().unwrap();
    let mut hasher = DefaultHasher::new();
    (program, metadata.len(), metadata.modified().unwrap()).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
