use std::path::{Path, PathBuf};

use super::{
    BadSetting, Config, environment,
    layers::{Layers, Misfit},
};

/// The file that is read if it exists and no other file is requested.
const FILE: &str = "carillon.toml";

/// Why the configuration could not be loaded. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The requested file does not exist.
    #[error("read the configuration: --config '{}' does not exist", path.display())]
    NoFile {
        /// The path as given.
        path: PathBuf,
    },
    /// A source contains something invalid.
    #[error("read the configuration: {problem}")]
    Source {
        /// The setting, its source, and what would be valid.
        problem: String,
    },
    /// A value is invalid.
    #[error("use the configuration: {0}")]
    Setting(#[from] BadSetting),
}

/// The sources of settings in addition to the environment.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The requested file.
    pub file: Option<PathBuf>,
    /// Settings by their dotted names, which override everything else.
    pub flags: Vec<(&'static str, serde_json::Value)>,
}

impl Sources {
    /// The file to read: the requested one, or the default one if it exists.
    pub fn file(&self) -> Option<PathBuf> {
        let usual = || Path::new(FILE).is_file().then(|| PathBuf::from(FILE));
        self.file.clone().or_else(usual)
    }
}

impl Config {
    /// Reads and checks all sources.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let mut layers = Layers::default();
        match sources.file() {
            Some(path) if !path.is_file() => return Err(ConfigError::NoFile { path }),
            Some(path) => layers.merge(read(&path)?, &path.display().to_string()),
            None => {}
        }
        for (name, value) in environment::settings() {
            layers.set(&name, value, "the environment");
        }
        for (name, value) in &sources.flags {
            layers.set(name, value.clone(), "the flags");
        }
        let config: Self = layers.extract().map_err(|misfit| problem(&misfit))?;
        config.check()?;
        Ok(config)
    }
}

/// An environment variable that is not a setting, such as a client's token.
pub fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the one layer that reads the environment")]
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The settings of a file.
fn read(path: &Path) -> Result<serde_json::Value, ConfigError> {
    let failed = |problem: String| ConfigError::Source {
        problem: format!("{} (in {})", one_line(&problem), path.display()),
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    toml::from_str(&text).map_err(|error| failed(misread(&text, &error)))
}

/// The parser's message with its position. The line itself is not repeated, because the mistake in
/// it may be a secret.
fn misread(text: &str, error: &toml::de::Error) -> String {
    let said = error.message();
    let Some(span) = error.span() else { return said.to_owned() };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}: {said}")
}

/// The error on one line: the setting, what is wrong, and where it is.
fn problem(misfit: &Misfit) -> ConfigError {
    let Misfit { name, problem, origin } = misfit;
    let problem = match unknown_field(problem) {
        Some((field, expected)) => {
            // For a field of a map, the path already ends with the field's name.
            let name = match name.rsplit('.').next() {
                Some(last) if last == field => name.clone(),
                Some("") | None => field.to_owned(),
                Some(_) => format!("{name}.{field}"),
            };
            let alike = expected
                .iter()
                .map(|known| (strsim::jaro_winkler(known, field), known))
                .filter(|(likeness, _)| *likeness > 0.8)
                .max_by(|one, other| one.0.total_cmp(&other.0));
            match alike {
                Some((_, known)) => format!("{name}: no such setting; did you mean '{known}'?"),
                None => format!("{name}: no such setting; there are {}", expected.join(", ")),
            }
        }
        None if name.is_empty() => without_value(problem),
        None => format!("{name}: {}", without_value(problem)),
    };
    let place = origin.as_ref().map(|origin| format!(" (in {origin})")).unwrap_or_default();
    ConfigError::Source { problem: format!("{}{place}", one_line(&problem)) }
}

/// The problem without the value that has the wrong type: it may be a secret without its quotes.
fn without_value(problem: &str) -> String {
    let rest = problem.strip_prefix("invalid type: ");
    let Some((found, expected)) = rest.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return problem.to_owned();
    };
    let kind = found.split(['`', '"']).next().unwrap_or_default().trim_end();
    format!("invalid type: {kind}, expected {expected}")
}

/// The unknown field that serde reports, and the known fields.
fn unknown_field(problem: &str) -> Option<(&str, Vec<&str>)> {
    let names = problem.strip_prefix("unknown field ")?;
    let mut names = names.split('`').skip(1).step_by(2);
    Some((names.next()?, names.collect()))
}

/// The first line of a parser's message, which is enough for an error.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
