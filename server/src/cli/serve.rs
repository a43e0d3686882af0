use std::{path::PathBuf, sync::Arc};

use clap::Args;
use entity::user::Role;
use secrecy::ExposeSecret;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{
    CliError, client::ClientError, doctor, flags::ServerSettings, modules::ModuleFile, notify,
    offline::local_operator, output,
};
use crate::{
    access::{NewUser, PasswordUse, add_user, random_password},
    app::App,
    clock::Clock,
    commands::{Call, CommandError, DeploymentSource},
    store::users,
    telemetry::Telemetry,
};

/// Run the server
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    settings: ServerSettings,
    /// Create the user 'admin' with a random one-time password and print it, if there is no user yet
    #[arg(long)]
    init_admin: bool,
    /// Deploy this module file; may be given several times
    #[arg(long, value_name = "FILE")]
    apply: Vec<PathBuf>,
}

impl Serve {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let config = self.settings.config()?;
        // The files are read before the start, so that a missing file prevents the start.
        let sources = self.apply.iter().map(|file| Ok((file, ModuleFile::read(file)?)));
        let sources: Vec<(&PathBuf, ModuleFile)> = sources.collect::<Result<_, CliError>>()?;
        let clock = Clock::system();
        let node = config.node_name(config.listen);
        let place = self.settings.place.leads_to_database(&config);
        let telemetry = Telemetry::start(&config.log, &config.otlp, &node, clock.clone())?;
        let file = self.settings.place.file();
        if let Some((problem, help)) = file.and_then(|file| doctor::open_configuration(&file)) {
            tracing::warn!(%problem, %help, "the configuration file is open to other users");
        }
        // Signals are handled from here on, so that a signal during the start is not lost.
        let (interrupt, terminate) = (of(SignalKind::interrupt())?, of(SignalKind::terminate())?);
        let app = App::start(config, Arc::new(telemetry), clock.clone()).await?;
        if let Err(error) = self.prepare(&app, &clock, &place, sources).await {
            // The services that have started shut down cleanly before the error is reported.
            app.run_until(std::future::ready(())).await?;
            return Err(error);
        }
        Ok(app.run_until(asked_to_stop(interrupt, terminate)).await?)
    }

    /// Carries out what the flags request, before the server counts as ready. `place` is the flag
    /// that leads other commands to the database.
    async fn prepare(
        &self,
        app: &App,
        clock: &Clock,
        place: &str,
        sources: Vec<(&PathBuf, ModuleFile)>,
    ) -> Result<(), CliError> {
        if self.init_admin {
            init_admin(app, clock).await?;
        } else if users::is_empty(app.store().read()).await? {
            output::line(format!(
                "There is no user yet: add the first with 'carillon user add NAME --role admin \
                 {place}', as the system user of this server, or start with --init-admin"
            ))?;
        }
        for (file, source) in sources {
            deploy(app, &source).await.map_err(|error| {
                let problem = format!("{}: {error}", file.display());
                ClientError::Refused { action: "apply the module", problem }
            })?;
        }
        output::line(format!("Carillon is ready at http://{}", app.address()))?;
        notify::ready();
        Ok(())
    }
}

/// Deploys a module with the permissions of a user with a shell on this machine.
async fn deploy(app: &App, file: &ModuleFile) -> Result<(), CommandError> {
    let editor = local_operator().editor()?;
    let call = Call::new("deployModule", &file.text, None)?;
    let source = DeploymentSource { format: file.format, ..DeploymentSource::yaml(&file.text) };
    let deployed = app.commands().deploy(&editor, source, &call).await?;
    tracing::info!(module = deployed.module, changes = deployed.changes.len(), "applied");
    Ok(())
}

/// Creates the first user if there is none.
async fn init_admin(app: &App, clock: &Clock) -> Result<(), CliError> {
    if !users::is_empty(app.store().read()).await? {
        return Ok(());
    }
    let password = random_password()?;
    let user = NewUser {
        name: "admin".to_owned(),
        password: password.clone(),
        password_use: PasswordUse::Once,
        role: Role::Admin,
        sees_payloads: true,
    };
    let owner = local_operator().owner()?;
    add_user(&owner, app.store(), clock, user).await?;
    output::line(format!(
        "User 'admin' with the password '{}': for the first sign-in, at which you choose your own",
        password.expose_secret()
    ))
}

fn of(kind: SignalKind) -> Result<Signal, CliError> {
    signal(kind).map_err(CliError::io("listen for signals"))
}

/// Returns at the first signal. A second signal makes the process exit immediately.
async fn asked_to_stop(mut interrupt: Signal, mut terminate: Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::warn!("asked to stop a second time: ending at once");
        std::process::exit(1);
    });
}
