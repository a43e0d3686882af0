//! Runs a program to its end.

use std::{io, time::Duration};

use nix::unistd::Uid;
use serde_json::Value;
use tokio::{io::AsyncWriteExt, join, net::unix::pipe, select};
use tokio_util::sync::CancellationToken;

use super::{
    attempt_file::AttemptFile,
    capture::Capture,
    definition::CommandTarget,
    environment::{MAX_CONTEXT_BYTES, variables},
    exit_status::{EndCause, ProgramEnding},
    folder::AttemptFiles,
    group::ProcessGroup,
    launch::{Launch, words},
    prepare::{PreparedProgram, prepare},
    programs,
    spawner::{Exit, Program, Spawner},
    user::{self, may_switch_user},
};
use crate::{
    clock::Clock,
    target::{
        AttemptOutcome, CommandPolicy, Invocation, TargetError,
        log::AttemptLog,
        result,
        text::{SecondsText, WithSeparators},
        time_limit::TimeLimit,
    },
};

/// How long the output may stay open after the group is gone: only a process that left the group
/// can still hold it open. Output that was written before that is read, however long it takes.
const DRAIN: Duration = Duration::from_secs(2);

/// Runs programs.
#[derive(Debug)]
pub(in crate::target) struct Runner {
    spawner: Spawner,
    files: AttemptFiles,
    policy: CommandPolicy,
    may_switch: bool,
    output_limit: usize,
    clock: Clock,
}

impl Runner {
    pub(in crate::target) fn new(policy: CommandPolicy, output_limit: usize, clock: Clock) -> Self {
        let files = AttemptFiles::new(std::env::temp_dir());
        let (spawner, may_switch) = (Spawner::new(policy.is_apart), may_switch_user());
        Self { spawner, files, policy, may_switch, output_limit, clock }
    }

    /// Removes the runner's files from this machine.
    pub(in crate::target) fn close(&self) {
        self.files.close();
    }

    /// Whether `definition` could be run.
    pub(in crate::target) fn check(&self, definition: &CommandTarget) -> Result<(), TargetError> {
        self.prepare(definition).map(drop)
    }

    /// Whether different namespaces may run different programs, or run them as different users.
    pub(in crate::target) fn depends_on_namespace(&self) -> bool {
        self.policy.namespaces.is_some() || !self.policy.user_of.is_empty()
    }

    /// Whether tasks of that namespace may run programs.
    pub(in crate::target) fn admits(&self, namespace: &str) -> bool {
        let allowed = &self.policy.namespaces;
        allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|name| name == namespace))
    }

    /// Fails unless tasks of that namespace may run programs, as the user that this definition
    /// names.
    pub(in crate::target) fn check_namespace(
        &self,
        definition: &CommandTarget,
        namespace: &str,
    ) -> Result<(), TargetError> {
        if self.admits(namespace) {
            return user::check_namespace(definition, &self.policy, namespace);
        }
        let problem = format!("tasks of the namespace '{namespace}' may not run programs here");
        let help =
            "use an http target, or request that the namespace be added to commands.namespaces";
        Err(TargetError::invalid("command", problem, help))
    }

    fn prepare(&self, definition: &CommandTarget) -> Result<PreparedProgram, TargetError> {
        let invoked = prepare(definition)?;
        user::check(definition, &self.policy, Uid::effective(), self.may_switch)?;
        programs::admitted(definition, invoked, &self.policy)
    }

    /// Runs the program until it ends by itself, the time limit passes or `stop` is cancelled.
    pub(in crate::target) async fn execute(
        &self,
        definition: &CommandTarget,
        invocation: &Invocation,
        log: &AttemptLog<'_>,
        stop: &CancellationToken,
    ) -> AttemptOutcome {
        let limit = TimeLimit::start(&self.clock, invocation.timeout);
        let failed = |message| AttemptOutcome::Failed { message, output: Value::Null };
        let checked = self.check_namespace(definition, &invocation.namespace);
        let invoked = match checked.and_then(|()| self.prepare(definition)) {
            Ok(invoked) => invoked,
            Err(error) => return failed(error.to_string()),
        };
        let context = invocation.context.to_string();
        let files = self.files.file(invocation.run_id).and_then(|offer| {
            let given = self.files.file(invocation.run_id)?;
            given.write(&context)?;
            Ok((offer, given))
        });
        let (offer, given) = match files {
            Ok(files) => files,
            Err(error) => return failed(format!("could not make its files: {}", words(&error))),
        };
        if context.len() > MAX_CONTEXT_BYTES {
            log.system(format!(
                "CARILLON_CONTEXT is not set: the context has {} bytes, and a variable holds {}; \
                 read the file CARILLON_CONTEXT_FILE, or standard input",
                WithSeparators(context.len() as u64),
                WithSeparators(MAX_CONTEXT_BYTES as u64),
            ))
            .await;
        }
        let launch = Launch {
            invoked,
            variables: variables(definition, invocation, (&context, given.path()), offer.path()),
            directory: definition.directory.as_ref().map(Into::into),
            user: definition
                .user
                .clone()
                .or_else(|| self.policy.user_in(&invocation.namespace).map(str::to_owned)),
            limits: self.policy.limits,
        };
        let files = given.file().and_then(|given| Ok([given, offer.file()?]));
        let files = match files {
            Ok(files) => files,
            Err(error) => return failed(format!("could not share its files: {}", words(&error))),
        };
        let starting = self.spawner.start(&launch, &context, files);
        let program = select! {
            biased;
            program = starting => match program {
                Ok(program) => program,
                Err(reason) => return failed(reason),
            },
            // The system may take any time to start a program, such as one on a file server that
            // does not answer, and the starts of others wait behind it.
            () = stop.cancelled() => return AttemptOutcome::Cancelled { output: Value::Null },
            () = limit.passed() => {
                let (program, limit) = (&launch.invoked.program, SecondsText(invocation.timeout));
                let message = format!("could not start {program} within {limit}");
                return AttemptOutcome::TimedOut { message, output: Value::Null };
            }
        };
        let mut capture = Capture::new(self.output_limit);
        let ending =
            self.accompany(program, context, &mut capture, invocation, log, &limit, stop).await;
        match ending {
            Ok(ending) => taken(ending.outcome(limit.elapsed(), &capture, invocation), &offer),
            Err(error) => failed(format!("the program can no longer be watched: {error}")),
        }
    }

    /// Writes the program's input, reads its output, and waits for its end, all at the same time.
    async fn accompany(
        &self,
        program: Program,
        context: String,
        capture: &mut Capture,
        invocation: &Invocation,
        log: &AttemptLog<'_>,
        limit: &TimeLimit<'_>,
        stop: &CancellationToken,
    ) -> io::Result<ProgramEnding> {
        let Program { stdin, stdout, stderr, group, mut exit } = program;
        let ended = CancellationToken::new();
        let gone = async {
            ended.cancelled().await;
            self.clock.sleep(DRAIN).await;
        };
        let (ending, (), whole) = join!(
            // The program is watched before its first line is read.
            biased;
            async {
                let ending = self.end(&mut exit, group, invocation, log, limit, stop).await;
                ended.cancel();
                ending
            },
            // Processes that outlive the program get no more input.
            async {
                if let Some(stdin) = stdin {
                    ended.run_until_cancelled(feed(stdin, context)).await.unwrap_or_default();
                }
            },
            capture.read(stdout, stderr, log, gone),
        );
        if !whole {
            log.system("a process that left the group holds the output open; not waiting for it")
                .await;
        }
        ending
    }

    /// Waits until the program has ended, and makes sure that no process of its group outlives it.
    async fn end(
        &self,
        exit: &mut Exit,
        group: ProcessGroup,
        invocation: &Invocation,
        log: &AttemptLog<'_>,
        limit: &TimeLimit<'_>,
        stop: &CancellationToken,
    ) -> io::Result<ProgramEnding> {
        let ending = self.wait(exit, &group, invocation, log, limit, stop).await;
        if ending.is_ok() {
            group.close();
        }
        ending
    }

    /// Waits until the program has ended, and ends it if necessary.
    async fn wait(
        &self,
        exit: &mut Exit,
        group: &ProcessGroup,
        invocation: &Invocation,
        log: &AttemptLog<'_>,
        limit: &TimeLimit<'_>,
        stop: &CancellationToken,
    ) -> io::Result<ProgramEnding> {
        let (cause, reason) = select! {
            status = exit.wait() => {
                return Ok(ProgramEnding { status: status?, cause: EndCause::Own, killed: false });
            }
            () = stop.cancelled() => (EndCause::Stop, "stop requested".to_owned()),
            () = limit.passed() => {
                let limit = SecondsText(invocation.timeout);
                (EndCause::TimeLimit, format!("time limit of {limit} passed"))
            }
        };
        group.ask();
        // The log may be behind, which must not delay the kill.
        let (ending, ()) = join!(
            async {
                let asked = self.clock.timeout(invocation.kill_grace, exit.wait()).await;
                let killed = asked.is_err();
                let status = match asked {
                    Ok(status) => status?,
                    Err(_) => {
                        group.kill();
                        exit.wait().await?
                    }
                };
                Ok(ProgramEnding { status, cause, killed })
            },
            log.system(format!("{reason}: SIGTERM sent to the process group")),
        );
        ending
    }
}

/// Adds the program's output to a success. If the output cannot be accepted, returns a failure.
fn taken(outcome: AttemptOutcome, offer: &AttemptFile) -> AttemptOutcome {
    let AttemptOutcome::Succeeded { mut output } = outcome else { return outcome };
    let kept = match offer.read() {
        Ok(None) => Ok(()),
        Ok(Some(result)) => result::keep(&mut output, result),
        Err(problem) => Err(problem),
    };
    match kept {
        Ok(()) => AttemptOutcome::Succeeded { output },
        Err(message) => AttemptOutcome::Failed { message, output },
    }
}

/// Writes the context to the program's standard input and closes it.
async fn feed(mut stdin: pipe::Sender, context: String) {
    // Writing fails if the program does not read its input, which is allowed.
    let _ = stdin.write_all(context.as_bytes()).await;
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use futures::FutureExt;
    use serde_json::json;
    use tokio::sync::{OwnedSemaphorePermit, mpsc};
    use uuid::Uuid;

    use super::*;
    use crate::clock::ManualClock;

    fn invocation() -> Invocation {
        Invocation {
            run_id: Uuid::nil(),
            attempt: 1,
            task: "main".to_owned(),
            namespace: "default".to_owned(),
            namespace_id: Uuid::nil(),
            priority: 0,
            schedule: None,
            schedule_id: None,
            schedule_version: None,
            scheduled_at: None,
            idempotency_key: "k".to_owned(),
            traceparent: None,
            context: json!({}),
            timeout: Duration::from_secs(5),
            kill_grace: Duration::ZERO,
        }
    }

    /// Takes all turns of a runner, as if the starts of other programs hung.
    fn all_turns(runner: &Runner) -> OwnedSemaphorePermit {
        let turns = runner.spawner.turns.clone();
        let all = u32::try_from(turns.available_permits()).unwrap();
        turns.try_acquire_many_owned(all).unwrap()
    }

    #[tokio::test]
    async fn an_attempt_ends_in_time_although_no_program_can_be_started() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let clock = manual.clock();
        let runner = Runner::new(CommandPolicy::default(), 1_024, clock.clone());
        let _taken = all_turns(&runner);
        let definition =
            CommandTarget { program: Some("/bin/true".to_owned()), ..CommandTarget::default() };
        let invocation = invocation();
        let (lines, _received) = mpsc::channel(8);
        let log = AttemptLog::new(&clock, lines);
        let stop = CancellationToken::new();
        let patience = Duration::from_secs(20);

        let mut attempt = Box::pin(runner.execute(&definition, &invocation, &log, &stop));
        assert!((&mut attempt).now_or_never().is_none());
        manual.advance(invocation.timeout);
        let outcome = Clock::system().timeout(patience, attempt).await;
        let Ok(AttemptOutcome::TimedOut { message, .. }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(message, "could not start /bin/true within 5 s");

        stop.cancel();
        let attempt = runner.execute(&definition, &invocation, &log, &stop);
        let outcome = Clock::system().timeout(patience, attempt).await;
        assert!(matches!(outcome, Ok(AttemptOutcome::Cancelled { .. })), "{outcome:?}");
    }

    #[tokio::test]
    async fn a_program_that_started_late_has_the_rest_of_the_time() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let clock = manual.clock();
        let runner = Runner::new(CommandPolicy::default(), 1_024, clock.clone());
        let taken = all_turns(&runner);
        let script = Some("echo ready; exec tail -f /dev/null".to_owned());
        let definition = CommandTarget { script, ..CommandTarget::default() };
        let invocation = invocation();
        let (lines, mut received) = mpsc::channel(8);
        let log = AttemptLog::new(&clock, lines);
        let stop = CancellationToken::new();
        let patience = Duration::from_secs(20);

        let mut attempt = Box::pin(runner.execute(&definition, &invocation, &log, &stop));
        assert!((&mut attempt).now_or_never().is_none());
        manual.pass(Duration::from_secs(3));
        drop(taken);
        let system = Clock::system();
        let line = select! {
            outcome = &mut attempt => panic!("{outcome:?}"),
            line = system.timeout(patience, received.recv()) => line,
        };
        assert_eq!(line.unwrap().unwrap().text, "ready");
        manual.pass(Duration::from_secs(2));
        let outcome = system.timeout(patience, attempt).await;
        let Ok(AttemptOutcome::TimedOut { message, .. }) = outcome else { panic!("{outcome:?}") };
        assert!(message.starts_with("did not end within 5 s"), "{message}");
    }
}
