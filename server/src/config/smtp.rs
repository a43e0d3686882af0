use secrecy::SecretString;
use serde::Deserialize;

use super::check::BadSetting;

/// The mail server for alerts. Without a host, no mails are sent.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Smtp {
    /// The mail server's host name or address.
    pub host: Option<String>,
    /// The mail server's port.
    pub port: u16,
    /// How the connection is encrypted.
    pub tls: SmtpTls,
    /// The user to sign in as; no sign-in if absent.
    pub username: Option<String>,
    /// The password of that user.
    pub password: Option<SecretString>,
    /// The sender's address.
    pub from: Option<String>,
}

/// How a connection to a mail server is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SmtpTls {
    /// The connection begins unencrypted and must switch to TLS before anything is sent: port 587.
    #[default]
    Starttls,
    /// The connection uses TLS from the first byte: port 465.
    Tls,
    /// The connection is not encrypted: for a relay on the same machine.
    None,
}

impl Default for Smtp {
    fn default() -> Self {
        Self {
            host: None,
            port: 587,
            tls: SmtpTls::default(),
            username: None,
            password: None,
            from: None,
        }
    }
}

impl Smtp {
    /// The first invalid setting of this section.
    pub(super) fn check(&self) -> Result<(), BadSetting> {
        let Some(host) = &self.host else { return Ok(()) };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-:".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_name) {
            let help = "give the name or the address of a mail server, and its port as smtp.port";
            return Err(BadSetting::new("smtp.host", host.escape_debug(), "is not a host", help));
        }
        let from = self.from.as_deref().unwrap_or_default();
        if from.parse::<lettre::Address>().is_err() {
            let help = "give the address that mails come from, as in carillon@example.com";
            return Err(BadSetting::new(
                "smtp.from",
                from.escape_debug(),
                "is not an address",
                help,
            ));
        }
        if self.username.is_some() != self.password.is_some() {
            let (given, missing) = if self.username.is_some() {
                ("username", "password")
            } else {
                ("password", "username")
            };
            let field = if self.username.is_some() { "smtp.password" } else { "smtp.username" };
            let problem = format!("is not given, and smtp.{given} is");
            let help = format!("give smtp.{missing}, too, or leave both out");
            return Err(BadSetting::new(field, "", problem, help));
        }
        if self.username.is_some() && self.tls == SmtpTls::None {
            let help = "take smtp.tls = \"starttls\" or \"tls\", or leave out user name and \
                        password";
            let problem = "would send smtp.password unencrypted";
            return Err(BadSetting::new("smtp.tls", "none", problem, help));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(change: impl FnOnce(&mut Smtp)) -> String {
        let mut smtp = Smtp {
            host: Some("mail.example.com".to_owned()),
            from: Some("carillon@example.com".to_owned()),
            ..Smtp::default()
        };
        change(&mut smtp);
        smtp.check().map_or_else(|bad| bad.to_string(), |()| String::new())
    }

    #[test]
    fn contradictory_settings_are_named() {
        assert_eq!(problem(|_| {}), "");
        assert!(problem(|smtp| smtp.from = None).starts_with("smtp.from: '' is not an address"));
        assert!(problem(|smtp| smtp.host = Some("a b".to_owned())).starts_with("smtp.host"));
        let lonely = problem(|smtp| smtp.username = Some("ada".to_owned()));
        assert!(lonely.starts_with("smtp.password: '' is not given"), "{lonely}");
        let clear = problem(|smtp| {
            (smtp.username, smtp.password) = (Some("ada".to_owned()), Some("hush".into()));
            smtp.tls = SmtpTls::None;
        });
        assert!(clear.starts_with("smtp.tls: 'none' would send") && !clear.contains("hush"));
    }
}
