//! Carillon as a server in a separate process. It runs the same code as the `carillon` binary,
//! because this program contains that code.

use std::{process::Stdio, time::Duration};

use anyhow::{Context, Result, ensure};
use carillon::{
    access::{Grants, NewToken, Viewer, ViewerKind, create_token},
    clock::Clock,
    store::Store,
};
use entity::user::Role;
use secrecy::ExposeSecret;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};
use uuid::Uuid;

use crate::graphql::Caller;

/// The argument that makes this program run as the server.
pub(crate) const PRODUCT: &str = "product";

/// The argument with which the server starts this program again, as the process that starts the
/// programs of tasks.
pub(crate) const STARTER: &str = "start-programs";

/// Maximum duration of a start, including migrations.
const PATIENCE: Duration = Duration::from_secs(60);

/// The quotas of the namespaces of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quotas {
    /// No quotas: only speed is measured.
    Unlimited,
    /// The quotas that a server has by default.
    Usual,
}

/// The settings that lift all quotas.
const UNLIMITED: [(&str, &str); 4] = [
    ("CARILLON_QUOTAS__SCHEDULES", "0"),
    ("CARILLON_QUOTAS__FIRES_A_MINUTE", "0"),
    ("CARILLON_QUOTAS__LIVE_RUNS", "0"),
    ("CARILLON_QUOTAS__LOG_BYTES_A_DAY", "0"),
];

/// A running server, which is killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pid: u32,
    address: String,
    /// An empty working directory, so that no configuration file is found.
    _folder: TempDir,
}

impl Server {
    /// Starts a server on a free port, with its default settings but without quotas.
    pub(crate) async fn start(clock: &Clock, url: &str, name: &str) -> Result<Self> {
        Self::start_with(clock, url, name, &[], Quotas::Unlimited).await
    }

    /// Starts a server with further flags and these quotas.
    pub(crate) async fn start_with(
        clock: &Clock,
        url: &str,
        name: &str,
        flags: &[&str],
        quotas: Quotas,
    ) -> Result<Self> {
        let program = std::env::current_exe().context("find this program")?;
        let folder = tempfile::tempdir().context("make a folder for a server")?;
        let mut child = Command::new(program)
            .args([PRODUCT, "serve", "--listen", "127.0.0.1:0", "--log-filter", "error"])
            .args(["--node-name", name, "--database-url", url])
            .args(flags)
            .envs(UNLIMITED.iter().copied().filter(|_| quotas == Quotas::Unlimited))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start a server")?;
        let pid = child.id().context("a server that has just started has ended")?;
        let output = child.stdout.take().context("read what the server prints")?;
        let mut lines = BufReader::new(output).lines();
        let ready = async {
            while let Some(line) = lines.next_line().await? {
                if let Some(address) = line.strip_prefix("Carillon is ready at http://") {
                    return Ok(address.to_owned());
                }
            }
            anyhow::bail!("the server {name} ended before it was ready")
        };
        let address =
            clock.timeout(PATIENCE, ready).await.context("the server does not start")??;
        Ok(Self { child, pid, address, _folder: folder })
    }

    /// The server's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// The address on which the server listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A connection that sends queries with `token`.
    pub(crate) async fn caller(&self, token: &str) -> Result<Caller> {
        Caller::connect(&self.address, token).await
    }

    /// Kills the server, as a power cut would.
    pub(crate) async fn kill(mut self) -> Result<()> {
        self.child.kill().await.context("kill a server")
    }
}

/// A token with all permissions.
pub(crate) async fn token(store: &Store, clock: &Clock) -> Result<String> {
    let viewer = Viewer::new(
        Uuid::nil(),
        "bench",
        ViewerKind::User,
        Grants::everywhere(Role::Admin),
        "bench",
    );
    let token = NewToken {
        name: "bench".to_owned(),
        role: Role::Admin,
        namespace: None,
        queues: vec![],
        expires_at: None,
    };
    let token = create_token(&viewer.owner()?, store, clock, token).await?;
    ensure!(!token.expose_secret().is_empty(), "the token is empty");
    Ok(token.expose_secret().to_owned())
}
