use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use nix::unistd::{Gid, getegid, geteuid, getgroups};

use super::Finding;
use crate::{app, config::Config, store::alerts::sealed::SealedChannel, vault::VaultError};

/// Permission bits of a file for other users, and for its group.
const OTHERS: u32 = 0o007;
const GROUP: u32 = 0o070;
const GROUP_WRITES: u32 = 0o020;

/// One sample of stored data per key, to test whether the keys can decrypt it.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) secrets: Vec<(String, String)>,
    pub(super) channels: Vec<SealedChannel>,
}

impl Samples {
    fn keys(&self) -> impl Iterator<Item = &str> {
        let of_channels = self.channels.iter().map(|channel| &*channel.key_id);
        self.secrets.iter().map(|(key, _)| &**key).chain(of_channels)
    }
}

/// Checks whether the configured keys can decrypt the stored data.
pub(super) fn examine(config: &Config, samples: Option<&Samples>) -> Finding {
    const CHECK: &str = "secrets";
    let vault = match app::vault(config) {
        Ok(vault) => vault,
        Err(error) => {
            let help = "put what 'carillon secret new-key' prints into that file, or the file in \
                        its place: without the right key no secret can be opened again";
            return Finding::error(CHECK, format!("failed to {error}"), help);
        }
    };
    let Some(samples) = samples else {
        let found = "the keys can be read; which of them is needed could not be determined";
        return Finding::ok(CHECK, found);
    };
    match vault.opens(&samples.secrets).and_then(|()| vault.opens_channels(&samples.channels)) {
        Ok(()) => {}
        Err(error @ VaultError::OtherKey { .. }) => {
            let help = "give the key that docs/secrets.md has you keep apart from the database; if \
                        it is lost, 'carillon secret delete' works without";
            return Finding::error(CHECK, format!("failed to {error}"), help);
        }
        Err(error) => {
            return Finding::error(CHECK, format!("failed to {error}"), "see docs/secrets.md");
        }
    }
    match vault.current() {
        Err(_) if samples.keys().next().is_none() => {
            Finding::ok(CHECK, "there are none, and no key for them")
        }
        Ok(_) if samples.keys().next().is_none() => {
            Finding::ok(CHECK, "there are none yet; there is a key for them")
        }
        Ok(current) if samples.keys().any(|key| key != current) => {
            let found = "some are still encrypted with the previous key";
            let help = "run 'carillon secret rotate', and then remove secrets.previous_key_file";
            Finding::warning(CHECK, found, help)
        }
        Ok(_) | Err(_) => Finding::ok(CHECK, "the key decrypts all of them"),
    }
}

/// Finds files with a key or a password that users other than the server's may read.
pub(super) fn files(config: &Config) -> Vec<Finding> {
    let secrets = &config.secrets;
    let client = config.oidc.as_ref().and_then(|oidc| oidc.client_secret_file.as_ref());
    let watch = config.watch.token_file.as_ref();
    let files = [secrets.key_file.as_ref(), secrets.previous_key_file.as_ref(), client, watch];
    files.into_iter().flatten().filter_map(|file| open_to_others(file)).collect()
}

fn open_to_others(file: &Path) -> Option<Finding> {
    let found = fs::metadata(file).ok()?;
    judge(file, found.permissions().mode(), is_of(Gid::from_raw(found.gid())))
}

/// Whether the server's user is in this group, as far as this user can tell: root checks on behalf
/// of another user.
fn is_of(group: Gid) -> bool {
    let is_supplementary = || getgroups().is_ok_and(|groups| groups.contains(&group));
    geteuid().is_root() || group == getegid() || is_supplementary()
}

/// Judges the permissions of a file. Root may own it, if the server reads it through its group.
fn judge(file: &Path, mode: u32, is_of_group: bool) -> Option<Finding> {
    let name = file.display();
    let of_group = if is_of_group { GROUP_WRITES } else { GROUP };
    let found = if mode & OTHERS > 0 {
        format!("every user of this machine may use '{name}'")
    } else if mode & of_group == 0 {
        return None;
    } else if is_of_group {
        format!("the group of '{name}' may change it, and the server only reads it")
    } else {
        format!("the group of '{name}' may use it, and this user is not of that group")
    };
    let right = mode & 0o777 & !(OTHERS | of_group);
    Some(Finding::warning("permissions", found, format!("chmod {right:o} '{name}'")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_on_a_file_names_only_wrong_permissions() {
        let help = |mode: u32, is_of_group| {
            judge(Path::new("a.key"), 0o100000 | mode, is_of_group).and_then(|found| found.help)
        };
        let change = |mode: &str| Some(format!("chmod {mode} 'a.key'"));
        // The permissions as packages install the file: owned by root, readable by the server's
        // group.
        assert_eq!([help(0o640, true), help(0o600, true), help(0o400, false)], [None, None, None]);
        assert_eq!(help(0o644, true), change("640"));
        assert_eq!(help(0o660, true), change("640"));
        assert_eq!(help(0o640, false), change("600"));
        assert_eq!(help(0o444, false), change("400"));
    }
}
