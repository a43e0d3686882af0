use std::path::{Path, PathBuf};

use figment::{
    Figment,
    error::Kind,
    providers::{Format, Serialized, Toml},
};

use super::{BadSetting, Config, environment};

/// Read if it exists and no other file is requested.
const FILE: &str = "carillon.toml";

/// Why the configuration could not be loaded. Messages read after "failed to".
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

/// The sources of settings besides the environment.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The requested file.
    pub file: Option<PathBuf>,
    /// Settings by their dotted names; they override everything else.
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
        let mut figment = Figment::new();
        match sources.file() {
            Some(path) if !path.is_file() => return Err(ConfigError::NoFile { path }),
            Some(path) => figment = figment.merge(Toml::file_exact(path)),
            None => {}
        }
        figment = environment::over(figment);
        for (name, value) in &sources.flags {
            figment = figment.merge(Serialized::global(name, value));
        }
        let config: Self = figment.extract().map_err(|error| problem(&error))?;
        config.check()?;
        Ok(config)
    }
}

/// An environment variable that is not a setting, such as a client's token.
pub fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the one layer that reads the environment")]
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// One line: the setting, what is wrong, and where it is.
fn problem(error: &figment::Error) -> ConfigError {
    let name = error.path.join(".");
    let problem = if let Kind::UnknownField(field, expected) = &error.kind {
        // The path already ends with the field when it was found in a map.
        let name = if error.path.last().is_some_and(|last| last == field) {
            name
        } else if name.is_empty() {
            field.clone()
        } else {
            format!("{name}.{field}")
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
    } else if name.is_empty() {
        error.kind.to_string()
    } else {
        format!("{name}: {}", error.kind)
    };
    let place = error.metadata.as_ref().map(|metadata| match &metadata.source {
        Some(source) => format!(" (in {source})"),
        None => format!(" (in the {})", metadata.name),
    });
    // The parser's message has several lines; one is enough for an error.
    let one_line = problem.split_whitespace().collect::<Vec<_>>().join(" ");
    ConfigError::Source { problem: format!("{one_line}{}", place.unwrap_or_default()) }
}
