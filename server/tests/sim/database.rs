//! A database for each seed: on SQLite a copy of a migrated file, in memory if the system has a
//! folder for that; on PostgreSQL a clone of a template.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
    sync::atomic::{AtomicU64, Ordering},
};

use carillon::store::{Migrations, Options, Store};
use entity::namespace;
use sea_orm::{ActiveModelTrait, IntoActiveModel};
use tempfile::TempDir;
use uuid::Uuid;

use super::{eras, moments, removals, support::TestDatabase, witness};

/// The namespace of all simulated schedules.
pub(crate) const NAMESPACE: &str = "sim";

/// The kind of database that a seed uses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// An empty database with a namespace and the triggers of the witness.
pub(crate) struct Database {
    pub(crate) store: Store,
    _place: Place,
}

enum Place {
    File(PathBuf),
    Server { _dropped_with_its_data: Box<TestDatabase> },
}

impl Database {
    pub(crate) async fn new(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self::sqlite().await,
            Kind::Postgres => Self::postgres().await,
        }
    }

    async fn sqlite() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let template = template();
        let name = format!("{}.db", NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = template.with_file_name(name);
        std::fs::copy(template, &path).unwrap();
        Self { store: open(&path, Migrations::Refuse).await, _place: Place::File(path) }
    }

    async fn postgres() -> Self {
        let database = TestDatabase::postgres().await;
        let store = database.store.clone();
        furnish(&store).await;
        Self { store, _place: Place::Server { _dropped_with_its_data: Box::new(database) } }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::File(path) = self {
            for end in ["", "-wal", "-shm"] {
                let mut path = path.clone().into_os_string();
                path.push(end);
                // The database may not exist.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// The migrated file from which all others are copied, in a folder that is removed with the
/// process.
fn template() -> &'static PathBuf {
    static TEMPLATE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let make = || {
        let memory = PathBuf::from("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.unwrap();
        let path = folder.path().join("template");
        let made = path.clone();
        // The caller is inside a runtime, so another thread creates the file.
        let making = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let store = open(&made, Migrations::Apply).await;
                furnish(&store).await;
                store.close().await.unwrap();
            });
        });
        making.join().unwrap();
        (folder, path)
    };
    &TEMPLATE.get_or_init(make).1
}

async fn open(path: &Path, migrations: Migrations) -> Store {
    let url = format!("sqlite:{}", path.display());
    let options = Options { connections: 1, migrations, ..Options::new(url) };
    Store::open(&options).await.unwrap()
}

async fn furnish(store: &Store) {
    let tx = store.begin().await.unwrap();
    let row = namespace::Model {
        id: Uuid::from_u128(1),
        name: NAMESPACE.to_owned(),
        retention_days: None,
        quotas: None,
        created_at: entity::Timestamp(0),
        deleted_at: None,
        deleted_by: None,
        deleted_name: None,
        purged_at: None,
    };
    row.into_active_model().insert(&tx).await.unwrap();
    witness::install(store, &tx).await;
    moments::install(store, &tx).await;
    removals::install(store, &tx).await;
    eras::install(store, &tx).await;
    store.commit(tx).await.unwrap();
}
