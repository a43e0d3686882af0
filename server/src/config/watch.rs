use std::{net::SocketAddr, path::PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::{UnreadFile, check::BadSetting, key_text};

/// The minimum length of a token, so that it cannot be guessed.
const MIN: usize = 16;

/// Who may read health and metrics. Without a token, anyone who can reach the port may.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watch {
    /// A file with the token for monitoring.
    pub token_file: Option<PathBuf>,
    /// The token itself, for the environment.
    pub token: Option<SecretString>,
    /// A second address to listen on, only for probes.
    pub listen: Option<SocketAddr>,
}

/// Why a configured token cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NoToken {
    /// The token's file cannot be read.
    #[error(transparent)]
    Unread(#[from] UnreadFile),
    /// The file's content is not a valid token.
    #[error("use watch.token_file: {0}")]
    Bad(#[from] BadSetting),
}

impl Watch {
    /// The token, if one is required to read health and metrics.
    pub fn token(&self) -> Result<Option<SecretString>, NoToken> {
        let (token, file) = (self.token.as_ref(), self.token_file.as_ref());
        let token = key_text::text("watch.token_file", token, file)?;
        token.as_ref().map_or(Ok(()), is_token)?;
        Ok(token)
    }

    /// The first invalid setting of this section.
    pub(super) fn check(&self) -> Result<(), BadSetting> {
        if self.token.is_some() && self.token_file.is_some() {
            let (problem, help) = ("is given twice, as text and as a file", "leave one out");
            return Err(BadSetting::new("watch.token", "***", problem, help));
        }
        self.token.as_ref().map_or(Ok(()), is_token)
    }
}

fn is_token(token: &SecretString) -> Result<(), BadSetting> {
    let text = token.expose_secret();
    let problem = if text.len() < MIN {
        format!("has fewer than {MIN} characters")
    } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        "has something other than letters, digits and signs".to_owned()
    } else {
        return Ok(());
    };
    let help = "give what 'openssl rand -hex 24' prints";
    Err(BadSetting::new("watch.token", "***", problem, help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_can_be_guessed_or_cannot_be_sent_is_refused() {
        let problem = |token: &str| {
            let watch = Watch { token: Some(token.into()), ..Watch::default() };
            assert_eq!(watch.check().is_err(), watch.token().is_err());
            watch.check().err().map(|bad| bad.to_string())
        };
        assert_eq!(problem("0123456789abcdef"), None);
        let short = problem("hush").unwrap();
        assert!(short.starts_with("watch.token: '***' has fewer than 16 characters"), "{short}");
        assert!(problem("with blanks and more").unwrap().contains("something other"));
        let twice =
            Watch { token: Some("x".into()), token_file: Some("x".into()), ..Watch::default() };
        assert!(twice.check().unwrap_err().to_string().contains("is given twice"));
    }
}
