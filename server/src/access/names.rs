use unicode_security::confusable_detection::skeleton;

use super::PeopleError;

/// The audit log's names for actors that are not users; no user or token may have one of them.
const RESERVED: [&str; 3] = ["cli", "system", "token"];

/// Checks the name of a user or token: that it can be typed, and cannot be mistaken for a reserved
/// name.
pub(crate) fn check_name(field: &'static str, name: &str) -> Result<(), PeopleError> {
    let allowed = |c: char| c.is_alphanumeric() || "._@+-".contains(c);
    let problem = if name.is_empty() {
        "is empty"
    } else if name.chars().count() > 64 {
        "is longer than 64 characters"
    } else if !name.chars().all(allowed) {
        "has a character that is none of letters, digits and . _ @ + -"
    } else if RESERVED.iter().any(|reserved| name_key(name) == name_key(reserved)) {
        "is reserved, or looks like a reserved name"
    } else {
        return Ok(());
    };
    let value = name.chars().take(64).flat_map(char::escape_debug).collect();
    let help = "use 1 to 64 letters, digits and . _ @ + -; not cli, system or token";
    Err(PeopleError::BadInput { field, value, problem: problem.to_owned(), help })
}

/// A key shared by names that look alike: `Admin`, `admin` and `аdmin` with a Cyrillic `а` have the
/// same key (the skeleton of Unicode's TS 39 over the lower-case name). No two users have the same
/// key.
pub(crate) fn name_key(name: &str) -> String {
    skeleton(&name.to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_share_a_key() {
        for alike in ["Admin", "ADMIN", "\u{430}dmin", "adm\u{456}n", "\u{ff41}dmin"] {
            assert_eq!(name_key(alike), name_key("admin"), "{alike}");
        }
        for other in ["admins", "root", "adm-in", "админ"] {
            assert_ne!(name_key(other), name_key("admin"), "{other}");
        }
    }

    #[test]
    fn a_name_that_looks_like_a_reserved_one_is_refused() {
        for name in ["cli", "CLI", "\u{441}li", "t\u{43e}ken", "System"] {
            assert!(check_name("name", name).is_err(), "{name}");
        }
        for name in ["ada", "client", "Zo\u{eb}", "админ", "ada@example.org"] {
            assert!(check_name("name", name).is_ok(), "{name}");
        }
    }
}
