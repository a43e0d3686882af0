//! The encryption key that a server creates itself if none is configured, so that secrets and alert
//! channels work at once. It does so only on SQLite, at the first start, and stores the key next to
//! the database.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use secrecy::ExposeSecret;

use crate::{
    config::{Config, Secrets},
    store,
    vault::{EncryptionKey, NotAKey, Vault},
};

/// The path of the key that the server creates: `carillon.db.key` next to `carillon.db`. `None` if
/// a key is configured, or if the database is not a file.
fn place(config: &Config) -> Option<PathBuf> {
    let configured = config.secrets.key.is_some() || config.secrets.key_file.is_some();
    let database = store::file_of(config.database.url.expose_secret())?;
    let mut name = database.file_name()?.to_owned();
    name.push(".key");
    (!configured).then(|| database.with_file_name(name))
}

/// The settings for secrets, with the key that the server created earlier.
pub(super) fn with_own_key(config: &Config) -> Secrets {
    let made = place(config).filter(|path| path.exists());
    Secrets { key_file: made.or_else(|| config.secrets.key_file.clone()), ..config.secrets.clone() }
}

/// The vault. If there is no key and one may be created, creates a key. If the key cannot be
/// stored, the server still starts, but secrets are unavailable, as on PostgreSQL without a key.
pub(super) fn make_own_key(vault: Vault, config: &Config) -> Vault {
    let Some(path) = place(config).filter(|_| vault.current().is_err()) else { return vault };
    match make(&path) {
        Ok(key) => {
            let path = path.display();
            tracing::info!(
                %path,
                key_id = key.id(),
                "created a key for secrets; keep a copy of it"
            );
            Vault::new(key, None)
        }
        Err(error) => {
            let path = path.display();
            tracing::warn!(
                %path,
                %error,
                "failed to create a key for secrets; secrets are unavailable"
            );
            vault
        }
    }
}

/// Writes a new key to a file that only this user can read. The file gets its name once it is
/// complete, so that a crash leaves all of it or nothing.
fn make(path: &Path) -> io::Result<EncryptionKey> {
    let text = EncryptionKey::random().map_err(io::Error::other)?;
    let mut being_made = path.to_owned().into_os_string();
    being_made.push(".new");
    let being_made = PathBuf::from(being_made);
    match fs::remove_file(&being_made) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&being_made)?;
    writeln!(file, "{}", text.expose_secret())?;
    file.sync_all()?;
    fs::rename(&being_made, path)?;
    EncryptionKey::read(text.expose_secret()).map_err(|error: NotAKey| io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn config(url: &str) -> Config {
        let mut config = Config::default();
        config.database.url = url.to_owned().into();
        config
    }

    #[test]
    fn a_key_is_made_once_beside_the_database_for_this_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(&format!("sqlite:{}", folder.path().join("carillon.db").display()));
        assert_eq!(with_own_key(&config).key_file, None);
        let made = make_own_key(Vault::default(), &config);
        let path = folder.path().join("carillon.db.key");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(with_own_key(&config).key_file.as_ref(), Some(&path));
        let read = EncryptionKey::read(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(made.current().unwrap(), read.id());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn no_key_is_made_where_one_is_configured_or_the_database_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("carillon.db").display());
        let mut configured = config(&url);
        configured.secrets.key = Some("ab".repeat(32).into());
        let postgres = config("postgres://carillon@db/carillon");
        for config in [configured, postgres] {
            assert!(make_own_key(Vault::default(), &config).current().is_err());
            assert_eq!(with_own_key(&config).key_file, None);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_server_that_cannot_store_a_key_starts_without_one() {
        let config = config("sqlite:/nope/carillon.db");
        assert!(make_own_key(Vault::default(), &config).current().is_err());
    }
}
