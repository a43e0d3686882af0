use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use nix::{
    sys::statvfs::statvfs,
    unistd::{AccessFlags, access},
};
use secrecy::ExposeSecret;
use toml::{Table, Value};

use super::{super::backup::megabytes, Finding};
use crate::{config::Config, store::backup};

/// The settings that are secrets themselves.
const SECRETS: [&str; 5] =
    ["oidc.client_secret", "secrets.key", "secrets.previous_key", "smtp.password", "watch.token"];

/// Permission bits of a file for others.
const OTHERS_READ: u32 = 0o004;
const OTHERS_ENTER: u32 = 0o001;
const OTHERS_WRITE: u32 = 0o002;

/// Free bytes below which the disk will soon be full.
const LITTLE: u64 = 1_000_000_000;
/// Free bytes below which writes will soon fail.
const NOTHING: u64 = 100_000_000;

/// Finds a configuration file with secrets that every user of the machine may read.
pub(super) fn configuration(file: &Path) -> Option<Finding> {
    const CHECK: &str = "configuration";
    let text = fs::read_to_string(file).ok()?;
    let is_open =
        fs::metadata(file).is_ok_and(|found| found.permissions().mode() & OTHERS_READ > 0);
    let secrets = if is_open { secrets(&text) } else { Vec::new() };
    if secrets.is_empty() {
        return None;
    }
    let (shown, secrets) = (file.display(), secrets.join(", "));
    let found = format!(
        "'{shown}' has a password or a key ({secrets}), and every user of this machine may read it"
    );
    Some(Finding::warning(CHECK, found, format!("chmod o= '{shown}'")))
}

/// The settings of a file that contain a secret: secrets themselves, and URLs with a password.
fn secrets(text: &str) -> Vec<String> {
    let Ok(table) = text.parse::<Table>() else { return Vec::new() };
    let mut found = Vec::new();
    seek(String::new(), &Value::Table(table), &mut found);
    found
}

fn seek(name: String, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Table(table) => {
            let under = |key: &str| match &*name {
                "" => key.to_owned(),
                name => format!("{name}.{key}"),
            };
            table.iter().for_each(|(key, value)| seek(under(key), value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| seek(name.clone(), value, found)),
        Value::String(text) => {
            if (SECRETS.contains(&&*name) && !text.is_empty()) || has_password(text) {
                found.push(name);
            }
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

/// Whether a text is a URL with a password, before its host or among its parameters.
fn has_password(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else { return false };
    let before_host = rest.split(['/', '?']).next().and_then(|part| part.rsplit_once('@'));
    let is_given = before_host.is_some_and(|(who, _)| {
        who.split_once(':').is_some_and(|(_, password)| !password.is_empty())
    });
    is_given || rest.split(['?', '&']).skip(1).any(|pair| pair.starts_with("password="))
}

/// Checks the database's file, its folder and its disk; nothing if the database is not a file.
pub(super) fn data(config: &Config) -> Vec<Finding> {
    let Ok(file) = backup::file_of(config.database.url.expose_secret()) else { return Vec::new() };
    let folder = existing_folder(&file);
    let mut found = vec![writable(&file, &folder)];
    found.extend(open_to_others(&file, &folder));
    found.extend(disk(&folder));
    found
}

/// The file's folder, or the nearest existing folder above it, or whatever exists in its place.
fn existing_folder(file: &Path) -> PathBuf {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let folder = absolute.ancestors().skip(1).find(|folder| folder.exists());
    folder.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn writable(file: &Path, folder: &Path) -> Finding {
    const CHECK: &str = "data folder";
    if !folder.is_dir() {
        let found = format!("'{}' is not a folder", folder.display());
        return Finding::error(CHECK, found, "create it, or choose another database.url");
    }
    for place in [folder, file] {
        // SQLite creates its write-ahead log beside the file, so the folder must be writable, too.
        if place.exists() && access(place, AccessFlags::W_OK | AccessFlags::R_OK).is_err() {
            let found = format!("'{}' cannot be written by this user", place.display());
            let help = "give it to the server's user (chown), or choose another database.url";
            return Finding::error(CHECK, found, help);
        }
    }
    Finding::ok(CHECK, format!("'{}' can be written", folder.display()))
}

/// Finds a database that other users may read. It contains the contexts and outputs of runs, and
/// password hashes.
fn open_to_others(file: &Path, folder: &Path) -> Option<Finding> {
    const CHECK: &str = "permissions";
    let mode = |path: &Path| fs::metadata(path).map(|found| found.permissions().mode());
    let (of_file, of_folder) = (mode(file).ok()?, mode(folder).ok()?);
    let (file, folder) = (file.display(), folder.display());
    if of_folder & OTHERS_WRITE > 0 && of_folder & 0o1000 == 0 {
        let found = format!("every user of this machine may replace what is in '{folder}'");
        return Some(Finding::warning(CHECK, found, format!("chmod o= '{folder}'")));
    }
    if of_folder & OTHERS_ENTER > 0 && of_file & OTHERS_READ > 0 {
        let found = format!("every user of this machine may read '{file}'");
        let help = format!("chmod o= '{folder}', or chmod o= '{file}'*");
        return Some(Finding::warning(CHECK, found, help));
    }
    Some(Finding::ok(CHECK, format!("'{file}' is closed to others")))
}

fn disk(folder: &Path) -> Option<Finding> {
    let seen = statvfs(folder).ok()?;
    let free = seen.blocks_available().saturating_mul(seen.fragment_size());
    Some(judge_disk(free, folder))
}

fn judge_disk(free: u64, folder: &Path) -> Finding {
    const CHECK: &str = "disk";
    let found = format!("{} are free at '{}'", megabytes(free), folder.display());
    let help = "free some space, or keep history for fewer days (retention.days)";
    if free < NOTHING {
        Finding::error(CHECK, found, help)
    } else if free < LITTLE {
        Finding::warning(CHECK, found, help)
    } else {
        Finding::ok(CHECK, found)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{super::Level, *};

    #[test]
    fn a_secret_is_found_by_its_name_or_in_an_address_but_not_in_a_comment() {
        for (text, name) in [
            ("[secrets]\nkey = \"x\"", "secrets.key"),
            ("secrets = { previous_key = 'x' }", "secrets.previous_key"),
            ("oidc.client_secret = \"x\"", "oidc.client_secret"),
            ("[\"smtp\"]\n\"password\" = \"x\"", "smtp.password"),
            ("[watch]\ntoken = \"x\"", "watch.token"),
            ("[database]\nurl = \"postgres://ada:s3cret@a,b:5433/carillon\"", "database.url"),
            ("[database]\nurl = \"postgres://ada@db/carillon?password=x\"", "database.url"),
            ("[cluster]\nredis_url = \"rediss://:s3cret@redis/0\"", "cluster.redis_url"),
        ] {
            assert_eq!(secrets(text), [name], "{text}");
        }
        for text in [
            "[secrets]\nkey_file = \"/etc/carillon/secrets.key\"",
            "url = \"postgres://ada@db/carillon\"\n# password = \"x\"",
            "public_url = \"https://carillon.example.org/?to=a:b@c\"",
            "[secrets]\nkey = \"\"",
        ] {
            assert_eq!(secrets(text), [""; 0], "{text}");
        }
    }

    /// The check must cover every setting that `Debug` hides, so that no secret is forgotten.
    #[test]
    fn every_setting_that_is_a_secret_is_looked_for() {
        let example = include_str!("../../../../assets/carillon.toml").lines().map(|line| {
            let setting = line.strip_prefix('#').filter(|rest| !rest.starts_with(' '));
            setting.unwrap_or(line)
        });
        let text = example.collect::<Vec<_>>().join("\n");
        let config: Config = toml::from_str(&text).unwrap();
        let shown = format!("{config:?}");
        let hidden = shown.match_indices("REDACTED").map(|(at, _)| {
            shown[..at].rsplit(' ').find_map(|word| word.strip_suffix(':')).unwrap()
        });
        let hidden: BTreeSet<&str> = hidden.collect();
        let known = SECRETS.iter().map(|name| name.rsplit('.').next().unwrap());
        // The database's URL may contain a password.
        assert_eq!(hidden, known.chain(["url"]).collect::<BTreeSet<_>>());
        let found = secrets(&text);
        assert!(SECRETS.iter().all(|name| found.iter().any(|found| found == name)), "{found:?}");
    }

    #[test]
    fn a_disk_is_judged_by_what_is_free() {
        let level = |free| judge_disk(free, Path::new("/data")).level;
        assert_eq!(level(50_000_000), Level::Error);
        assert_eq!(level(500_000_000), Level::Warning);
        assert_eq!(level(50_000_000_000), Level::Ok);
    }
}
