//! Signatures by the Standard Webhooks specification: HMAC-SHA256 over id, time and body.
//!
//! `ring` computes the signatures, because Carillon's TLS uses `ring` as well, so that there is
//! only one cryptography library.

use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::{DateTime, Utc};
use ring::hmac;

use super::SecretText;

const PREFIX: &str = "whsec_";

/// Permitted key lengths: the specification requires 24 to 64 bytes.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Maximum number of secrets that sign at once: a new one, and older ones that receivers still use.
const MAX_SECRETS: usize = 4;

/// Signs messages with one secret, or with several while one replaces another.
pub(crate) struct Signer(Vec<hmac::Key>);

/// Why a text is not a signing secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadSecret {
    #[error("it does not begin with `whsec_`")]
    Prefix,
    #[error("what follows `whsec_` is not base64")]
    Base64,
    #[error("its key has {0} bytes")]
    Length(usize),
    #[error("it has {0} secrets, at most 4 sign at once")]
    TooMany(usize),
}

impl Signer {
    /// Parses a secret: `whsec_` and the key in base64. Several are separated by spaces.
    pub(crate) fn new(secret: &SecretText) -> Result<Self, BadSecret> {
        let secrets: Vec<&str> = secret.expose().split_ascii_whitespace().collect();
        match secrets.len() {
            0 => Err(BadSecret::Prefix),
            1..=MAX_SECRETS => Ok(Self(secrets.into_iter().map(key).collect::<Result<_, _>>()?)),
            many => Err(BadSecret::TooMany(many)),
        }
    }

    /// The value of the header `webhook-signature`: a signature for each secret, separated by
    /// spaces.
    pub(crate) fn sign(&self, id: &str, at: DateTime<Utc>, body: &[u8]) -> String {
        let sign = |key: &hmac::Key| {
            let mut context = hmac::Context::with_key(key);
            context.update(format!("{id}.{}.", at.timestamp()).as_bytes());
            context.update(body);
            format!("v1,{}", STANDARD.encode(context.sign()))
        };
        self.0.iter().map(sign).collect::<Vec<_>>().join(" ")
    }
}

fn key(secret: &str) -> Result<hmac::Key, BadSecret> {
    let text = secret.strip_prefix(PREFIX).ok_or(BadSecret::Prefix)?;
    let key = STANDARD.decode(text).map_err(|_| BadSecret::Base64)?;
    if !KEY_BYTES.contains(&key.len()) {
        return Err(BadSecret::Length(key.len()));
    }
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_of_the_reference_libraries_is_met() {
        let signer = Signer::new(&"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into()).unwrap();
        let at = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        assert_eq!(
            signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, br#"{"test": 2432232314}"#),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn a_text_that_is_no_secret_is_refused_with_the_reason() {
        for (text, reason) in [
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", BadSecret::Prefix),
            ("whsec_not-base64", BadSecret::Base64),
            (" ", BadSecret::Prefix),
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw whsec_c2hvcnQ=", BadSecret::Length(5)),
            ("a b c d e", BadSecret::TooMany(5)),
            ("whsec_c2hvcnQ=", BadSecret::Length(5)),
        ] {
            assert_eq!(Signer::new(&text.into()).err(), Some(reason), "{text}");
        }
    }

    #[test]
    fn several_secrets_make_several_signatures_while_one_replaces_another() {
        let of = |secret: &str| Signer::new(&secret.into()).unwrap();
        let (old, new) = (format!("whsec_{}", "A".repeat(32)), format!("whsec_{}", "B".repeat(32)));
        let sign = |secret: &str| of(secret).sign("m", DateTime::UNIX_EPOCH, b"body");
        assert_eq!(sign(&format!("{new} {old}")), format!("{} {}", sign(&new), sign(&old)));
    }
}
