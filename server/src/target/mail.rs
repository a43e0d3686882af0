//! Sends mails to people through the configured server.
//!
//! Users name recipients, but the operator chooses the mail server. So the egress guard does not
//! apply to mails: it keeps users from reaching destinations that only this machine can reach. No
//! header of a message can contain a line end: input is reduced to one line first, and the library
//! encodes it.

use std::{error::Error, time::Duration};

use lettre::{
    Address, Message,
    message::{Mailbox, header::ContentType},
    transport::smtp::{
        Error as SmtpError,
        authentication::{Credentials, DEFAULT_MECHANISMS},
        client::{AsyncSmtpConnection, Certificate, Tls, TlsParameters},
        commands::{Data, Mail, Rcpt},
        extension::{ClientId, Extension, MailBodyParameter, MailParameter},
        response::Category,
    },
};
use secrecy::ExposeSecret;

use super::TargetError;
use crate::config::{Smtp, SmtpTls};

/// Sends mails.
#[derive(Clone, Debug)]
pub struct Mailer {
    place: (String, u16),
    tls: Tls,
    credentials: Option<Credentials>,
    from: Address,
}

/// A mail.
#[derive(Clone, Debug)]
pub struct Letter<'a> {
    /// The message id, which is the same for all attempts, so that a receiver recognises a
    /// repetition.
    pub id: String,
    /// The recipient of this transmission. Each recipient is a separate transaction, so that a
    /// refusal for one does not keep the others from receiving the mail.
    pub recipient: &'a str,
    /// All recipients, as listed in the mail itself.
    pub to: &'a [String],
    /// The subject, in one line.
    pub subject: &'a str,
    /// The text.
    pub text: String,
}

/// Why a mail could not be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailError {
    /// The error with its causes.
    pub text: String,
    /// The cause to which the error is attributed.
    pub blame: MailFault,
}

/// The cause to which an error is attributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailFault {
    /// The mail server, the connection to it, or its rejection of this client: no mail can be sent
    /// through it now.
    Server,
    /// The recipient or the mail; the failure is temporary.
    Recipient,
    /// The recipient or the mail; the failure is permanent, because the server will never accept
    /// it.
    Refused,
}

/// Timeout for connecting to the server.
const PATIENCE: Duration = Duration::from_secs(10);

impl Mailer {
    /// A mailer for this server; `None` if the configuration names none. It trusts `ca_pem` in
    /// addition to the system's authorities.
    pub fn new(smtp: &Smtp, ca_pem: Option<&str>) -> Result<Option<Self>, TargetError> {
        let (Some(host), Some(from)) = (&smtp.host, &smtp.from) else { return Ok(None) };
        let from = from.parse().map_err(|error: lettre::address::AddressError| {
            TargetError::setup("smtp.from", error)
        })?;
        let tls = || tls(host, ca_pem);
        let tls = match smtp.tls {
            SmtpTls::Starttls => Tls::Required(tls()?),
            SmtpTls::Tls => Tls::Wrapper(tls()?),
            SmtpTls::None => Tls::None,
        };
        let credentials = smtp.username.clone().zip(smtp.password.as_ref());
        let credentials = credentials
            .map(|(name, password)| Credentials::new(name, password.expose_secret().to_owned()));
        Ok(Some(Self { place: (host.clone(), smtp.port), tls, credentials, from }))
    }

    /// Sends a mail to one of its recipients.
    pub async fn send(&self, letter: &Letter<'_>) -> Result<(), MailError> {
        let wrong = |text: String| MailError { text, blame: MailFault::Refused };
        let message = self.message(letter).map_err(wrong)?.formatted();
        let to = address(letter.recipient).map_err(wrong)?;
        // An error before any recipient was named does not concern the recipient.
        let mut server = self.connect().await.map_err(|error| failed(&error, MailFault::Server))?;
        let sent = self.hand_over(&mut server, to, &message).await;
        server.abort().await;
        sent
    }

    async fn hand_over(
        &self,
        server: &mut AsyncSmtpConnection,
        to: Address,
        message: &[u8],
    ) -> Result<(), MailError> {
        let mut parameters = Vec::new();
        let mut needs = |extension, parameter, named: &str| {
            parameters.push(parameter);
            let text = format!("could not send the mail: the server does not know {named}");
            let knows = server.server_info().supports_feature(extension);
            if knows { Ok(()) } else { Err(MailError { text, blame: MailFault::Refused }) }
        };
        if ![&self.from, &to].into_iter().all(|address| AsRef::<str>::as_ref(address).is_ascii()) {
            needs(Extension::SmtpUtfEight, MailParameter::SmtpUtfEight, "SMTPUTF8")?;
        }
        if !message.is_ascii() {
            let eight_bits = MailParameter::Body(MailBodyParameter::EightBitMime);
            needs(Extension::EightBitMime, eight_bits, "8BITMIME")?;
        }
        // An error about the sender does not concern the recipient.
        let sender = Mail::new(Some(self.from.clone()), parameters);
        server.command(sender).await.map_err(|error| failed(&error, MailFault::Server))?;
        let failed = |error: SmtpError| failed(&error, MailFault::Recipient);
        server.command(Rcpt::new(to, vec![])).await.map_err(failed)?;
        server.command(Data).await.map_err(failed)?;
        server.message(message).await.map_err(failed)?;
        Ok(())
    }

    /// Greets the server, and signs in if that is configured.
    async fn connect(&self) -> Result<AsyncSmtpConnection, SmtpError> {
        let (host, port) = (self.place.0.as_str(), self.place.1);
        let (us, patience) = (ClientId::default(), Some(PATIENCE));
        let wrapped = if let Tls::Wrapper(tls) = &self.tls { Some(tls.clone()) } else { None };
        let server =
            AsyncSmtpConnection::connect_tokio1((host, port), patience, &us, wrapped, None);
        let mut server = server.await?;
        if let Tls::Required(tls) = &self.tls {
            server.starttls(tls.clone(), &us).await?;
        }
        if let Some(credentials) = &self.credentials {
            server.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(server)
    }

    /// Checks the mail server without sending anything: greets it, and signs in if that is
    /// configured. Fails with the reason.
    pub async fn look(&self) -> Result<(), String> {
        let server = self.connect().await;
        let mut server =
            server.map_err(|error| format!("it cannot be used: {}", explain(&error)))?;
        let answers = server.test_connected().await;
        server.abort().await;
        if answers {
            Ok(())
        } else {
            Err("it accepts a connection and then does not answer".to_owned())
        }
    }

    fn message(&self, letter: &Letter<'_>) -> Result<Message, String> {
        let id = format!("<{}@{}>", letter.id, self.from.domain());
        let mut message = Message::builder()
            .from(Mailbox::new(Some("Carillon".to_owned()), self.from.clone()))
            .subject(letter.subject)
            .message_id(Some(id))
            .header(ContentType::TEXT_PLAIN);
        for to in letter.to {
            message = message.to(Mailbox::new(None, address(to)?));
        }
        let message = message.body(letter.text.clone());
        message.map_err(|error| format!("could not write the mail: {error}"))
    }
}

/// The error of a mail. `blame` is the cause to which a reply of the server at this point is
/// attributed.
fn failed(error: &SmtpError, blame: MailFault) -> MailError {
    let code = error.status();
    // A refused sign-in or a closed connection never concerns the mail, at whatever step it
    // happens.
    let is_ours = code
        .is_none_or(|code| matches!(code.category, Category::Connections | Category::Unspecified3));
    let blame = match blame {
        MailFault::Recipient if is_ours => MailFault::Server,
        MailFault::Recipient if error.is_permanent() => MailFault::Refused,
        MailFault::Server | MailFault::Recipient | MailFault::Refused => blame,
    };
    MailError { text: format!("could not send the mail: {}", explain(error)), blame }
}

/// Fails unless a text is a single address and nothing else.
pub fn check_address(text: &str) -> Result<(), String> {
    if text.len() > 254 {
        return Err("is longer than 254 characters".to_owned());
    }
    text.parse::<Address>().map(drop).map_err(|error| format!("is not an email address: {error}"))
}

fn address(text: &str) -> Result<Address, String> {
    text.parse().map_err(|_| format!("{text:?} is not an email address"))
}

fn tls(host: &str, ca_pem: Option<&str>) -> Result<TlsParameters, TargetError> {
    let mut tls = TlsParameters::builder(host.to_owned());
    if let Some(pem) = ca_pem {
        let certificate = Certificate::from_pem(pem.as_bytes())
            .map_err(|error| TargetError::setup("egress.ca_file for the mail server", error))?;
        tls = tls.add_root_certificate(certificate);
    }
    tls.build_rustls().map_err(|error| TargetError::setup("TLS with the mail server", error))
}

/// The error with its causes.
fn explain(error: &(dyn Error + 'static)) -> String {
    let (mut texts, mut cause) = (vec![error.to_string()], error.source());
    while let Some(next) = cause {
        texts.push(next.to_string());
        cause = next.source();
    }
    texts.dedup();
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailer() -> Mailer {
        let smtp = Smtp {
            host: Some("127.0.0.1".to_owned()),
            tls: SmtpTls::None,
            from: Some("carillon@example.com".to_owned()),
            ..Smtp::default()
        };
        Mailer::new(&smtp, None).unwrap().unwrap()
    }

    #[test]
    fn nothing_in_a_subject_becomes_a_header() {
        let letter = Letter {
            id: "1".to_owned(),
            recipient: "ada@example.com",
            to: &["ada@example.com".to_owned()],
            subject: "x\r\nBcc: eve@example.com\r\n\r\nbody",
            text: "text".to_owned(),
        };
        let raw = String::from_utf8(mailer().message(&letter).unwrap().formatted()).unwrap();
        let heads = raw.split("\r\n\r\n").next().unwrap();
        assert!(!heads.lines().any(|line| line.starts_with("Bcc")), "{heads}");
        assert!(heads.contains("Message-ID: <1@example.com>"), "{heads}");
    }

    #[test]
    fn an_address_is_one_and_nothing_beside_it() {
        assert_eq!(check_address("ada@example.com"), Ok(()));
        for bad in ["", "ada", "ada@", "a@b\r\nBcc: c@d", "Ada <ada@example.com>", "a@b, c@d"] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
    }
}
