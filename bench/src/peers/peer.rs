use std::{process::Stdio, time::Duration};

use anyhow::{Context, Result, ensure};
use carillon::clock::Clock;
use chrono::DateTime;
use serde::{Deserialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use super::Arguments;
use crate::{
    database::Fresh,
    process::{Cpu, Meter},
};

/// The result of another scheduler's storm.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The peer's name with its version.
    pub(super) name: String,
    /// The seconds from the due instant to the last record, or to the limit.
    pub(super) seconds: f64,
    /// Number of schedules that ran to their end in that time.
    pub(super) done: usize,
    /// The seconds from the due instant to the first record, if there was one.
    pub(super) first: Option<f64>,
    /// CPU of the peer's process and of the database in that time, including the peer's own
    /// progress queries.
    pub(super) cpu: Cpu,
}

#[expect(clippy::cast_precision_loss, reason = "counts of schedules")]
impl Outcome {
    /// Schedules per second, counting only those that completed within the limit.
    pub(super) fn rate(&self) -> f64 {
        self.done as f64 / self.seconds
    }

    /// Schedules per CPU second.
    pub(super) fn thrift(&self) -> f64 {
        self.done as f64 / self.cpu.total()
    }
}

/// The line that the peer prints when all schedules are registered.
#[derive(Debug, Deserialize)]
struct Ready {
    name: String,
    version: String,
    due_ms: i64,
}

/// The line that the peer prints when the storm is over.
#[derive(Debug, Deserialize)]
struct Over {
    seconds: f64,
    done: usize,
    first_seconds: Option<f64>,
}

/// Additional time for the peer to register schedules, and to report the result.
const PATIENCE: Duration = Duration::from_secs(60);

/// Performs one storm of the other scheduler.
pub(super) async fn storm(arguments: &Arguments, clock: &Clock, fresh: &Fresh) -> Result<Outcome> {
    let limit = Duration::from_secs(arguments.limit);
    let mut child = Command::new(&arguments.program)
        .args(["--url", &fresh.url])
        .args(["--schedules", &arguments.schedules.to_string()])
        .args(["--limit-seconds", &arguments.limit.to_string()])
        .args(&arguments.options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("start {}", arguments.program.display()))?;
    let pid = child.id().context("it has ended already")?;
    let output = child.stdout.take().context("read what it prints")?;
    let mut lines = BufReader::new(output).lines();

    let ready: Ready = line(clock, PATIENCE, &mut lines).await.context("register schedules")?;
    let aside = fresh.connect().await?;
    let meter = Meter::of_processes(&aside, vec![pid]).await?;
    let due = DateTime::from_timestamp_millis(ready.due_ms).context("it is due at no instant")?;
    clock.sleep_until(due).await;
    let began = meter.read()?;
    let over: Over = line(clock, limit + PATIENCE, &mut lines).await.context("wait for its end")?;
    let cpu = meter.read()?.since(began);
    ensure!(over.done <= arguments.schedules, "{} of {} done", over.done, arguments.schedules);
    aside.close().await?;
    end(clock, child).await?;
    Ok(Outcome {
        name: format!("{} {}", ready.name, ready.version),
        seconds: over.seconds,
        done: over.done,
        first: over.first_seconds,
        cpu,
    })
}

/// The next line that the peer prints.
async fn line<T: DeserializeOwned>(
    clock: &Clock,
    limit: Duration,
    lines: &mut Lines<BufReader<ChildStdout>>,
) -> Result<T> {
    let line = clock
        .timeout(limit, lines.next_line())
        .await
        .with_context(|| format!("it says nothing for {limit:?}"))??
        .context("it ended before")?;
    serde_json::from_str(&line).with_context(|| format!("understand {line:?}"))
}

/// Ends the process by closing its input.
async fn end(clock: &Clock, mut child: Child) -> Result<()> {
    drop(child.stdin.take());
    let status = clock.timeout(PATIENCE, child.wait()).await.context("it does not end")??;
    ensure!(status.success(), "it ended with {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storms_beyond_the_limit_do_not_count_as_done() {
        let over: Over =
            serde_json::from_str(r#"{"seconds": 120.0, "done": 60, "first_seconds": null}"#)
                .unwrap();
        let outcome = Outcome {
            name: "slow 1.0".to_owned(),
            seconds: over.seconds,
            done: over.done,
            first: over.first_seconds,
            cpu: Cpu { own: 10.0, database: 20.0 },
        };
        assert_eq!((outcome.rate(), outcome.thrift()), (0.5, 2.0));
    }
}
