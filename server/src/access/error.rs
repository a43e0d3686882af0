use crate::store::{Constraint, StoreError};

/// Why a person or token was not added or changed. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// A value cannot be accepted.
    #[error("accept the {field}{}: it {problem}; {help}", quoted(value))]
    BadInput {
        /// The field.
        field: &'static str,
        /// The given value; empty for a password.
        value: String,
        /// What is wrong with the input.
        problem: String,
        /// What would be valid.
        help: &'static str,
    },
    /// The name is taken.
    #[error(
        "add the {what} '{name}': that name, or one that looks like it, is taken; choose another"
    )]
    Exists {
        /// `user` or `token`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The name is unknown.
    #[error("find the {what} '{name}': there is none; 'carillon {what} list' shows them")]
    NotFound {
        /// `user`, `token` or `namespace`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// After the change, no administrator of the instance could sign in.
    #[error(
        "disable '{name}': it is the last administrator who can sign in; make another user an \
         administrator first, or give --force"
    )]
    LastAdministrator {
        /// The name.
        name: String,
    },
    /// The hash could not be computed.
    #[error("hash the password: {0}")]
    Hash(String),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

/// The value, unless it must not be shown, such as a password.
fn quoted(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" '{value}'") }
}

impl PeopleError {
    /// Converts the store's error after a failed addition of `name`.
    pub(super) fn adding(what: &'static str, name: &str) -> impl FnOnce(StoreError) -> Self {
        let name = name.to_owned();
        move |error| {
            use Constraint::{TokenName, UserName};
            let taken = matches!(error, StoreError::Broken { constraint: UserName | TokenName });
            if taken { Self::Exists { what, name } } else { Self::Store(error) }
        }
    }
}

impl From<StoreError> for PeopleError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<sea_orm::DbErr> for PeopleError {
    fn from(error: sea_orm::DbErr) -> Self {
        Self::Store(error.into())
    }
}
