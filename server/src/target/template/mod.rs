//! Templates: texts of a definition that are rendered before each attempt.
//!
//! The language is minijinja's, reduced to the parts that render text: values, filters, `if` and
//! `for`. Features with which a small template could produce a large text are missing: there are no
//! assignments, no macros, no includes, no multiplication, and few concatenations. An undefined
//! name is an error that mentions the name; it never renders as an empty text.
//!
//! A template is checked before the library parses it, because the library parses recursively:
//! [`ParsedTemplate`] is the only way to a parsed template, and it refuses texts that are too long
//! or nest too deep. Rendering has a budget for each target: of steps, of bytes that filters and
//! outputs process, and of output. It runs on the blocking pool, with a deadline and a limit per
//! namespace.
//!
//! A text without `{{`, `{%` or `{#` is not a template: it is used unchanged and costs nothing.
//!
//! - `tokens`: a template as the library tokenizes it
//! - `depth`: how deep a template nests
//! - `language`: the syntax a template may use; a template is checked before it is parsed
//! - `names`: the names that a template may use, checked when the template is saved
//! - `budget`: limits the cost of rendering
//! - `filters`: the available filters and tests
//! - `printing`: writes a value as text
//! - `filling`: renders a target's templates; `pool`: limits and runs rendering
//! - `fault`: describes what is wrong with a template
//! - `fields`: the texts of a target that may be templates
//! - `secrets`: the secrets that templates use, each by its name

mod budget;
mod depth;
mod fault;
mod fields;
mod filling;
mod filters;
mod language;
mod names;
mod pool;
mod printing;
mod secrets;
mod tokens;

use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use minijinja::{Environment, Template, UndefinedBehavior};

use budget::Budget;
use fault::{Fault, fault};
pub use fields::TemplateUse;
pub use filling::TemplateNames;
pub use names::TemplateScope;
pub use pool::TemplateFailure;
pub(super) use pool::TemplatePool;
pub(crate) use secrets::{is_filled_from_elsewhere, is_reference};

use super::{Target, TargetError};

/// Maximum size of a rendered template.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;

impl Target {
    /// Whether any of the target's texts is a template, and which data the templates need.
    pub fn template_use(&self) -> TemplateUse {
        fields::template_use(self)
    }

    /// The names of the secrets that the target's templates use, in order and without duplicates.
    pub fn secret_names(&self) -> Vec<String> {
        secrets::of_target(self)
    }

    /// The names of these secrets, with the field of each use.
    pub fn secret_places(&self) -> Vec<(String, String)> {
        secrets::places(self)
    }

    /// A field whose template uses anything other than secrets, and the name that it uses; `None`
    /// if there is none.
    pub fn asks_beside_secrets(&self) -> Option<(String, String)> {
        secrets::beside(self)
    }

    /// Checks that the target's templates can be parsed and only use names that can exist. Returns
    /// the target as far as it can be checked before rendering.
    pub(super) fn with_templates_checked(
        &self,
        scope: TemplateScope<'_>,
    ) -> Result<Self, TargetError> {
        let mut target = self.clone();
        fields::replace(&mut target, &mut |field, text| {
            if field == fields::CERTIFICATE && !is_reference(text) {
                return Err(TargetError::invalid(
                    field,
                    "is not the name of a secret",
                    "keep the certificate and its private key in a secret, and write \
                     {{ secrets.NAME }}",
                ));
            }
            if !is_template(text) {
                return Ok(None);
            }
            check(text, scope).map_err(|fault| fault.of(field))?;
            Ok(fields::placeholder(field, text))
        })?;
        Ok(target)
    }

    /// Whether a template determines the server of a request.
    pub fn has_open_origin(&self) -> bool {
        match self {
            Self::Http(http) => is_template(&http.url) && fields::fixed_part(&http.url).is_none(),
            Self::Command(_) | Self::Publish(_) | Self::Worker(_) | Self::Noop(_) => false,
        }
    }
}

/// Whether a text is a template.
fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
}

/// A template that was checked and then parsed.
struct ParsedTemplate<'a> {
    parts: Vec<tokens::TemplatePart<'a>>,
    template: Template<'a, 'a>,
}

impl<'a> ParsedTemplate<'a> {
    /// Parses a template only to check it.
    fn new(text: &'a str) -> Result<Self, Fault> {
        Self::within(environment(), text)
    }

    /// Parses a template to be rendered within `environment`.
    fn within(environment: &'a Environment<'static>, text: &'a str) -> Result<Self, Fault> {
        let parts = language::judge(text)?;
        let template = environment.template_from_str(text).map_err(|error| fault(&error))?;
        Ok(Self { parts, template })
    }
}

fn check(text: &str, scope: TemplateScope<'_>) -> Result<(), Fault> {
    let read = ParsedTemplate::new(text)?;
    secrets::check(&read.template)?;
    names::judge(&read.template, &read.parts, scope)
}

/// The language for checks only, set up once.
fn environment() -> &'static Environment<'static> {
    static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
    ENVIRONMENT
        .get_or_init(|| language_with(&Arc::new(Budget::new(0, Arc::new(AtomicBool::new(false))))))
}

/// The language, with rendering charged to `budget`.
fn language_with(budget: &Arc<Budget>) -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // Debug information would put the names and values of a run into stored errors.
    environment.set_debug(false);
    filters::add(&mut environment, budget);
    let budget = Arc::clone(budget);
    environment.set_formatter(move |out, _, value| {
        let written = printing::written(value, &budget)?;
        budget.charge(written.len())?;
        Ok(out.write_str(&written)?)
    });
    environment
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "limits_tests.rs"]
mod limits_tests;
