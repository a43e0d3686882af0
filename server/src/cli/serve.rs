use std::sync::Arc;

use clap::Args;
use entity::user::Role;
use secrecy::ExposeSecret;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{CliError, flags::Settings, offline::somebody_here, output};
use crate::{
    app::App,
    clock::Clock,
    engine::people::{NewUser, add_user, random_password},
    store::users,
    telemetry::Telemetry,
};

/// Run the server
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    settings: Settings,
    /// Make the user 'admin' with a random password and print it, if there is no user yet
    #[arg(long)]
    init_admin: bool,
}

impl Serve {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let config = self.settings.config()?;
        let clock = Clock::system();
        let node = config.node_name(config.listen);
        let telemetry = Telemetry::start(&config.log, &config.otlp, &node, clock.clone())?;
        // Listened for from the start: a signal during the start is not lost.
        let stop = (of(SignalKind::interrupt())?, of(SignalKind::terminate())?);
        let app = App::start(config, Arc::new(telemetry), clock.clone()).await?;
        if self.init_admin {
            init_admin(&app, &clock).await?;
        }
        output::line(format!("Carillon is ready at http://{}", app.address()))?;
        Ok(app.run_until(asked_to_stop(stop)).await?)
    }
}

/// The first user, when there is none.
async fn init_admin(app: &App, clock: &Clock) -> Result<(), CliError> {
    if !users::is_empty(app.store().read()).await? {
        return Ok(());
    }
    let password = random_password()?;
    let user = NewUser { name: "admin".to_owned(), password: password.clone(), role: Role::Admin };
    add_user(&somebody_here()?, app.store(), clock, user).await?;
    output::line(format!(
        "User 'admin' with the password '{}': written nowhere else, so keep it",
        password.expose_secret()
    ))
}

fn of(kind: SignalKind) -> Result<Signal, CliError> {
    signal(kind).map_err(CliError::io("listen for signals"))
}

/// Ready at the first signal. At the second the process ends where it is.
async fn asked_to_stop((mut interrupt, mut terminate): (Signal, Signal)) {
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
