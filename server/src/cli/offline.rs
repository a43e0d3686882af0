use std::sync::Arc;

use entity::user::Role;
use secrecy::ExposeSecret;
use uuid::Uuid;

use super::{CliError, flags::Existing};
use crate::{
    access::{Grants, Owner, Viewer, ViewerKind},
    app::{self, AppError},
    clock::Clock,
    commands::Commands,
    config::Config,
    engine::Signals,
    store::{
        Options, Store,
        backup::{self, BackupError},
    },
    target::{Executor, Policy},
};

/// Access to the configured database, for a user with a shell on this machine.
pub(super) struct Office {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) owner: Owner,
    config: Config,
}

impl Office {
    /// Opens the database, which a server may be using. A missing database is created only on
    /// request, because the user may just be in the wrong folder.
    pub(super) async fn open(Existing { place, init }: &Existing) -> Result<Self, CliError> {
        let config = place.config()?;
        let options = app::database(&config);
        if !init && let Some(there) = missing(&config, &options).await? {
            let named = place.names_database(&config);
            return Err(CliError::NoDatabase { place: there, named });
        }
        let store = Store::open(&options).await?;
        Ok(Self { store, clock: Clock::system(), owner: local_operator().owner()?, config })
    }

    /// The commands, with the keys for secrets.
    pub(super) fn commands_with_keys(&self) -> Result<Commands, CliError> {
        Ok(self.commands()?.with_vault(app::vault(&self.config)?))
    }

    /// The commands without keys, so that they work even if the keys cannot be read.
    pub(super) fn commands(&self) -> Result<Commands, CliError> {
        let executor = Executor::new(Policy::default(), self.clock.clone());
        let executor = Arc::new(executor.map_err(AppError::from)?);
        let cache = Arc::new(timetable::Cache::new(1));
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let commands = Commands::new(store, clock, cache, executor, Signals::default());
        let commands = commands.with_retention(app::retention(&self.config));
        Ok(commands.with_quotas(app::quotas(&self.config)))
    }
}

/// The location of a missing database: there is no file, or there are no Carillon tables on the
/// server.
async fn missing(config: &Config, options: &Options) -> Result<Option<String>, CliError> {
    match backup::file_of(config.database.url.expose_secret()) {
        Ok(file) => Ok((!file.exists()).then(|| format!("'{}'", file.display()))),
        Err(BackupError::NotAFile { url }) => {
            let is_empty = Store::schema(options).await?.applied.is_empty();
            Ok(is_empty.then(|| format!("'{url}'")))
        }
        // Opening the database will report the error.
        Err(_) => Ok(None),
    }
}

/// The viewer for users of this program. Anyone who can run it on this machine may do everything;
/// the audit log calls them `cli`.
pub(super) fn local_operator() -> Viewer {
    Viewer::new(Uuid::nil(), "cli", ViewerKind::User, Grants::everywhere(Role::Admin), "cli")
}

/// Runs an async subcommand.
pub(super) fn on_a_runtime(
    work: impl Future<Output = Result<(), CliError>>,
) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(CliError::io("start the runtime"))?;
    let done = runtime.block_on(work);
    // A task that still blocks, such as a prompt, must not delay the exit.
    runtime.shutdown_background();
    done
}
