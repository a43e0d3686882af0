//! Servers that the user has signed in to, each with its token, in the user's configuration folder:
//! `$XDG_CONFIG_HOME/carillon/profiles.toml`, or `~/.config/carillon/profiles.toml`.
//!
//! The file contains tokens, so only its owner may read it (0600). Each write creates a new file
//! that then replaces the old one, so an interrupted write loses nothing.

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;
use uuid::Uuid;

use super::{CliError, output};
use crate::config::variable;

/// List the servers that you are signed in to, or choose one
#[derive(Debug, Args)]
pub(super) struct ListProfiles {
    #[command(subcommand)]
    action: Option<Action>,
    /// Answer as JSON, without the tokens
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Use this server for later commands, unless --profile names another
    Use {
        /// The profile's name; see 'carillon profiles'
        name: String,
    },
}

/// A server and the token for it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    pub(super) server: String,
    #[serde(serialize_with = "exposed")]
    pub(super) token: SecretString,
    /// The id of the token, if signing in created the token: then signing out revokes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token_id: Option<Uuid>,
}

/// All profiles, and the one that is used by default.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profiles {
    pub(super) current: Option<String>,
    #[serde(default)]
    pub(super) profiles: BTreeMap<String, Profile>,
}

fn exposed<S: Serializer>(token: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(token.expose_secret())
}

impl Profiles {
    /// The profiles of the current user; none if they have no configuration folder.
    pub(super) fn read() -> Result<Self, CliError> {
        match file() {
            Some(path) => Self::read_from(&path),
            None => Ok(Self::default()),
        }
    }

    fn read_from(path: &Path) -> Result<Self, CliError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(CliError::profiles("read", path, &error)),
        };
        // Only the first line of the parser's message is used: the rest may show a line with a
        // token.
        toml::from_str(&text)
            .map_err(|error: toml::de::Error| CliError::profiles("read", path, &error.message()))
    }

    /// Writes the profiles, readable only by their owner.
    pub(super) fn write(&self) -> Result<PathBuf, CliError> {
        let path = file().ok_or_else(|| {
            CliError::Usage("set HOME or XDG_CONFIG_HOME: there is no place for profiles".into())
        })?;
        self.write_to(&path)?;
        Ok(path)
    }

    fn write_to(&self, path: &Path) -> Result<(), CliError> {
        let failed = |error: &dyn std::fmt::Display| CliError::profiles("write", path, error);
        let text = toml::to_string(self).map_err(|error| failed(&error))?;
        // A symbolic link stays, and the file that it leads to is replaced.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = place.parent().unwrap_or(Path::new("."));
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| failed(&error))?;
        let mut new = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(folder)
            .map_err(|error| failed(&error))?;
        new.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
        new.as_file().sync_all().map_err(|error| failed(&error))?;
        new.persist(&place).map_err(|error| failed(&error.error))?;
        Ok(())
    }

    /// The profile with this name, or the current one.
    pub(super) fn chosen(&self, name: Option<&str>) -> Result<Option<&Profile>, CliError> {
        let Some(name) = name.or(self.current.as_deref()) else { return Ok(None) };
        self.named(name).map(Some)
    }

    /// The profile with this name.
    fn named(&self, name: &str) -> Result<&Profile, CliError> {
        self.profiles.get(name).ok_or_else(|| self.unknown(name))
    }

    /// The error for a name that no profile has.
    pub(super) fn unknown(&self, name: &str) -> CliError {
        let names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
        let there = if names.is_empty() {
            "sign in with 'carillon login'".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        };
        CliError::Usage(format!("there is no profile '{name}'; {there}"))
    }
}

/// The path of the file.
fn file() -> Option<PathBuf> {
    // The XDG specification says to ignore a relative path.
    let folder = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = folder.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")))?;
    Some(folder.join("carillon").join("profiles.toml"))
}

impl ListProfiles {
    pub(super) fn run(self) -> Result<(), CliError> {
        let mut all = Profiles::read()?;
        if let Some(Action::Use { name }) = self.action {
            let server = all.named(&name)?.server.clone();
            all.current = Some(name.clone());
            all.write()?;
            if self.json {
                let chosen = json!({ "name": name, "server": server, "current": true });
                return output::json(&chosen);
            }
            return output::line(format!("later commands ask '{name}': {server}"));
        }
        let is_current = |name: &String| all.current.as_ref() == Some(name);
        if self.json {
            let profiles = all.profiles.iter().map(|(name, profile)| {
                json!({ "name": name, "server": profile.server, "current": is_current(name) })
            });
            return output::json(&profiles.collect::<Vec<_>>());
        }
        let row = |(name, profile): (&String, &Profile)| {
            let mark = if is_current(name) { "*" } else { "" };
            [mark.to_owned(), name.clone(), profile.server.clone()]
        };
        let rows: Vec<[String; 3]> = all.profiles.iter().map(row).collect();
        output::table(["", "PROFILE", "SERVER"], &rows)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn profile(server: &str) -> Profile {
        Profile { server: server.to_owned(), token: "car_secret".to_owned().into(), token_id: None }
    }

    #[test]
    fn profiles_are_kept_for_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("profiles.toml");
        assert!(Profiles::read_from(&path).unwrap().profiles.is_empty());
        let mut all = Profiles { current: Some("a".to_owned()), ..Profiles::default() };
        all.profiles.insert("a".to_owned(), profile("http://a"));
        all.write_to(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let read = Profiles::read_from(&path).unwrap();
        assert_eq!(read.chosen(None).unwrap().unwrap().server, "http://a");
        assert!(!format!("{read:?}").contains("car_secret"));
        let missing = read.chosen(Some("b")).unwrap_err().to_string();
        assert_eq!(missing, "there is no profile 'b'; there are a");
    }

    #[test]
    fn a_link_to_the_profiles_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("dotfiles")).unwrap();
        Profiles::default().write_to(&path("dotfiles/profiles.toml")).unwrap();
        symlink("dotfiles/profiles.toml", path("profiles.toml")).unwrap();
        let mut all = Profiles::default();
        all.profiles.insert("a".to_owned(), profile("http://a"));
        all.write_to(&path("profiles.toml")).unwrap();
        assert!(path("profiles.toml").is_symlink());
        let read = Profiles::read_from(&path("dotfiles/profiles.toml")).unwrap();
        assert!(read.profiles.contains_key("a"));
    }

    #[test]
    fn a_broken_file_is_named_without_its_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profiles.toml");
        fs::write(&path, "[profiles.a]\nserver = 'x'\ntoken = 'car_secret'\ntokn = 'car_secret'\n")
            .unwrap();
        let error = Profiles::read_from(&path).unwrap_err().to_string();
        assert!(error.contains("profiles.toml") && error.contains("tokn"), "{error}");
        assert!(!error.contains("car_secret"), "{error}");
    }
}
