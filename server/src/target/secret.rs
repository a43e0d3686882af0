use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text that must not appear in a log, an error or a debug print.
///
/// It serialises as the text itself, because definitions are stored that way.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(
    rename = "Secret",
    description = "A text that logs and errors do not show. Refer to a stored secret as \
                   `{{ secrets.name }}`."
)]
pub struct SecretText(String);

impl SecretText {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. Use this only where it is needed.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_stored_as_given_and_never_printed() {
        let secret = SecretText::new("whsec_abc");
        assert_eq!(serde_json::to_string(&secret).unwrap(), r#""whsec_abc""#);
        assert_eq!(format!("{secret:?}"), "***");
    }
}
