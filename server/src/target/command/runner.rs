use std::{io, time::Duration};

use serde_json::Value;
use tokio::{
    io::AsyncWriteExt,
    join,
    process::{Child, ChildStdin},
    select,
};
use tokio_util::sync::CancellationToken;

use super::{
    capture::Capture,
    definition::Command,
    ending::{Cause, Ending},
    environment::variables,
    folder::Offers,
    group::Group,
    launch::Launch,
    offer::Offer,
    prepare::prepare,
    spawner::Spawner,
};
use crate::{
    clock::Clock,
    target::{Invocation, Outcome, TargetError, log::Log, result, text::Seconds},
};

/// How long the output may stay open after the group is gone: only a process that left the group
/// can hold it. What was written by then is read however long that takes.
const DRAIN: Duration = Duration::from_secs(2);

/// Runs programs.
#[derive(Debug)]
pub(in crate::target) struct Runner {
    spawner: Spawner,
    offers: Offers,
    output_limit: usize,
    clock: Clock,
}

impl Runner {
    pub(in crate::target) fn new(output_limit: usize, clock: Clock) -> Result<Self, TargetError> {
        let offers = Offers::new(std::env::temp_dir());
        Ok(Self { spawner: Spawner::new()?, offers, output_limit, clock })
    }

    /// Leaves nothing behind on this machine.
    pub(in crate::target) fn close(&self) {
        self.offers.close();
    }

    /// Whether `definition` could be run.
    pub(in crate::target) fn check(&self, definition: &Command) -> Result<(), TargetError> {
        prepare(definition).map(drop)
    }

    /// Runs the program to its end, or ends it when the time limit passes or `stop` is given.
    pub(in crate::target) async fn execute(
        &self,
        definition: &Command,
        invocation: &Invocation,
        log: &Log<'_>,
        stop: &CancellationToken,
    ) -> Outcome {
        let started = self.clock.instant();
        let failed = |message| Outcome::Failed { message, output: Value::Null };
        let invoked = match prepare(definition) {
            Ok(invoked) => invoked,
            Err(error) => return failed(error.to_string()),
        };
        let offer = match self.offers.offer(invocation.run_id) {
            Ok(offer) => offer,
            Err(error) => return failed(format!("could not make its output file: {error}")),
        };
        let context = invocation.context.to_string();
        let launch = Launch {
            invoked,
            variables: variables(definition, invocation, &context, offer.path()),
            directory: definition.directory.as_ref().map(Into::into),
            user: definition.user.clone(),
            output: offer.file(),
        };
        let child = match self.spawner.start(launch).await {
            Ok(child) => child,
            Err(reason) => return failed(reason),
        };
        let mut capture = Capture::new(self.output_limit);
        match self.accompany(child, context, &mut capture, invocation, log, stop).await {
            Ok(ending) => {
                let took = self.clock.instant().saturating_duration_since(started);
                taken(ending.outcome(took, &capture, invocation), &offer)
            }
            Err(error) => failed(format!("the program was lost sight of: {error}")),
        }
    }

    /// Feeds the program, reads its output, and waits for its end, all at the same time.
    async fn accompany(
        &self,
        mut child: Child,
        context: String,
        capture: &mut Capture,
        invocation: &Invocation,
        log: &Log<'_>,
        stop: &CancellationToken,
    ) -> io::Result<Ending> {
        let group = Group::of(&child);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("it has no pipes"));
        };
        let ended = CancellationToken::new();
        let gone = async {
            ended.cancelled().await;
            self.clock.sleep(DRAIN).await;
        };
        let (ending, (), whole) = join!(
            // The time limit runs from before the first line is read.
            biased;
            async {
                let ending = self.end(&mut child, group, invocation, log, stop).await;
                ended.cancel();
                ending
            },
            // What is left after the program's end gets no input.
            async { ended.run_until_cancelled(feed(stdin, context)).await.unwrap_or_default() },
            capture.read(stdout, stderr, log, gone),
        );
        if !whole {
            log.system("a process that left the group holds the output open; not waiting for it")
                .await;
        }
        ending
    }

    /// Waits for the program's end and takes care that nothing of its group outlives it.
    async fn end(
        &self,
        child: &mut Child,
        group: Group,
        invocation: &Invocation,
        log: &Log<'_>,
        stop: &CancellationToken,
    ) -> io::Result<Ending> {
        let ending = self.wait(child, &group, invocation, log, stop).await;
        group.close();
        ending
    }

    /// Waits for the program's end and brings it about where it has to be.
    async fn wait(
        &self,
        child: &mut Child,
        group: &Group,
        invocation: &Invocation,
        log: &Log<'_>,
        stop: &CancellationToken,
    ) -> io::Result<Ending> {
        let (cause, reason) = select! {
            status = child.wait() => {
                return Ok(Ending { status: status?, cause: Cause::Own, killed: false });
            }
            () = stop.cancelled() => (Cause::Stop, "stop requested".to_owned()),
            () = self.clock.sleep(invocation.timeout) => {
                let limit = Seconds(invocation.timeout);
                (Cause::TimeLimit, format!("time limit of {limit} passed"))
            }
        };
        group.ask();
        // The log may be behind; that must not hold back the kill.
        let (ending, ()) = join!(
            async {
                let asked = self.clock.timeout(invocation.kill_grace, child.wait()).await;
                let killed = asked.is_err();
                let status = match asked {
                    Ok(status) => status?,
                    Err(_) => {
                        group.kill();
                        child.wait().await?
                    }
                };
                Ok(Ending { status, cause, killed })
            },
            log.system(format!("{reason}: SIGTERM sent to the process group")),
        );
        ending
    }
}

/// A success with what the program gave back; a failure, if that cannot be taken.
fn taken(outcome: Outcome, offer: &Offer) -> Outcome {
    let Outcome::Succeeded { mut output } = outcome else { return outcome };
    let kept = match offer.read() {
        Ok(None) => Ok(()),
        Ok(Some(result)) => result::keep(&mut output, result),
        Err(problem) => Err(problem),
    };
    match kept {
        Ok(()) => Outcome::Succeeded { output },
        Err(message) => Outcome::Failed { message, output },
    }
}

/// Gives the program the context on its standard input and closes it.
async fn feed(mut stdin: ChildStdin, context: String) {
    // A program that does not read it is free to.
    let _ = stdin.write_all(context.as_bytes()).await;
    let _ = stdin.shutdown().await;
}
