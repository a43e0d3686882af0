//! A worker in its own process, with the Rust client. The worker itself records its jobs and their
//! times, because the server's account would be no independent evidence.

use std::{
    process::Stdio,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, Result, ensure};
use carillon::{
    clock::Clock,
    target::{Target, WorkerTarget},
};
use carillon_worker::{Context, Failure, Program, Worker, task};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

const QUEUE: &str = "bench";

/// Arguments of the worker's process, which the parent process starts.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// The server's URL.
    #[arg(long)]
    url: String,
    /// A token for the queue.
    #[arg(long)]
    token: String,
    /// How many jobs the worker takes at once.
    #[arg(long)]
    capacity: usize,
}

/// A job that a worker received.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Handled {
    /// The run that the job belongs to.
    pub(crate) run: String,
    /// When the fire was due.
    pub(crate) due_ms: i64,
    /// When the job's function began.
    pub(crate) at_ms: i64,
}

impl Handled {
    /// How many milliseconds after the due instant the function began.
    pub(crate) fn late_ms(&self) -> i64 {
        self.at_ms - self.due_ms
    }
}

static NOTES: Mutex<Vec<Handled>> = Mutex::new(Vec::new());

/// The function of the job: records the job, and does nothing else.
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
    Target::Worker(WorkerTarget { queue, task, input: None, tags: Vec::new() })
}

/// A worker in its own process.
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

    /// The id of the worker's process.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Stops the worker, and returns all jobs that it received.
    pub(crate) async fn stop(mut self) -> Result<Vec<Handled>> {
        drop(self.stdin);
        let notes = self.lines.next_line().await?.context("the worker says nothing")?;
        ensure!(self.child.wait().await?.success(), "the worker failed");
        serde_json::from_str(&notes).context("read what the worker noted")
    }
}

/// The main function of the worker's process: works until its input ends, and reports its jobs.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let program = Program::new("bench").with::<note>();
    let worker = Worker::new(&arguments.url, &arguments.token, &program);
    let worker = worker.capacity(arguments.capacity);
    let stopper = worker.stopper();
    tokio::task::spawn_blocking(move || {
        // An error means that the input has ended, too.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        stopper.stop();
    });
    worker.run().await?;
    let notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{}", serde_json::to_string(&*notes)?);
    Ok(())
}
