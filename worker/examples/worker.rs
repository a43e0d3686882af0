//! A program that declares its own schedule: it deploys its declarations, and works on jobs.
//!
//! `cargo run -p carillon-worker --example worker -- URL DEPLOY_TOKEN WORKER_TOKEN`

use std::process::ExitCode;

use carillon_worker::{Context, Error, Failure, Program, Worker, scheduled, task};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Day {
    day: String,
}

#[derive(Serialize)]
struct Sent {
    day: String,
    attempt: u32,
}

/// Runs every night, for the day that has ended.
#[scheduled(
    cron = "0 2 * * *",
    zone = "Europe/Berlin",
    overlap = "skip",
    queue = "emails",
    input = r#"{ "day": "{{ context.day | default(scheduled_at[:10]) }}" }"#,
    attempts = 3
)]
async fn send_report(input: Day, context: Context) -> Result<Sent, Failure> {
    context.log(format!("sending {}", input.day));
    Ok(Sent { day: input.day, attempt: context.attempt() })
}

#[derive(Deserialize)]
struct Letter {
    address: String,
}

/// Runs jobs of schedules that users create.
#[task(queue = "emails")]
async fn send_one(letter: Letter) -> Result<(), Failure> {
    if letter.address.contains('@') {
        return Ok(());
    }
    Err(Failure::permanent(format!("{} is not an address", letter.address)))
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(deploy_token), Some(worker_token)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: worker URL DEPLOY_TOKEN WORKER_TOKEN");
        return ExitCode::from(2);
    };
    match run(&url, &deploy_token, &worker_token).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Deploys the declarations, and works until SIGTERM.
pub(crate) async fn run(url: &str, deploy_token: &str, worker_token: &str) -> Result<(), Error> {
    let program = Program::new("example").with::<send_report>().with::<send_one>();
    program.deploy(url, deploy_token).await?;
    Worker::new(url, worker_token, &program).capacity(4).run().await
}
