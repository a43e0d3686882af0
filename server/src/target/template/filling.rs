//! Renders the templates of one target, within its budget.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, atomic::AtomicBool},
};

use chrono::{DateTime, SecondsFormat, Utc};
use minijinja::{Environment, ErrorKind, Template, value::Serde};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::{
    Fault, MAX_OUTPUT_BYTES, ParsedTemplate, budget::Budget, budget::MAX_WORK_BYTES, fault, fields,
    is_template, language_with, printing::BoundedOutput, secrets,
};
use crate::target::{Invocation, Target, TargetError};

/// The names that the templates of one attempt can use.
#[derive(Clone, Copy, Debug)]
pub struct TemplateNames<'a> {
    /// `context`, `run_id`, `attempt`, `task`, `namespace`, `schedule`, `idempotency_key`.
    pub invocation: &'a Invocation,
    /// The scheduled instant of the run; also set for a manual run.
    pub scheduled_at: DateTime<Utc>,
    /// The fire before that instant.
    pub previous_fire: Option<DateTime<Utc>>,
    /// `tasks`: the outputs of earlier tasks, as `{name: {"output": ...}}`.
    pub tasks: &'a serde_json::Value,
    /// `secrets`: the ones that the target names.
    pub secrets: &'a BTreeMap<String, SecretString>,
}

impl TemplateNames<'_> {
    pub(super) fn json(&self) -> serde_json::Value {
        let instant = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        let told = self.invocation;
        let secrets: BTreeMap<&str, &str> =
            self.secrets.iter().map(|(name, value)| (&**name, value.expose_secret())).collect();
        json!({
            "scheduled_at": instant(self.scheduled_at),
            "previous_fire": self.previous_fire.map(instant),
            "context": told.context,
            "run_id": told.run_id,
            "attempt": told.attempt,
            "task": told.task,
            "namespace": told.namespace,
            "schedule": told.schedule,
            "idempotency_key": told.idempotency_key,
            "tasks": self.tasks,
            "secrets": secrets,
        })
    }
}

/// Renders a target's templates. Fails at the first template that cannot be rendered. Setting
/// `stop` ends the work early.
pub(super) fn filled_in(
    mut target: Target,
    names: serde_json::Value,
    stop: Arc<AtomicBool>,
) -> Result<Target, TargetError> {
    let mut filler = Filler::new(names, stop);
    secrets::keep_from_strangers(&mut target);
    fields::replace(&mut target, &mut |field, text| {
        if !is_template(text) {
            return Ok(None);
        }
        let made = filler.fill(text).map_err(|fault| fault.of(field))?;
        fields::check_made(field, &made)?;
        Ok(Some(made))
    })?;
    Ok(target)
}

/// Renders the texts of one target, one after the other.
struct Filler {
    environment: Environment<'static>,
    budget: Arc<Budget>,
    names: minijinja::Value,
}

impl Filler {
    fn new(names: serde_json::Value, stop: Arc<AtomicBool>) -> Self {
        let budget = Arc::new(Budget::new(bytes_of(&names), stop));
        let environment = language_with(&budget);
        Self { environment, budget, names: minijinja::Value::from(Serde(names)) }
    }

    fn fill(&mut self, text: &str) -> Result<String, Fault> {
        let refused = |problem: String, help| Err::<String, Fault>(Fault::new(1, problem, help));
        if self.budget.is_stopped() {
            return refused("filling it in took too long".to_owned(), "make it do less");
        }
        let steps = self.budget.steps();
        self.environment.set_fuel(Some(steps));
        let ParsedTemplate { template, .. } = ParsedTemplate::within(&self.environment, text)?;
        let mut made = BoundedOutput::default();
        let rendered = template.render_captured_to(self.names.clone(), &mut made);
        let used = rendered.as_ref().ok().and_then(|done| done.state().fuel_levels());
        let error = rendered.err();
        self.budget.stepped(used.map_or(steps, |(used, _)| used));
        if made.is_over {
            let problem = format!("it yields more than {MAX_OUTPUT_BYTES} bytes");
            return refused(problem, "make it shorter");
        }
        if self.budget.is_over() {
            let problem = format!(
                "filters and outputs of its target go through more than {MAX_WORK_BYTES} bytes"
            );
            return refused(problem, "put smaller values through fewer filters");
        }
        if let Some(error) = error {
            return Err(self.told(&error, &template, steps));
        }
        let no_text = |_| Fault::new(1, "it does not yield text".to_owned(), "fix it");
        String::from_utf8(made.bytes).map_err(no_text)
    }

    fn told(&self, error: &minijinja::Error, template: &Template<'_, '_>, steps: u64) -> Fault {
        let fault = fault(error);
        if error.kind() == ErrorKind::OutOfFuel {
            return fault.saying(format!("it takes more than {steps} steps"));
        }
        if error.kind() != ErrorKind::UndefinedError || error.detail().is_some() {
            return fault;
        }
        match missing(template, &self.names) {
            Some(name) => fault.saying(format!("`{name}` is undefined")),
            None => fault,
        }
    }
}

/// The size of the names as JSON.
fn bytes_of(names: &serde_json::Value) -> u64 {
    struct Count(u64);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Serialization cannot fail, because the counter accepts everything.
    let _ = serde_json::to_writer(&mut count, names);
    count.0
}

/// The first name of a template that is undefined.
fn missing(template: &Template<'_, '_>, names: &minijinja::Value) -> Option<String> {
    let mut paths: Vec<String> = template.undeclared_variables(true).into_iter().collect();
    paths.sort();
    paths.iter().find_map(|path| {
        let mut value = names.clone();
        let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
        let mut start = 0;
        for end in ends {
            value = value.get_attr(&path[start..end]).ok()?;
            if value.is_undefined() {
                return Some(path[..end].to_owned());
            }
            start = end + 1;
        }
        None
    })
}
