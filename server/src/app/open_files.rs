use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the open-file limit as far as this process may, because runs, connections and subscribers
/// need files. Programs that this process starts get the usual limit again
/// (`commands.max_open_files`).
pub(super) fn raise_open_files() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    if soft < hard
        && let Err(error) = setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
    {
        tracing::warn!(soft, hard, %error, "failed to raise the limit of open files");
    }
}

/// Maximum number of files that this process may open.
pub(super) fn open_files() -> u64 {
    const USUAL: u64 = 1_024;
    getrlimit(Resource::RLIMIT_NOFILE).map_or(USUAL, |(soft, _)| soft)
}
