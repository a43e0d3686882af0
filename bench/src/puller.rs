//! A worker in its own process, with the Rust client. It records its jobs and their times itself:
//! the server's own account is not used.

use std::{
    process::Stdio,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, Result, ensure};
use carillon::{
    clock::Clock,
    target::{Target, Worker as ToWorker},
};
use carillon_worker::{Context, Failure, Program, Worker, task};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

const QUEUE: &str = "bench";

/// A worker, for the parent process.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// The server.
    #[arg(long)]
    url: String,
    /// A token for the queue.
    #[arg(long)]
    token: String,
    /// How many jobs it takes at once.
    #[arg(long)]
    capacity: usize,
}

/// A job that a worker received.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Handled {
    /// The run that it is an attempt of.
    pub(crate) run: String,
    /// When the fire was due.
    pub(crate) due_ms: i64,
    /// When the function began.
    pub(crate) at_ms: i64,
}

impl Handled {
    /// How many milliseconds after the due instant the function began.
    pub(crate) fn late_ms(&self) -> i64 {
        self.at_ms - self.due_ms
    }
}

static NOTES: Mutex<Vec<Handled>> = Mutex::new(Vec::new());

/// Records the job, and does nothing else.
#[task(queue = "bench")]
async fn note(job: Context) -> Result<(), Failure> {
    let at_ms = Clock::system().now().timestamp_millis();
    let due = job.scheduled_at().ok_or_else(|| Failure::permanent("the run has no instant"))?;
    let due_ms = due.timestamp_millis();
    let handled = Handled { run: job.run_id().to_owned(), due_ms, at_ms };
    NOTES.lock().unwrap_or_else(PoisonError::into_inner).push(handled);
    Ok(())
}

/// The target that hands a task to these workers.
pub(crate) fn target() -> Target {
    let (queue, task) = (QUEUE.to_owned(), "note".to_owned());
    Target::Worker(ToWorker { queue, task, input: None, tags: Vec::new() })
}

/// A worker in a process of its own.
#[derive(Debug)]
pub(crate) struct Puller {
    child: Child,
    pid: u32,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Puller {
    pub(crate) fn start(address: &str, token: &str, capacity: usize) -> Result<Self> {
        let program = std::env::current_exe().context("find this program")?;
        let mut child = Command::new(program)
            .args(["puller", "--url", &format!("http://{address}"), "--token", token])
            .args(["--capacity", &capacity.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start a worker")?;
        let pid = child.id().context("a worker that has just started has ended")?;
        let stdin = child.stdin.take().context("the worker's input")?;
        let lines = BufReader::new(child.stdout.take().context("its output")?).lines();
        Ok(Self { child, pid, stdin, lines })
    }

    /// The process of the puller.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// All jobs that it received. It takes no more.
    pub(crate) async fn stop(mut self) -> Result<Vec<Handled>> {
        drop(self.stdin);
        let notes = self.lines.next_line().await?.context("the worker says nothing")?;
        ensure!(self.child.wait().await?.success(), "the worker failed");
        serde_json::from_str(&notes).context("read what the worker noted")
    }
}

/// The code of that process: works until its input ends, and reports its jobs.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let program = Program::new("bench").with::<note>();
    let worker = Worker::new(&arguments.url, &arguments.token, &program);
    let worker = worker.capacity(arguments.capacity);
    let stopper = worker.stopper();
    tokio::task::spawn_blocking(move || {
        // If the input cannot be read, it has ended as well.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        stopper.stop();
    });
    worker.run().await?;
    let notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{}", serde_json::to_string(&*notes)?);
    Ok(())
}
