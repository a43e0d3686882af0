use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    AttemptOutcome, BrokerReport, CommandTarget, Invocation, Jobs, Line, Mailer, Policy, Target,
    TargetError, TemplateFailure, TemplateNames, TemplateScope, command::Runner,
    egress::for_namespace, http::Sender, log::AttemptLog, publish::Publisher,
    template::TemplatePool,
};
use crate::{clock::Clock, telemetry::BrokerCounts};

/// Carries out targets on this node, within the node's policy.
#[derive(Debug)]
pub struct Executor {
    sender: Sender,
    publisher: Publisher,
    /// Set only if the policy allows commands.
    runner: Option<Runner>,
    /// Set only if the configuration names a mail server.
    mailer: Option<Mailer>,
    /// Hands jobs to workers; set once the engine has started.
    jobs: OnceLock<Arc<dyn Jobs>>,
    /// Renders templates.
    pool: TemplatePool,
    clock: Clock,
    stand_in: Option<StandIn>,
}

/// Replaces all targets in a simulation: it gets the input of an attempt, and decides the attempt's
/// outcome.
#[derive(Clone)]
struct StandIn(Arc<Act>);

type Act =
    dyn Fn(&Invocation, CancellationToken) -> BoxFuture<'static, AttemptOutcome> + Send + Sync;

impl fmt::Debug for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StandIn")
    }
}

impl Executor {
    /// An executor for `policy`. Fails if `policy.ca_pem` cannot be read.
    pub fn new(policy: Policy, clock: Clock) -> Result<Self, TargetError> {
        let runner = policy
            .commands
            .then(|| Runner::new(policy.command.clone(), policy.output_limit_bytes, clock.clone()));
        let sender = Sender::new(&policy, clock.clone())?;
        let client = sender.client().clone();
        let publisher = Publisher::new(&policy, client, sender.roots(), clock.clone())?;
        Ok(Self {
            publisher,
            sender,
            runner,
            mailer: None,
            jobs: OnceLock::new(),
            pool: TemplatePool::default(),
            clock,
            stand_in: None,
        })
    }

    /// Removes the files that the executor created on this machine. Must only be called once no
    /// attempt is running any more.
    pub fn close(&self) {
        if let Some(runner) = &self.runner {
            runner.close();
        }
    }

    /// Whether tasks of that namespace may run programs on this node.
    pub fn runs_programs_in(&self, namespace: &str) -> bool {
        self.runner.as_ref().is_some_and(|runner| runner.admits(namespace))
    }

    /// Sets the mailer, on a server that can send mails.
    pub fn with_mailer(self, mailer: Option<Mailer>) -> Self {
        Self { mailer, ..self }
    }

    /// Sets the component that hands jobs to workers, unless one is already set.
    pub fn hand_jobs_by(&self, jobs: Arc<dyn Jobs>) {
        // If two engines share one executor, either may hand over the jobs.
        let _ = self.jobs.set(jobs);
    }

    /// The state of the connections to brokers.
    pub fn broker_reports(&self) -> Vec<BrokerReport> {
        self.publisher.reports()
    }

    /// Counts of published events since the start.
    pub fn broker_counts(&self) -> Vec<BrokerCounts> {
        self.publisher.counts()
    }

    /// Sends mails, if a mail server is configured.
    pub fn mailer(&self) -> Option<&Mailer> {
        self.mailer.as_ref()
    }

    /// Makes `act` replace every target. Simulations use this to decide how each attempt ends.
    #[doc(hidden)]
    pub fn with_stand_in(
        mut self,
        act: impl Fn(&Invocation, CancellationToken) -> BoxFuture<'static, AttemptOutcome>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.stand_in = Some(StandIn(Arc::new(act)));
        self
    }

    /// Fails if `target` cannot be carried out here, as far as its definition shows; the error
    /// names the field. Commands check this when they save a target, and `execute` checks again.
    pub fn check(&self, target: &Target) -> Result<(), TargetError> {
        self.check_in(target, TemplateScope::ALONE)
    }

    /// Checks a target whose templates can use the names in `scope`.
    pub fn check_in(&self, target: &Target, scope: TemplateScope<'_>) -> Result<(), TargetError> {
        match &target.with_templates_checked(scope)? {
            Target::Http(definition) => self.sender.check(definition),
            Target::Command(definition) => self.runner()?.check(definition),
            Target::Publish(definition) => self.publisher.check(definition),
            Target::Worker(definition) => definition.check(),
            Target::Noop(_) => Ok(()),
        }
    }

    /// Fails if a program cannot be started here, as far as its definition shows. Unlike
    /// [`Executor::check`], it reads no templates: for programs that are started as they are
    /// written.
    pub fn check_command(&self, definition: &CommandTarget) -> Result<(), TargetError> {
        self.runner()?.check(definition)
    }

    /// Whether a target of this kind may be allowed in one namespace and refused in another.
    pub fn depends_on_namespace(&self, target: &Target) -> bool {
        match target {
            Target::Command(_) => self.runner.as_ref().is_some_and(Runner::depends_on_namespace),
            Target::Http(_) | Target::Publish(_) | Target::Worker(_) | Target::Noop(_) => false,
        }
    }

    /// Fails if tasks of `namespace` may not have `target` at all. `execute` checks again.
    pub fn check_namespace(&self, target: &Target, namespace: &str) -> Result<(), TargetError> {
        match target {
            Target::Command(command) => self.runner()?.check_namespace(command, namespace),
            Target::Http(_) | Target::Publish(_) | Target::Worker(_) | Target::Noop(_) => Ok(()),
        }
    }

    /// The target with its templates rendered. This ends within the invocation's timeout.
    pub async fn fill_in(
        &self,
        target: &Target,
        names: &TemplateNames<'_>,
    ) -> Result<Target, TemplateFailure> {
        self.pool.fill_in(&self.clock, target, names).await
    }

    /// Carries out `target`. Lines are sent to `lines` as they are read: while that channel is
    /// full, the target waits, and if its receiver is dropped, the lines are discarded.
    ///
    /// Cancelling `stop` ends the attempt: a request is dropped, and a program is ended within the
    /// invocation's kill grace. Dropping the future also ends it; a program is then killed by
    /// SIGKILL.
    pub async fn execute(
        &self,
        target: &Target,
        invocation: &Invocation,
        lines: mpsc::Sender<Line>,
        stop: CancellationToken,
    ) -> AttemptOutcome {
        if let Some(StandIn(act)) = &self.stand_in {
            return act(invocation, stop).await;
        }
        let log = AttemptLog::new(&self.clock, lines);
        match target {
            Target::Http(definition) => {
                // Boxed, because otherwise each attempt would be as large as the largest of these
                // futures.
                let namespace = invocation.namespace_id;
                let sending = Box::pin(for_namespace(
                    namespace,
                    self.sender.execute(definition, invocation, &log),
                ));
                let sent = stop.run_until_cancelled(sending).await;
                sent.unwrap_or_else(|| AttemptOutcome::Cancelled { output: json!({}) })
            }
            Target::Command(definition) => match self.runner() {
                Ok(runner) => Box::pin(runner.execute(definition, invocation, &log, &stop)).await,
                Err(error) => {
                    AttemptOutcome::Failed { message: error.to_string(), output: json!({}) }
                }
            },
            Target::Publish(definition) => {
                let namespace = invocation.namespace_id;
                let publishing = Box::pin(for_namespace(
                    namespace,
                    self.publisher.execute(definition, invocation, &log),
                ));
                let published = stop.run_until_cancelled(publishing).await;
                published.unwrap_or_else(|| AttemptOutcome::Cancelled { output: json!({}) })
            }
            Target::Worker(definition) => match self.jobs.get() {
                Some(jobs) => match definition.check_filled(&invocation.context) {
                    Ok(()) => jobs.carry_out(definition, invocation, &log, &stop).await,
                    Err(error) => {
                        AttemptOutcome::Failed { message: error.to_string(), output: json!({}) }
                    }
                },
                None => AttemptOutcome::Failed {
                    message: "nothing hands tasks to workers here".to_owned(),
                    output: json!({}),
                },
            },
            Target::Noop(_) => AttemptOutcome::Succeeded { output: json!({}) },
        }
    }

    fn runner(&self) -> Result<&Runner, TargetError> {
        self.runner.as_ref().ok_or_else(|| {
            TargetError::invalid(
                "command",
                "commands are disabled on this server",
                "set `allow_commands = true`, or start it with --allow-commands",
            )
        })
    }
}
