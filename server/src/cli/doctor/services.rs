use super::Finding;
use crate::{app, clock::Clock, config::Config};

/// Checks the identity provider, if one is configured. Servers start without it, and passwords
/// still work.
pub(super) async fn identity(config: &Config, clock: &Clock) -> Option<Finding> {
    const CHECK: &str = "sign-in";
    let issuer = &config.oidc.as_ref()?.issuer;
    let provider = match app::provider(config, config.listen, clock) {
        Ok(provider) => provider?,
        Err(error) => {
            let help = "fix oidc in the configuration";
            return Some(Finding::error(CHECK, format!("failed to {error}"), help));
        }
    };
    Some(match provider.look().await {
        Ok(()) => Finding::ok(CHECK, format!("{issuer} provides what a sign-in needs")),
        Err(error) => {
            let help = "open oidc.issuer with /.well-known/openid-configuration appended: its \
                        \"issuer\" must be the same, letter for letter. A provider in a private \
                        network needs oidc.private_addresses, one with a certificate of your own \
                        egress.ca_file";
            Finding::error(CHECK, format!("{issuer}: failed to {error}"), help)
        }
    })
}

/// Checks the mail server, if one is configured. No mail is sent.
pub(super) async fn mails(config: &Config) -> Option<Finding> {
    const CHECK: &str = "mail";
    let smtp = &config.smtp;
    let place = format!("{}:{}", smtp.host.as_deref()?, smtp.port);
    let mailer = match app::mailer(config) {
        Ok(mailer) => mailer?,
        Err(error) => {
            let help = "fix smtp in the configuration";
            return Some(Finding::error(CHECK, format!("failed to {error}"), help));
        }
    };
    Some(match mailer.look().await {
        Ok(()) if smtp.username.is_some() => {
            Finding::ok(CHECK, format!("{place} lets this server sign in"))
        }
        Ok(()) => Finding::ok(CHECK, format!("{place} answers")),
        Err(why) => {
            let help = "check smtp.host, smtp.port, smtp.tls, smtp.username and smtp.password; a \
                        certificate of your own goes into egress.ca_file";
            Finding::error(CHECK, format!("{place}: {why}"), help)
        }
    })
}
