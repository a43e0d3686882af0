use entity::user::Role;
use uuid::Uuid;

use super::{CliError, flags::Place};
use crate::{
    app,
    clock::Clock,
    engine::commands::{Admin, Viewer, ViewerKind},
    store::Store,
};

/// The database that the configuration names, in the hands of somebody with a shell beside it.
pub(super) struct Office {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) admin: Admin,
}

impl Office {
    /// Opens it; a server may be running on it.
    pub(super) async fn open(place: &Place) -> Result<Self, CliError> {
        let config = place.config()?;
        let store = Store::open(&app::database(&config)).await?;
        Ok(Self { store, clock: Clock::system(), admin: somebody_here().admin()? })
    }
}

/// Whoever can run this program on this machine may do everything; the audit log calls them `cli`.
pub(super) fn somebody_here() -> Viewer {
    Viewer {
        id: Uuid::nil(),
        name: "cli".to_owned(),
        kind: ViewerKind::User,
        role: Role::Admin,
        source: "cli".to_owned(),
    }
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
