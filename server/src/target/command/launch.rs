use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io,
    os::{fd::OwnedFd, unix::fs::fchown},
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    sys::resource::{Resource, getrlimit},
    unistd::{Pid, Uid, User},
};
use serde::{Deserialize, Serialize};

use super::{
    accounts::Accounts,
    confinement::Confinement,
    prepare::PreparedProgram,
    process::{Image, ProcessStarter},
    user::check_account,
};
use crate::target::{CommandLimits, text::WithSeparators};

/// A program to start, with everything that it needs except its files.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct Launch {
    pub(super) invoked: PreparedProgram,
    pub(super) variables: Vec<(String, String)>,
    pub(super) directory: Option<PathBuf>,
    /// The user to run as, if it is not the server's own.
    pub(super) user: Option<String>,
    pub(super) limits: CommandLimits,
}

impl Launch {
    /// Starts the program in its own process group, and gives `files` to its user. Returns the
    /// reason if the start fails.
    pub(super) fn start(
        &self,
        starter: &ProcessStarter,
        accounts: &Accounts,
        streams: [OwnedFd; 3],
        files: &[OwnedFd],
    ) -> Result<Pid, String> {
        let program = &self.invoked.program;
        let failed = |reason: String| format!("could not start {program}: {reason}");
        let account = self.account(accounts).map_err(failed)?;
        let directory = self.directory(account.as_ref());
        let other = account.as_ref().filter(|_| self.user.is_some());
        let confinement = Confinement::new(other, &directory, self.limits).map_err(failed)?;

        if let Some(other) = other {
            let (user, group) = (other.uid.as_raw(), other.gid.as_raw());
            for file in files {
                fchown(file, Some(user), Some(group))
                    .map_err(|error| failed(format!("its files: {error}")))?;
            }
        }
        let user = other.map(|user| &*user.name);
        Image::new(program, &self.invoked.args, &self.environment(account.as_ref()))
            .and_then(|image| starter.start(&image, streams, &confinement))
            .map_err(|error| failed(reason(&error, &directory, user)))
    }

    /// The program's complete environment.
    fn environment<'a>(&'a self, account: Option<&'a User>) -> BTreeMap<&'a OsStr, &'a OsStr> {
        let mut all = BTreeMap::new();
        if let Some(account) = account {
            all.insert(OsStr::new("HOME"), account.dir.as_os_str());
            all.insert(OsStr::new("SHELL"), account.shell.as_os_str());
            all.insert(OsStr::new("USER"), OsStr::new(&account.name));
            all.insert(OsStr::new("LOGNAME"), OsStr::new(&account.name));
        }
        let own = self.variables.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        all.extend(own);
        all
    }

    /// The user to run as; `None` if the server's own user has no account.
    fn account(&self, accounts: &Accounts) -> Result<Option<User>, String> {
        let Some(name) = &self.user else {
            return accounts.find(None).map_err(|error| error.to_string());
        };
        match accounts.find(Some(name)) {
            Ok(Some(account)) => {
                check_account(&account, Uid::effective())?;
                Ok(Some(account))
            }
            Ok(None) => Err(format!("there is no user {name:?} on this node")),
            Err(error) => Err(format!("the user {name:?} could not be looked up: {error}")),
        }
    }

    /// The program's working directory. By default it is the user's home, as with cron.
    fn directory(&self, account: Option<&User>) -> PathBuf {
        let home = || account.map(|account| account.dir.clone()).filter(|home| home.is_dir());
        self.directory.clone().or_else(home).unwrap_or_else(|| PathBuf::from("/"))
    }
}

/// The reason for a failed start. The system's "not found" and "permission denied" can each mean
/// the directory or the program.
fn reason(error: &io::Error, directory: &Path, user: Option<&str>) -> String {
    if !directory.is_dir() {
        format!("there is no directory {}", directory.display())
    } else if error.kind() == io::ErrorKind::NotFound {
        "there is no such program".to_owned()
    } else if let Some(user) = user.filter(|_| error.kind() == io::ErrorKind::PermissionDenied) {
        let directory = directory.display();
        format!("{error}: the user {user} may not start it, or not enter the directory {directory}")
    } else {
        words(error)
    }
}

/// The system's message. If it is about a limit, the message also names that limit.
pub(super) fn words(error: &io::Error) -> String {
    if error.raw_os_error() != Some(Errno::EMFILE as i32) {
        return error.to_string();
    }
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, _)) => format!(
            "all {} files that this server may have open are open (RLIMIT_NOFILE); raise the limit \
             (LimitNOFILE= of the systemd unit, 'ulimit -n'), or lower node.capacity",
            WithSeparators(soft)
        ),
        Err(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_named() {
        let said = words(&Errno::EMFILE.into());
        assert!(said.contains("files that this server may have open are open (RLIMIT_NOFILE)"));
        assert_eq!(words(&Errno::EACCES.into()), "Permission denied (os error 13)");
    }
}
