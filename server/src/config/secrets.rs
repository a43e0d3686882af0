use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

use super::{UnreadFile, key_text};

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
}
