//! A worker and its settings.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Job, Program, Running,
    http::{CLIENT, Http},
    loops::Loops,
    task::Handler,
};

const PROTOCOL: u32 = 1;

/// Pulls jobs and runs their functions, until the process is asked to stop.
#[derive(Debug)]
pub struct Worker {
    url: String,
    token: String,
    name: Option<String>,
    queues: BTreeSet<String>,
    tags: Vec<String>,
    capacity: usize,
    version: String,
    grace: Duration,
    patience: Duration,
    stopping: CancellationToken,
    program: Program,
    handler: Option<Handler>,
}

/// A handle that asks a worker to stop. It can be used anywhere.
#[derive(Clone, Debug)]
pub struct Stopper(CancellationToken);

impl Stopper {
    /// Asks the worker to stop, like SIGTERM: it takes no more jobs, gives the current ones a grace
    /// period, and then leaves.
    pub fn stop(&self) {
        self.0.cancel();
    }
}

impl Worker {
    /// A worker for the queues of the program's tasks, with eight jobs at once.
    #[must_use]
    pub fn new(url: impl Into<String>, token: impl Into<String>, program: &Program) -> Self {
        Self {
            url: url.into(),
            token: token.into(),
            name: None,
            queues: program.tasks.values().map(|task| task.queue.to_owned()).collect(),
            tags: Vec::new(),
            capacity: 8,
            version: String::new(),
            grace: Duration::from_secs(30),
            patience: Duration::from_secs(5),
            stopping: CancellationToken::new(),
            program: program.clone(),
            handler: None,
        }
    }

    /// Sets the worker's name, instead of the host's name and the process id.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Takes jobs from these queues only.
    #[must_use]
    pub fn queues<S: Into<String>>(mut self, queues: impl IntoIterator<Item = S>) -> Self {
        self.queues = queues.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the tags that jobs may require.
    #[must_use]
    pub fn tags<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the maximum number of jobs at once.
    #[must_use]
    pub fn capacity(mut self, capacity: usize) -> Self {
        self.capacity = capacity;
        self
    }

    /// Sets the program's version, for display.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets how long the current jobs may continue once the worker is asked to stop.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how long a function may continue after it was asked to stop, before its future is
    /// dropped: five seconds if this is not called.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Hands every job to this function, whatever task it calls, instead of to the program's tasks.
    /// The queues must then be named.
    #[must_use]
    pub fn handler(mut self, handler: impl Fn(Job) -> Running + Send + Sync + 'static) -> Self {
        let handler = Arc::new(handler);
        self.handler = Some(Handler::new(move |job| {
            let handler = handler.clone();
            // The function is called within the job's work, so that its panic fails the job.
            let running: Running = Box::pin(async move { handler(job).await });
            Some(running)
        }));
        self
    }

    /// A handle that asks the worker to stop.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stopping.clone())
    }

    /// Works until SIGTERM, SIGINT or its stopper asks it to stop, and the current jobs have ended.
    ///
    /// # Errors
    ///
    /// A permanent error: an invalid token, a queue that the token gives no access to, a server
    /// with another protocol.
    pub async fn run(self) -> Result<(), Error> {
        self.program.check()?;
        if self.queues.is_empty() {
            let problem = "a worker without queues: give the program a task, or name the queues";
            return Err(Error::Setting(problem.to_owned()));
        }
        let host = hostname::get().unwrap_or_default();
        let pid = std::process::id();
        let name = self.name.unwrap_or_else(|| format!("{}-{pid}", host.to_string_lossy()));
        let registration = json!({
            "protocol": PROTOCOL, "namespace": self.program.namespace(), "name": name,
            "queues": self.queues, "tags": self.tags, "capacity": self.capacity,
            "version": self.version, "client": CLIENT,
        });
        let http = Http::new(&self.url, &self.token)?;
        let tasks = self.program.tasks;
        let of_program = move |job: Job| tasks.get(job.task()).map(|task| (task.run)(job.clone()));
        let handler = self.handler.unwrap_or_else(|| Handler::new(of_program));
        let (capacity, patience) = (self.capacity, self.patience);
        let loops = Loops::new(http, registration, capacity, handler, patience, self.stopping);
        Arc::new(loops).run(self.grace).await
    }
}
