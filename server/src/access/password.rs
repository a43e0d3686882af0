use argon2::{
    Argon2,
    password_hash::{Error, PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use rand::{TryRngCore, rngs::OsRng};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use zxcvbn::{Score, zxcvbn};

use super::PeopleError;

/// Limits concurrent hashes, because each one occupies a core for a while and 19 MiB.
static AT_ONCE: Semaphore = Semaphore::const_new(4);

/// A hash that does not belong to a user, so that an unknown name takes as long as a known one.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$Y2FyaWxsb24tbm9ib2R5$\
    AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A random password: 120 bits.
pub fn random_password() -> Result<SecretString, PeopleError> {
    // Without characters that look alike. There are 32, so that the low bits of each byte choose
    // evenly.
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut random = [0_u8; 24];
    OsRng.try_fill_bytes(&mut random).map_err(|error| PeopleError::Hash(error.to_string()))?;
    let letters = random.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)]));
    Ok(letters.collect::<String>().into())
}

/// How much of a password is used to estimate its strength, because the cost of the estimate grows
/// with the square of the length.
const MAX_ESTIMATED: usize = 64;

/// Refuses a password that is short, or among the first guesses for the user with this name: common
/// passwords, words and dates, keyboard rows, repetitions, the name itself.
pub(crate) fn check(password: &SecretString, name: &str) -> Result<(), PeopleError> {
    let text = password.expose_secret();
    let length = text.chars().count();
    let problem = match length {
        0..12 => format!("has {length} characters; the minimum is 12"),
        12..=256 if is_easily_guessed(text, name) => "is easily guessed".to_owned(),
        12..=256 => return Ok(()),
        _ => format!("has {length} characters; the maximum is 256"),
    };
    let help = "give one of 12 to 256 characters, such as four words that have nothing to do with \
                each other";
    Err(PeopleError::BadInput { field: "password", value: String::new(), problem, help })
}

fn is_easily_guessed(password: &str, name: &str) -> bool {
    let beginning: String = password.chars().take(MAX_ESTIMATED).collect();
    zxcvbn(&beginning, &[name, "carillon"]).score() < Score::Three
}

/// Argon2id with its recommended parameters, in PHC form.
pub(crate) async fn hash(password: SecretString) -> Result<String, PeopleError> {
    off_the_reactor(move || {
        let hashed = Argon2::default().hash_password(password.expose_secret().as_bytes());
        hashed.map(|hash: PasswordHash| hash.to_string())
    })
    .await
}

/// A short digest of a password hash: it differs between hashes and reveals nothing about them.
pub fn mark(password_hash: &str) -> String {
    let digest = Sha256::digest(password_hash);
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the password matches this hash. Without a hash it does not, but the check takes as long.
pub(crate) async fn verify(
    password: SecretString,
    hash: Option<String>,
) -> Result<bool, PeopleError> {
    off_the_reactor(move || {
        let stored = PasswordHash::new(hash.as_deref().unwrap_or(NOBODY))?;
        // Every user's check logs this line. A test counts the lines to show that an unknown name
        // takes as long as a known one.
        tracing::debug!(cost = %stored.params, "computes a password's hash");
        let given = password.expose_secret().as_bytes();
        match Argon2::default().verify_password(given, &stored) {
            Ok(()) => Ok(hash.is_some()),
            Err(Error::PasswordInvalid) => Ok(false),
            Err(other) => Err(other),
        }
    })
    .await
}

async fn off_the_reactor<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, PeopleError> {
    let failed = |error: &dyn std::fmt::Display| PeopleError::Hash(error.to_string());
    let _place = AT_ONCE.acquire().await.map_err(|error| failed(&error))?;
    let worked = tokio::task::spawn_blocking(work).await.map_err(|error| failed(&error))?;
    worked.map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_matches_its_own_hash_only() {
        let stored = hash("correct horse battery".into()).await.unwrap();
        assert!(stored.starts_with("$argon2id$v=19$"), "{stored}");
        assert!(verify("correct horse battery".into(), Some(stored.clone())).await.unwrap());
        assert!(!verify("correct horse".into(), Some(stored)).await.unwrap());
    }

    #[tokio::test]
    async fn nobody_has_no_password() {
        assert!(!verify("anything at all".into(), None).await.unwrap());
    }

    #[test]
    fn random_passwords_differ_and_pass_the_check() {
        let (one, other) = (random_password().unwrap(), random_password().unwrap());
        assert_ne!(one.expose_secret(), other.expose_secret());
        assert!(check(&one, "ada").is_ok());
        assert!(check(&"short".into(), "ada").is_err());
        assert!(check(&"x".repeat(257).into(), "ada").is_err());
    }

    #[test]
    fn a_password_that_is_guessed_first_is_refused() {
        for weak in [
            "password1234",
            "passwordpassword",
            "123456789012",
            "qwertyuiop12",
            "aaaaaaaaaaaaaaaa",
            "iloveyou2024",
            "ada-lovelace",
            "carillon1234",
            "P@ssw0rd1234",
        ] {
            assert!(check(&weak.into(), "ada-lovelace").is_err(), "{weak}");
        }
        for strong in ["correct horse battery", "vT9#kq2Lm!xz", "zwölf Boxkämpfer jagen"] {
            assert!(check(&strong.into(), "ada-lovelace").is_ok(), "{strong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_password_breaks_the_estimate(text in ".{0,300}", name in ".{0,80}") {
            let _ = check(&text.into(), &name);
        }
    }
}
