use std::{
    fs::File,
    io,
    os::unix::fs::fchown,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use nix::unistd::{Uid, User};
use tokio::process::{Child, Command};

use super::{prepare::Invoked, tether::tether};

/// A program to start, with all that it needs.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) invoked: Invoked,
    pub(super) variables: Vec<(String, String)>,
    pub(super) directory: Option<PathBuf>,
    pub(super) user: Option<String>,
    /// The file that the program may write into.
    pub(super) output: Arc<File>,
}

impl Launch {
    /// Starts the program in a group of its own. Fails with the reason in words.
    pub(super) fn start(self) -> Result<Child, String> {
        let program = &self.invoked.program;
        let failed = |reason: String| format!("could not start {program}: {reason}");
        let account = self.account().map_err(failed)?;
        let directory = self.directory(account.as_ref());

        let mut command = Command::new(program);
        command
            .args(&self.invoked.args)
            .env_clear()
            .current_dir(&directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(account) = &account {
            command
                .env("HOME", &account.dir)
                .env("SHELL", &account.shell)
                .env("USER", &account.name)
                .env("LOGNAME", &account.name);
            if self.user.is_some() {
                // The standard library drops the supplementary groups with them.
                let (user, group) = (account.uid.as_raw(), account.gid.as_raw());
                command.uid(user).gid(group);
                fchown(&*self.output, Some(user), Some(group))
                    .map_err(|error| failed(format!("its output file: {error}")))?;
            }
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        tether(&mut command);
        command.spawn().map_err(|error| failed(reason(&error, &directory)))
    }

    /// The user to run as; none where the server's own user has no account.
    fn account(&self) -> Result<Option<User>, String> {
        let Some(name) = &self.user else {
            return User::from_uid(Uid::effective()).map_err(|error| error.to_string());
        };
        match User::from_name(name) {
            Ok(Some(account)) => Ok(Some(account)),
            Ok(None) => Err(format!("there is no user {name:?} on this node")),
            Err(error) => Err(format!("the user {name:?} could not be looked up: {error}")),
        }
    }

    /// As cron does it, a program begins at home.
    fn directory(&self, account: Option<&User>) -> PathBuf {
        let home = || account.map(|account| account.dir.clone()).filter(|home| home.is_dir());
        self.directory.clone().or_else(home).unwrap_or_else(|| PathBuf::from("/"))
    }
}

/// The system says "not found" of the directory and of the program alike.
fn reason(error: &io::Error, directory: &Path) -> String {
    if !directory.is_dir() {
        format!("there is no directory {}", directory.display())
    } else if error.kind() == io::ErrorKind::NotFound {
        "there is no such program".to_owned()
    } else {
        error.to_string()
    }
}
