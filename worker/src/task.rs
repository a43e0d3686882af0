use std::{fmt, pin::Pin};

use serde_json::Value;

use crate::{Failure, Job};

/// The result of a task as JSON, once it has run.
pub type Running = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;

/// A function that jobs call by name. The attributes [`task`](macro@crate::task) and
/// [`scheduled`](macro@crate::scheduled) generate a type with the function's name that implements
/// this trait.
pub trait Task {
    /// The name by which jobs call the function.
    const NAME: &'static str;
    /// The queue in which the function's jobs wait.
    const QUEUE: &'static str;
    /// The function's schedules.
    const SCHEDULES: &'static [Schedule];

    /// Runs the function with the job's input.
    fn run(job: Job) -> Running;
}

/// A schedule of a task, as in a module file; the texts are JSON.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The schedule's name.
    pub name: &'static str,
    /// The schedule's keys, except its task.
    pub keys: &'static str,
    /// The keys of the schedule's task, except the target.
    pub task_keys: &'static str,
    /// The function's input; the run's context if there is none.
    pub input: Option<&'static str>,
    /// The tags that workers must have to take the schedule's jobs.
    pub worker_tags: &'static [&'static str],
}

/// The properties of a task that a worker and a program need.
#[derive(Clone, Copy)]
pub(crate) struct Declared {
    pub(crate) name: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) schedules: &'static [Schedule],
    pub(crate) run: fn(Job) -> Running,
}

impl Declared {
    pub(crate) fn of<T: Task>() -> Self {
        Self { name: T::NAME, queue: T::QUEUE, schedules: T::SCHEDULES, run: T::run }
    }
}

/// Starts the work of a job; there is none if no task has the name that the job calls.
pub(crate) struct Handler(Box<dyn Fn(Job) -> Option<Running> + Send + Sync>);

impl Handler {
    pub(crate) fn new(start: impl Fn(Job) -> Option<Running> + Send + Sync + 'static) -> Self {
        Self(Box::new(start))
    }

    pub(crate) fn start(&self, job: &Job) -> Option<Running> {
        (self.0)(job.clone())
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Handler")
    }
}
