use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use super::{UnreadFile, check::BadSetting, key_text};

/// The keys that encrypt secrets. Without a key, there are no secrets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Secrets {
    /// A file with the key.
    pub key_file: Option<PathBuf>,
    /// The key itself, for the environment.
    pub key: Option<SecretString>,
    /// A file with a key that only decrypts secrets, during a key rotation.
    pub previous_key_file: Option<PathBuf>,
    /// The previous key itself.
    pub previous_key: Option<SecretString>,
}

impl Secrets {
    /// The text of the current key, with the name of the setting that it comes from.
    pub fn current(&self) -> Result<(&'static str, Option<SecretString>), UnreadFile> {
        let field = if self.key_file.is_some() { "secrets.key_file" } else { "secrets.key" };
        Ok((field, key_text::text(field, self.key.as_ref(), self.key_file.as_ref())?))
    }

    /// The text of the previous key.
    pub fn previous(&self) -> Result<(&'static str, Option<SecretString>), UnreadFile> {
        let from_file = self.previous_key_file.is_some();
        let field = if from_file { "secrets.previous_key_file" } else { "secrets.previous_key" };
        let file = self.previous_key_file.as_ref();
        Ok((field, key_text::text(field, self.previous_key.as_ref(), file)?))
    }

    /// The first invalid setting of this section.
    pub(super) fn check(&self) -> Result<(), BadSetting> {
        let twice = "is given twice, as text and as a file";
        if self.key.is_some() && self.key_file.is_some() {
            return Err(BadSetting::new("secrets.key", "***", twice, "leave one of them out"));
        }
        if self.previous_key.is_some() && self.previous_key_file.is_some() {
            let field = "secrets.previous_key";
            return Err(BadSetting::new(field, "***", twice, "leave one of them out"));
        }
        let has_key = self.key.is_some() || self.key_file.is_some();
        if !has_key && (self.previous_key.is_some() || self.previous_key_file.is_some()) {
            let problem = "is not given, and a previous key is";
            let help = "give the key that encrypts secrets from now on";
            return Err(BadSetting::new("secrets.key_file", "", problem, help));
        }
        Ok(())
    }
}
