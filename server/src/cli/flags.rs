use std::{
    net::SocketAddr,
    path::{self, PathBuf},
};

use clap::Args;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::CliError;
use crate::{
    config::{Config, LogFormat, Sources, variable},
    store::backup,
};

/// The configuration file as the source of the database's address.
const BY_FILE: &str = "the configuration file";

/// The configuration file and the database.
#[derive(Debug, Args)]
pub(super) struct SettingsArgs {
    /// Configuration file; carillon.toml is read if it exists
    #[arg(long, value_name = "PATH", env = "CARILLON_CONFIG", global = true)]
    config: Option<PathBuf>,
    /// sqlite:PATH or postgres://USER@HOST/NAME; other users of the machine can read a password here
    /// [default: sqlite:data/carillon.db]
    #[arg(long, value_name = "URL", global = true)]
    database_url: Option<String>,
}

/// The settings of a command that needs an existing database.
#[derive(Debug, Args)]
pub(super) struct Existing {
    #[command(flatten)]
    pub(super) place: SettingsArgs,
    /// Create the database if it does not exist yet
    #[arg(long, global = true)]
    pub(super) init: bool,
}

/// Settings of a server. Omitted ones come from the environment and the file.
#[derive(Debug, Args)]
pub(super) struct ServerSettings {
    #[command(flatten)]
    pub(super) place: SettingsArgs,
    /// Address and port for HTTP [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// URL that browsers use, if this server is behind a proxy
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Let schedules run programs on this machine
    #[arg(long)]
    allow_commands: bool,
    /// Let http targets reach loopback and private networks
    #[arg(long)]
    allow_private_addresses: bool,
    /// Name of this process for operators [default: HOST:PORT]
    #[arg(long, value_name = "NAME")]
    node_name: Option<String>,
    /// Maximum number of runs that this process executes at once
    #[arg(long, value_name = "RUNS")]
    capacity: Option<u32>,
    /// Roles of this process: any of api, scheduler, worker [default: all]
    #[arg(long, value_name = "ROLES")]
    roles: Option<String>,
    /// Tags that runs can require of this process, such as gpu,region=eu
    #[arg(long, value_name = "TAGS")]
    node_tags: Option<String>,
    /// Serve the console from this folder
    #[arg(long, value_name = "FOLDER")]
    console_dist: Option<PathBuf>,
    /// Format of log lines
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// Log filter, such as info or warn,carillon=debug
    #[arg(long, value_name = "FILTER")]
    log_filter: Option<String>,
    /// OTLP/gRPC collector for traces and metrics
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
}

impl SettingsArgs {
    /// The configuration with these flags applied.
    pub(super) fn config(&self) -> Result<Config, CliError> {
        Ok(Config::load(&self.sources())?)
    }

    /// The configuration file that is read.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.sources().file()
    }

    /// The source of the database's address.
    pub(super) fn names_database(&self, config: &Config) -> &'static str {
        if self.database_url.is_some() {
            return "--database-url";
        }
        if variable("CARILLON_DATABASE__URL").is_some() {
            return "CARILLON_DATABASE__URL";
        }
        let usual = Config::default().database.url;
        if config.database.url.expose_secret() == usual.expose_secret() {
            return "the default: nothing names another";
        }
        BY_FILE
    }

    /// The flag that leads a command to this database from any folder.
    pub(super) fn leads_to_database(&self, config: &Config) -> String {
        let absolute = |file: PathBuf| path::absolute(&file).unwrap_or(file);
        let by_file = self.file().filter(|_| self.names_database(config) == BY_FILE);
        let database = backup::file_of(config.database.url.expose_secret()).ok();
        match (by_file, database) {
            (None, Some(file)) => format!("--database-url sqlite:{}", absolute(file).display()),
            // A relative path is looked up in the folder of the command.
            (Some(_), Some(file)) if file.is_relative() => {
                format!("--database-url sqlite:{}", absolute(file).display())
            }
            (Some(configuration), _) => format!("--config {}", absolute(configuration).display()),
            // The URL may contain a password, which must not be printed.
            (None, None) => "--database-url URL".to_owned(),
        }
    }

    fn sources(&self) -> Sources {
        let url = self.database_url.as_ref().map(|url| ("database.url", json!(url)));
        Sources { file: self.config.clone(), flags: url.into_iter().collect() }
    }
}

impl ServerSettings {
    /// The configuration with these flags applied.
    pub(super) fn config(&self) -> Result<Config, CliError> {
        let mut sources = self.place.sources();
        let text = |value: &Option<String>| value.as_ref().map(|value| json!(value));
        let switch = |given: bool| given.then_some(Value::Bool(true));
        let format = self.log_format.map(|format| match format {
            LogFormat::Text => json!("text"),
            LogFormat::Json => json!("json"),
        });
        let flags = [
            ("listen", self.listen.map(|listen| json!(listen))),
            ("public_url", text(&self.public_url)),
            ("allow_commands", switch(self.allow_commands)),
            ("egress.private_addresses", switch(self.allow_private_addresses)),
            ("node.name", text(&self.node_name)),
            ("node.capacity", self.capacity.map(|capacity| json!(capacity))),
            ("node.roles", text(&self.roles)),
            ("node.tags", text(&self.node_tags)),
            ("console.dist", self.console_dist.as_ref().map(|dist| json!(dist))),
            ("log.format", format),
            ("log.filter", text(&self.log_filter)),
            ("otlp.endpoint", text(&self.otlp_endpoint)),
        ];
        sources.flags.extend(flags.into_iter().filter_map(|(name, value)| Some((name, value?))));
        Ok(Config::load(&sources)?)
    }
}
