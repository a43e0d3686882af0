use std::{
    path::Path,
    process::{Child, Stdio},
    time::Duration,
};

use carillon::clock::Clock;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};
use tempfile::TempDir;

use super::{
    postgres::{as_ordinary_user, programs},
    process::free_port,
};

/// A primary and a synchronous standby: committed data is on both. Both servers end with the test's
/// thread, however the thread ends.
pub(crate) struct Replicas {
    first: Replica,
    second: Replica,
    folder: TempDir,
}

struct Replica {
    port: u16,
    process: Child,
}

impl Replicas {
    /// Starts both servers; the first one is the primary.
    pub(crate) async fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("carillon-replicas-").tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let initdb = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "-D"];
        run(folder.path(), "initdb", &[&initdb[..], &[path(&first)]].concat());
        let primary = Replica::start(folder.path(), &first);
        let admin = primary.admin().await;
        admin.execute_unprepared("CREATE DATABASE carillon").await.unwrap();
        let port = primary.port.to_string();
        let from = ["-h", "127.0.0.1", "-U", "postgres", "-p", &port, "-R", "-X", "stream"];
        let to = ["--checkpoint=fast", "--no-sync", "-D", path(&second)];
        run(folder.path(), "pg_basebackup", &[&from[..], &to].concat());
        let standby = Replica::start(folder.path(), &second);
        standby.admin().await.close().await.unwrap();
        for sql in ["ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"] {
            admin.execute_unprepared(sql).await.unwrap();
        }
        // From here on, the primary acknowledges only commits that the standby has.
        until(&admin, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").await;
        admin.close().await.unwrap();
        Self { first: primary, second: standby, folder }
    }

    /// A URL with the addresses of both servers, the standby's first.
    pub(crate) fn url(&self) -> String {
        format!(
            "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/carillon?target_session_attrs=read-write",
            self.second.port, self.first.port
        )
    }

    /// A URL with the address of the standby only.
    pub(crate) fn url_of_standby(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/carillon", self.second.port)
    }

    pub(crate) fn port_of_primary(&self) -> u16 {
        self.first.port
    }

    /// Ends the primary as a power failure would.
    pub(crate) fn kill_primary(&mut self) {
        self.first.end(Signal::SIGQUIT);
    }

    /// Promotes the standby, even if the first server still believes that it is the primary.
    pub(crate) async fn promote_standby(&self) {
        let admin = self.second.admin().await;
        admin.execute_unprepared("SELECT pg_promote()").await.unwrap();
        until(&admin, "SELECT 1 WHERE NOT pg_is_in_recovery()").await;
        admin.close().await.unwrap();
    }

    /// Starts the first server again at its address, with its old data, as a standby.
    pub(crate) async fn revive_first_as_standby(&mut self) {
        let data = self.folder.path().join("first");
        std::fs::write(data.join("standby.signal"), "").unwrap();
        self.first.process = Replica::launch(self.folder.path(), &data, self.first.port);
        self.first.admin().await.close().await.unwrap();
    }
}

impl Replica {
    fn start(folder: &Path, data: &Path) -> Self {
        let port = free_port();
        Self { port, process: Self::launch(folder, data, port) }
    }

    fn launch(folder: &Path, data: &Path, port: u16) -> Child {
        let mut command = as_ordinary_user(folder);
        // However this thread ends, the kernel stops the server.
        command.args(["setpriv", "--pdeathsig", "QUIT"]).arg(programs().join("postgres"));
        command.args(["-D", path(data), "-c", &format!("port={port}")]);
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]);
        command.args(["-c", &format!("unix_socket_directories={}", path(folder))]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.current_dir("/").spawn().unwrap()
    }

    /// A superuser's connection, as soon as the server accepts one.
    async fn admin(&self) -> DatabaseConnection {
        let clock = Clock::system();
        let patience = tokio::time::timeout(Duration::from_secs(60), async {
            loop {
                if let Ok(connection) = connect(self.port, "postgres").await {
                    return connection;
                }
                clock.sleep(Duration::from_millis(10)).await;
            }
        });
        patience.await.expect("PostgreSQL starts")
    }

    fn end(&mut self, signal: Signal) {
        // The process may have ended already.
        let _ = kill(Pid::from_raw(self.process.id().cast_signed()), signal);
        let _ = self.process.wait();
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.end(Signal::SIGQUIT);
    }
}

async fn connect(port: u16, database: &str) -> Result<DatabaseConnection, sea_orm::DbErr> {
    let url = format!("postgres://postgres@127.0.0.1:{port}/{database}");
    let mut options = sea_orm::ConnectOptions::new(url);
    options.max_connections(1).sqlx_logging(false);
    Database::connect(options).await
}

/// Repeats a query until it returns a row.
async fn until(connection: &DatabaseConnection, sql: &str) {
    let there = tokio::time::timeout(Duration::from_secs(60), async {
        let ask = || Statement::from_string(DbBackend::Postgres, sql);
        while connection.query_one_raw(ask()).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    });
    there.await.unwrap_or_else(|_| panic!("waited in vain: {sql}"));
}

fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let mut command = as_ordinary_user(folder);
    command.arg(programs().join(program)).args(arguments).current_dir("/");
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
