//! This program as a separate process, and the CPU and memory of processes, from `/proc`.

use std::fs;

use anyhow::{Context, Result, ensure};
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::process::Command;

/// Runs this program with other arguments, and parses its output.
pub(crate) async fn child<T: DeserializeOwned>(arguments: &[&str]) -> Result<T> {
    let program = std::env::current_exe().context("find this program")?;
    let child = Command::new(program)
        .args(arguments)
        .kill_on_drop(true)
        .output()
        .await
        .context("start a round")?;
    let errors = String::from_utf8_lossy(&child.stderr);
    ensure!(child.status.success(), "{}: {}", arguments.join(" "), errors.trim());
    serde_json::from_slice(&child.stdout).context("read what the round printed")
}

/// Clock ticks per second in `/proc/PID/stat`. The value is the same on every Linux architecture
/// that Carillon supports.
const TICKS: f64 = 100.0;

/// CPU seconds, in user mode and in the kernel.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Cpu {
    /// CPU of this process and its children, including those that have ended. It includes SQLite,
    /// which runs inside this process.
    pub(crate) own: f64,
    /// CPU of the database's processes.
    pub(crate) database: f64,
}

impl Cpu {
    /// The sum of both.
    pub(crate) fn total(self) -> f64 {
        self.own + self.database
    }

    /// The CPU used since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { own: self.own - earlier.own, database: self.database - earlier.database }
    }
}

/// Adds up the CPU time of Carillon's processes and of their database's.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    own: Vec<u32>,
    postmaster: Option<u32>,
}

impl Meter {
    /// A meter for this process and the database server behind `connection`, which must be on this
    /// machine.
    pub(crate) async fn of(connection: &impl ConnectionTrait) -> Result<Self> {
        Self::of_processes(connection, vec![std::process::id()]).await
    }

    /// A meter for other processes.
    pub(crate) async fn of_processes(
        connection: &impl ConnectionTrait,
        own: Vec<u32>,
    ) -> Result<Self> {
        if connection.get_database_backend() != DbBackend::Postgres {
            return Ok(Self { own, postmaster: None });
        }
        let ask = Statement::from_string(DbBackend::Postgres, "SELECT pg_backend_pid()");
        let row = connection.query_one_raw(ask).await?.context("ask for the backend's process")?;
        let backend: i32 = row.try_get_by_index(0)?;
        let stat = Stat::of(backend.unsigned_abs())
            .context("find the PostgreSQL server among this machine's processes")?;
        Ok(Self { own, postmaster: Some(stat.parent) })
    }

    /// The CPU time used so far.
    pub(crate) fn read(&self) -> Result<Cpu> {
        let mut ticks = 0;
        for process in &self.own {
            ticks += Stat::of(*process)?.all_ticks();
            // Programs are started by a child process. Once a program has ended, the child's
            // account includes it.
            ticks += children(*process)?
                .filter_map(|child| Stat::of(child).ok())
                .map(|s| s.all_ticks())
                .sum::<u64>();
        }
        let own = seconds(ticks);
        let Some(postmaster) = self.postmaster else { return Ok(Cpu { own, database: 0.0 }) };
        let server = Stat::of(postmaster)?;
        // Once a backend has ended, the postmaster's account of its children includes it.
        let mut ticks = server.own_ticks + server.ended_children_ticks;
        let children = fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"))
            .context("list the server's processes")?;
        for child in children.split_ascii_whitespace() {
            // A backend that ends at this moment is counted with its parent next time.
            ticks += Stat::of(child.parse()?).map_or(0, |stat| stat.own_ticks);
        }
        Ok(Cpu { own, database: seconds(ticks) })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of hundredths of a second")]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / TICKS
}

/// The children of all threads of a process that have not ended.
fn children(process: u32) -> Result<impl Iterator<Item = u32>> {
    let tasks = format!("/proc/{process}/task");
    let tasks = fs::read_dir(&tasks).with_context(|| format!("read {tasks}"))?;
    let texts = tasks.flatten().map(|task| fs::read_to_string(task.path().join("children")));
    // A thread that ends at this moment has no readable file.
    let texts: Vec<String> = texts.filter_map(Result::ok).collect();
    let children: Vec<u32> = texts
        .iter()
        .flat_map(|text| text.split_ascii_whitespace())
        .filter_map(|id| id.parse().ok())
        .collect();
    Ok(children.into_iter())
}

struct Stat {
    parent: u32,
    own_ticks: u64,
    ended_children_ticks: u64,
}

impl Stat {
    fn all_ticks(&self) -> u64 {
        self.own_ticks + self.ended_children_ticks
    }

    fn of(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        Self::parse(&text).with_context(|| format!("understand {path}"))
    }

    /// Parses the file. The second field is the command's name in parentheses and may contain any
    /// characters; all fields after it are numbers, except the first.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own_ticks: number(11)? + number(12)?,
            ended_children_ticks: number(13)? + number(14)?,
        })
    }
}

/// Resets the peak of this process's memory.
pub(crate) fn forget_peak_memory() -> Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("reset the peak of memory")
}

/// The peak memory of this process, in megabytes.
pub(crate) fn peak_memory_mb() -> Result<f64> {
    memory_of("self", "VmHWM:")
}

/// The memory of a process, in megabytes.
pub(crate) fn memory_mb(process: u32) -> Result<f64> {
    memory_of(&process.to_string(), "VmRSS:")
}

fn memory_of(process: &str, field: &str) -> Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<f64>().ok());
    Ok(kilobytes.with_context(|| format!("find {field} in {path}"))? / 1024.0)
}

/// The CPU seconds that a process has used, in user mode and in the kernel.
pub(crate) fn cpu_seconds(process: u32) -> Result<f64> {
    Ok(seconds(Stat::of(process)?.own_ticks))
}

/// The CPU seconds of this process's children that have ended, and of their children.
pub(crate) fn ended_children_seconds() -> Result<f64> {
    Ok(seconds(Stat::of(std::process::id())?.ended_children_ticks))
}

/// The machine's load over the last minute.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN)
}

/// A description of the machine, as its kernel reports it.
pub(crate) fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!("{cores} x {}", model.map_or("unknown", |(_, name)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let text = "7 (a) b (c)) S 3 1 1 0 -1 0 1 2 3 4 250 50 10 5 20 0";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.parent, stat.own_ticks, stat.ended_children_ticks), (3, 300, 15));
    }
}
