//! Runs tasks of Carillon in Rust, and declares their schedules beside the code.
//!
//! ```no_run
//! use carillon_worker::{Context, Failure, Program, Worker, scheduled, task};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize)]
//! struct Day {
//!     day: String,
//! }
//!
//! #[derive(Serialize)]
//! struct Sent {
//!     count: u32,
//! }
//!
//! #[scheduled(cron = "0 2 * * *", zone = "Europe/Berlin", overlap = "skip", queue = "emails",
//!     input = r#"{ "day": "{{ scheduled_at[:10] }}" }"#, attempts = 3)]
//! async fn send_report(input: Day, context: Context) -> Result<Sent, Failure> {
//!     context.log(format!("for {}", input.day));
//!     Ok(Sent { count: 1 })
//! }
//!
//! #[task(queue = "emails")]
//! async fn send_one(address: String) -> Result<(), Failure> {
//!     if !address.contains('@') {
//!         return Err(Failure::permanent(format!("{address} is not an address")));
//!     }
//!     Ok(())
//! }
//!
//! # async fn run(url: &str, deploy_token: &str, worker_token: &str) -> Result<(), carillon_worker::Error> {
//! let program = Program::new("mailer").with::<send_report>().with::<send_one>();
//! program.deploy(url, deploy_token).await?;
//! Worker::new(url, worker_token, &program).capacity(8).run().await
//! # }
//! ```
//!
//! # Compile-time checks
//!
//! The attributes report these mistakes at compile time: an expression that cannot be parsed and an
//! unknown zone, both checked by the calculator that the server uses; and arguments that a task
//! cannot have:
//!
//! ```compile_fail
//! # use carillon_worker::{Failure, scheduled};
//! #[scheduled(cron = "0 25 * * *", queue = "emails")]
//! async fn at_25_o_clock() -> Result<(), Failure> { Ok(()) }
//! ```
//!
//! ```compile_fail
//! # use carillon_worker::{Failure, scheduled};
//! #[scheduled(cron = "0 2 * * *", zone = "Europe/Berlim", queue = "emails")]
//! async fn in_a_typo() -> Result<(), Failure> { Ok(()) }
//! ```
//!
//! ```compile_fail
//! # use carillon_worker::{Failure, task};
//! #[task(queue = "emails")]
//! async fn from_no_json(thread: std::thread::Thread) -> Result<(), Failure> { Ok(()) }
//! ```
//!
//! ```compile_fail
//! # use carillon_worker::{Failure, task};
//! #[task(queue = "emails")]
//! async fn to_no_json() -> Result<std::thread::Thread, Failure> { Ok(std::thread::current()) }
//! ```
//!
//! ```compile_fail
//! # use carillon_worker::{Failure, scheduled};
//! #[scheduled(cron = "@daily", queue = "emails")]
//! #[scheduled(cron = "@hourly")]
//! async fn two_of_one_name() -> Result<(), Failure> { Ok(()) }
//! ```
//!
//! ```
//! # use carillon_worker::{Failure, scheduled};
//! #[scheduled(cron = ["0 2 * * *", "@every 6h"], zone = "Europe/Berlin", queue = "emails")]
//! #[scheduled(cron = "@hourly", schedule = "often", tags = ["eu"], worker_tags = ["gpu"],
//!     retry = r#"{ "max_attempts": 3, "initial": "10s" }"#)]
//! async fn all_is_well() -> Result<(), Failure> { Ok(()) }
//! ```
//!
//! # The modules
//!
//! - `task`: the code that the attributes generate for a function
//! - `program`: the declarations as one module of the server
//! - `worker`: the settings of a worker; `loops`: pull jobs and renew their leases;
//!   `answers`: what the server answers
//! - `job`, `joblog`: a job in progress, and its log lines
//! - `reports`: how jobs ended, many in one request
//! - `http`: requests, with retries after errors that may be temporary

mod answers;
mod error;
mod http;
mod job;
mod joblog;
mod loops;
mod program;
mod reports;
mod task;
mod worker;

pub use carillon_worker_macros::{scheduled, task};

pub use crate::{
    error::{ApiError, Error, Failure},
    job::{Context, Job},
    joblog::Stream,
    program::{Change, Program},
    task::{Running, Schedule, Task},
    worker::{Stopper, Worker},
};
