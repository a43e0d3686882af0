//! SCRAM (RFC 5802) with SHA-256 or SHA-512. The client proves that it knows the password without
//! sending it, and the broker proves the same.

use std::num::NonZeroU32;

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{digest, hmac, pbkdf2};

/// The permitted number of iterations: fewer protect too little, and more would be an attack on the
/// client.
const ROUNDS: std::ops::RangeInclusive<u32> = 4_096..=1_000_000;

/// The hash function.
#[derive(Clone, Copy)]
pub(super) struct Scram {
    pub(super) name: &'static str,
    derive: pbkdf2::Algorithm,
    sign: hmac::Algorithm,
    hash: &'static digest::Algorithm,
}

pub(super) fn sha_256() -> Scram {
    Scram {
        name: "SCRAM-SHA-256",
        derive: pbkdf2::PBKDF2_HMAC_SHA256,
        sign: hmac::HMAC_SHA256,
        hash: &digest::SHA256,
    }
}

pub(super) fn sha_512() -> Scram {
    Scram {
        name: "SCRAM-SHA-512",
        derive: pbkdf2::PBKDF2_HMAC_SHA512,
        sign: hmac::HMAC_SHA512,
        hash: &digest::SHA512,
    }
}

/// The first message, without the channel-binding part.
pub(super) fn first(username: &str, nonce: &str) -> String {
    let username = username.replace('=', "=3D").replace(',', "=2C");
    format!("n={username},r={nonce}")
}

/// The final message, and the broker's expected answer.
pub(super) struct Final {
    pub(super) said: String,
    pub(super) expected: String,
}

impl Scram {
    /// Answers the broker's first message.
    pub(super) fn answer(
        self,
        password: &str,
        nonce: &str,
        first: &str,
        server_first: &str,
    ) -> Option<Final> {
        let value = |name: char| {
            server_first.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
        };
        let (both, salt) = (value('r')?, STANDARD.decode(value('s')?).ok()?);
        let rounds: u32 = value('i')?.parse().ok().filter(|rounds| ROUNDS.contains(rounds))?;
        if !both.starts_with(nonce) || both.len() == nonce.len() {
            return None;
        }
        let mut salted = vec![0; self.hash.output_len()];
        let rounds = NonZeroU32::new(rounds)?;
        pbkdf2::derive(self.derive, rounds, &salt, password.as_bytes(), &mut salted);
        let sign = |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(self.sign, key), text);
        let client_key = sign(&salted, b"Client Key");
        let stored_key = digest::digest(self.hash, client_key.as_ref());
        let without_proof = format!("c=biws,r={both}");
        let told = format!("{first},{server_first},{without_proof}");
        let signature = sign(stored_key.as_ref(), told.as_bytes());
        let pairs = client_key.as_ref().iter().zip(signature.as_ref());
        let proof: Vec<u8> = pairs.map(|(key, signature)| key ^ signature).collect();
        let server_key = sign(&salted, b"Server Key");
        let expected = sign(server_key.as_ref(), told.as_bytes());
        Some(Final {
            said: format!("{without_proof},p={}", STANDARD.encode(proof)),
            expected: format!("v={}", STANDARD.encode(expected)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange is the example of RFC 7677.
    #[test]
    fn a_password_is_proven_as_in_the_standard() {
        let nonce = "rOprNGfwEbeRWgbNEkqO";
        let server_first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                            s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let first = first("user", nonce);
        assert_eq!(first, "n=user,r=rOprNGfwEbeRWgbNEkqO");
        let Final { said, expected } =
            sha_256().answer("pencil", nonce, &first, server_first).unwrap();
        assert_eq!(
            said,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert_eq!(expected, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn a_broker_that_changes_the_nonce_or_asks_too_much_is_refused() {
        for server_first in ["r=other,s=AAAA,i=4096", "r=abc,s=AAAA,i=4096", "r=abcd,s=AAAA,i=1"] {
            assert!(sha_512().answer("p", "abc", "n=u,r=abc", server_first).is_none());
        }
    }
}
