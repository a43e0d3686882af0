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

/// The database that the configuration names, in the hands of somebody with a shell beside it.
pub(super) struct Office {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) owner: Owner,
    config: Config,
}

impl Office {
    /// Opens it; a server may be running on it. One that is not there is made only if that was asked
    /// for: a folder too far up is no reason for another database.
    pub(super) async fn open(Existing { place, init }: &Existing) -> Result<Self, CliError> {
        let config = place.config()?;
        let options = app::database(&config);
        if !init && let Some(there) = missing(&config, &options).await? {
            let named = place.names_database(&config);
            return Err(CliError::NoDatabase { place: there, named });
        }
        let store = Store::open(&options).await?;
        Ok(Self { store, clock: Clock::system(), owner: somebody_here().owner()?, config })
    }

    /// What is ordered over the API, too, ordered here, with the keys for secrets.
    pub(super) fn commands_with_keys(&self) -> Result<Commands, CliError> {
        Ok(self.commands()?.with_vault(app::vault(&self.config)?))
    }

    /// The same for what needs none of them: it works where they cannot be read.
    pub(super) fn commands(&self) -> Result<Commands, CliError> {
        let executor = Executor::new(Policy::default(), self.clock.clone());
        let executor = Arc::new(executor.map_err(AppError::from)?);
        let cache = Arc::new(timetable::Cache::new(1));
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let commands = Commands::new(store, clock, cache, executor, Signals::default());
        Ok(commands.with_quotas(app::quotas(&self.config)))
    }
}

/// Where a database should be, if there is none: no file, or none of our tables on the server.
async fn missing(config: &Config, options: &Options) -> Result<Option<String>, CliError> {
    match backup::file_of(config.database.url.expose_secret()) {
        Ok(file) => Ok((!file.exists()).then(|| format!("'{}'", file.display()))),
        Err(BackupError::NotAFile { url }) => {
            let is_empty = Store::schema(options).await?.applied.is_empty();
            Ok(is_empty.then(|| format!("'{url}'")))
        }
        // What opens it says what is wrong.
        Err(_) => Ok(None),
    }
}

/// Whoever can run this program on this machine may do everything; the audit log calls them `cli`.
pub(super) fn somebody_here() -> Viewer {
    Viewer::new(Uuid::nil(), "cli", ViewerKind::User, Grants::everywhere(Role::Admin), "cli")
}

/// Runs a subcommand that waits for others.
pub(super) fn on_a_runtime(
    work: impl Future<Output = Result<(), CliError>>,
) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(CliError::io("start the runtime"))?;
    let done = runtime.block_on(work);
    // Something that still blocks, such as a prompt, must not hold up the end.
    runtime.shutdown_background();
    done
}
