use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use carillon::clock::Clock;
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tempfile::TempDir;
use tokio::{
    net::TcpStream,
    process::{Child, Command},
};

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// A process that listens on 127.0.0.1. Dropping this value kills it and its child processes.
#[derive(Debug)]
pub(super) struct Daemon {
    child: Child,
    /// The daemon's process group; `None` once it has been ended.
    group: Option<Pid>,
    pub(super) ports: Vec<u16>,
    /// The folder. It is declared after the process, so that it is removed after the process has
    /// ended.
    folder: TempDir,
}

impl Daemon {
    /// Starts a daemon on that many free ports; the first port is the one to connect to.
    pub(super) async fn start(
        clock: &Clock,
        ports: usize,
        command: impl FnOnce(&Path, &[u16]) -> Result<std::process::Command>,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("carillon-broker-").tempdir()?;
        let ports = free_ports(ports)?;
        let inner = command(folder.path(), &ports)?;
        let output = std::fs::File::create(folder.path().join("output"))?;
        // The kernel stops the broker if this program is killed.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.current_dir(folder.path()).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().context("start a broker")?;
        let id = child.id().context("a broker that has just started has ended")?;
        let group = Some(Pid::from_raw(id.cast_signed()));
        let mut daemon = Self { child, group, ports, folder };
        daemon
            .until(clock, async |daemon| {
                Ok(TcpStream::connect(("127.0.0.1", daemon.port())).await.is_ok())
            })
            .await?;
        Ok(daemon)
    }

    /// Waits until `is_ready` says that the broker is ready.
    pub(super) async fn until(
        &mut self,
        clock: &Clock,
        is_ready: impl AsyncFn(&Self) -> Result<bool>,
    ) -> Result<()> {
        let began = clock.instant();
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("the broker ended by itself, {status}: {}", self.printed());
            }
            if is_ready(self).await? {
                return Ok(());
            }
            ensure!(began.elapsed() < PATIENCE, "the broker is not ready: {}", self.printed());
            clock.sleep(POLL).await;
        }
    }

    /// Ends the process as a power failure would, and waits until it is gone.
    pub(super) async fn stop(mut self) -> Result<()> {
        self.kill();
        self.child.wait().await?;
        Ok(())
    }

    fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }

    /// The port to connect to.
    pub(super) fn port(&self) -> u16 {
        self.ports[0]
    }

    /// The address to connect to, as written in a definition.
    pub(super) fn server(&self) -> String {
        format!("127.0.0.1:{}", self.port())
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The output of the daemon so far.
    pub(super) fn printed(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("output")).unwrap_or_default()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ports that are free at the time of the call.
fn free_ports(count: usize) -> Result<Vec<u16>> {
    let listeners: Result<Vec<TcpListener>, _> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    listeners?.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// The path of a program that the scripts install into the repository, or else its bare name.
pub(super) fn tool(name: &str) -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(".tools");
    let found = ["bin", "venv/bin"].map(|folder| tools.join(folder).join(name));
    found.into_iter().find(|path| path.exists()).unwrap_or_else(|| name.into())
}

/// Whether a program can be started with these arguments and exits successfully.
pub(super) async fn runs(program: &str, words: &[&str]) -> bool {
    output(program, words).await.is_ok()
}

/// The output of a program.
pub(super) async fn output(program: &str, words: &[&str]) -> Result<String> {
    let mut command = Command::new(tool(program));
    let output = command.args(words).stdin(Stdio::null()).kill_on_drop(true).output().await;
    let output = output.with_context(|| format!("start {program}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program}: {}", errors.trim());
    Ok(String::from_utf8(output.stdout)?)
}
