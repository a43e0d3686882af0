use std::pin::Pin;

use serde_json::Value;

use crate::{Failure, Job};

/// What a task gives back, as JSON, in time.
pub type Running = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;

/// A function that jobs call by a name. The attributes [`task`](macro@crate::task) and
/// [`scheduled`](macro@crate::scheduled) make a type of the function's name that is one.
pub trait Task {
    /// What jobs call it.
    const NAME: &'static str;
    /// Where its jobs wait.
    const QUEUE: &'static str;
    /// When it runs.
    const SCHEDULES: &'static [Schedule];

    /// Runs the function with what the job brings.
    fn run(job: Job) -> Running;
}

/// When a task runs, as a module file has it; the texts are JSON.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Its name.
    pub name: &'static str,
    /// Its keys but its task.
    pub keys: &'static str,
    /// The keys of its task but the target.
    pub task_keys: &'static str,
    /// What the function gets; the run's context if there is none.
    pub input: Option<&'static str>,
}

/// A task, by what a worker and a program need of it.
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
