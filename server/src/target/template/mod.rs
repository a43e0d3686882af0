//! Templates: texts of a definition that are filled in before each attempt.
//!
//! The language is minijinja's, cut down to what fills in a text: values, filters, `if` and `for`.
//! Whatever could let a small template make a large text is not there: no assignments, no macros,
//! no includes, no multiplication, few concatenations. Steps and output are limited, too, so a
//! template costs little whoever wrote it. A name that is not there is an error that says which,
//! never an empty text.
//!
//! A text without `{{`, `{%` or `{#` is no template: it is used as it stands and costs nothing.
//!
//! - `language`: what a template may say; a text is judged before it is compiled
//! - `names`: what it may name; judged when it is saved
//! - `filters`: what a value can be put through
//! - `fields`: which texts of a target may be templates
//! - `secrets`: which secrets they ask for; each is asked for by its name

mod fields;
mod filters;
mod language;
mod names;
mod secrets;

use std::{collections::BTreeMap, io, sync::OnceLock};

use chrono::{DateTime, SecondsFormat, Utc};
use minijinja::{Environment, Error, ErrorKind, Template, UndefinedBehavior, value::Serde};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

pub use fields::TemplateUse;
pub use names::Scope;

use super::{Invocation, Target, TargetError};

/// What one template may make.
const MOST_BYTES: usize = 256 * 1024;

/// So many steps a template may take.
const FUEL: u64 = 20_000;

/// What the templates of one attempt can name.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// `context`, `run_id`, `attempt`, `task`, `namespace`, `schedule`, `idempotency_key`.
    pub invocation: &'a Invocation,
    /// The instant that the run stands for; of a run by hand, too.
    pub scheduled_at: DateTime<Utc>,
    /// The fire before that.
    pub previous_fire: Option<DateTime<Utc>>,
    /// `tasks`: what the tasks before this one gave back, as `{name: {"output": ...}}`.
    pub tasks: &'a serde_json::Value,
    /// `secrets`: those that the target names.
    pub secrets: &'a BTreeMap<String, SecretString>,
}

impl Names<'_> {
    fn value(&self) -> minijinja::Value {
        let instant = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        let told = self.invocation;
        let secrets: BTreeMap<&str, &str> =
            self.secrets.iter().map(|(name, value)| (&**name, value.expose_secret())).collect();
        minijinja::Value::from(Serde(json!({
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
        })))
    }
}

impl Target {
    /// Whether any of its texts is a template, and what they need.
    pub fn template_use(&self) -> TemplateUse {
        fields::template_use(self)
    }

    /// The names of the secrets that its templates ask for, in their order, each once.
    pub fn secret_names(&self) -> Vec<String> {
        secrets::of_target(self)
    }

    /// The same with the field of each place where one is asked for.
    pub fn secret_places(&self) -> Vec<(String, String)> {
        secrets::places(self)
    }

    /// The field of a template that asks for anything but secrets, and what for; if there is one.
    pub fn asks_beside_secrets(&self) -> Option<(String, String)> {
        secrets::beside(self)
    }

    /// The target with its templates filled in. Fails on the first that cannot be.
    pub fn filled_in(&self, names: &Names<'_>) -> Result<Self, TargetError> {
        let value = names.value();
        let mut target = self.clone();
        secrets::keep_from_strangers(&mut target);
        fields::replace(&mut target, &mut |field, text| {
            if !is_template(text) {
                return Ok(None);
            }
            let made = render(text, &value).map_err(|fault| fault.of(field))?;
            fields::check_made(field, &made)?;
            Ok(Some(made))
        })?;
        Ok(target)
    }

    /// Checks that its templates can be read and name only what there can be, and gives the target
    /// as far as it can be judged before they are filled in.
    pub(super) fn with_templates_checked(&self, scope: Scope<'_>) -> Result<Self, TargetError> {
        let mut target = self.clone();
        fields::replace(&mut target, &mut |field, text| {
            if !is_template(text) {
                return Ok(None);
            }
            check(text, scope).map_err(|fault| fault.of(field))?;
            Ok(fields::placeholder(field, text))
        })?;
        Ok(target)
    }

    /// Whether a template decides to which server a request goes.
    pub fn has_open_origin(&self) -> bool {
        match self {
            Self::Http(http) => is_template(&http.url) && fields::fixed_part(&http.url).is_none(),
            Self::Command(_) | Self::Noop(_) => false,
        }
    }
}

/// What is wrong with a template: where, what, and what to do.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    line: usize,
    problem: String,
    help: &'static str,
}

impl Fault {
    fn of(self, field: &str) -> TargetError {
        let problem = format!("its template cannot be used, line {}: {}", self.line, self.problem);
        TargetError::invalid(field, problem, self.help)
    }
}

/// Whether a text is one.
fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
}

fn check(text: &str, scope: Scope<'_>) -> Result<(), Fault> {
    language::judge(text)?;
    let template = environment().template_from_str(text).map_err(|error| fault(&error))?;
    secrets::check(&template)?;
    names::judge(&template, text, scope)
}

fn render(text: &str, names: &minijinja::Value) -> Result<String, Fault> {
    language::judge(text)?;
    let template = environment().template_from_str(text).map_err(|error| fault(&error))?;
    let mut made = Bounded { bytes: Vec::new(), over: false };
    let rendered = template.render_captured_to(names.clone(), &mut made).map(drop);
    if made.over {
        let problem = format!("it makes more than {MOST_BYTES} bytes");
        return Err(Fault { line: 1, problem, help: "make it shorter" });
    }
    rendered.map_err(|error| {
        let fault = fault(&error);
        match missing(&template, names).filter(|_| error.kind() == ErrorKind::UndefinedError) {
            Some(name) if error.detail().is_none() => {
                Fault { problem: format!("`{name}` is undefined"), ..fault }
            }
            Some(_) | None => fault,
        }
    })?;
    String::from_utf8(made.bytes).map_err(|_| Fault {
        line: 1,
        problem: "it makes no text".to_owned(),
        help: "mend it",
    })
}

/// The first name of a template that is not there.
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

/// The language, set up once.
fn environment() -> &'static Environment<'static> {
    static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| {
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        // The names and values of a run stay out of what is kept about an error.
        environment.set_debug(false);
        filters::add(&mut environment);
        environment
    })
}

/// What an error may say. Its own words are repeated only where they cannot hold a value of the
/// context: some values are secrets.
#[expect(clippy::wildcard_enum_match_arm, reason = "the library may add kinds of errors")]
fn fault(error: &Error) -> Fault {
    let line = error.line().unwrap_or(1);
    let said = |help| Fault {
        line,
        problem: error.detail().map_or_else(|| error.kind().to_string(), str::to_owned),
        help,
    };
    match error.kind() {
        ErrorKind::UndefinedError => {
            said("give the value in the context, or write `| default(\"...\")` behind the name")
        }
        ErrorKind::SyntaxError | ErrorKind::BadEscape | ErrorKind::InvalidDelimiter => {
            said("docs/workflows.md shows what a template may say")
        }
        ErrorKind::UnknownFilter | ErrorKind::UnknownFunction | ErrorKind::UnknownTest => {
            said("docs/workflows.md lists the filters and tests that there are")
        }
        ErrorKind::OutOfFuel => Fault {
            line,
            problem: format!("it takes more than {FUEL} steps"),
            help: "loop over less",
        },
        // Others say what they were given.
        _ => Fault { line, problem: error.kind().to_string(), help: "mend the template" },
    }
}

/// Takes so many bytes and no more.
struct Bounded {
    bytes: Vec<u8>,
    over: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > MOST_BYTES {
            self.over = true;
            return Err(io::Error::other("too long"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
