//! Why a caller may not do something.

use entity::user::Role;
use sea_orm::ActiveEnum;

use crate::model::cut;

/// The refusal of a session that was opened with a one-time password.
pub(crate) const PASSWORD_CHANGE: &str = "you signed in with a one-time password; choose your own \
                                          first: in the console, with 'carillon login --user', or \
                                          with changePassword";

/// Why a caller may not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessRefusal {
    /// There is no such object.
    #[error("there is no {what} {which:?}")]
    NotFound {
        /// `schedule`, `run`, ...
        what: &'static str,
        /// The key or name that was requested.
        which: String,
    },
    /// The caller has signed in with a one-time password and has not replaced it yet.
    #[error("{}", PASSWORD_CHANGE)]
    PasswordChange,
    /// The caller's token does not give access to this queue.
    #[error("this token does not give access to the queue {name:?}; use one that does")]
    Queue {
        /// The queue.
        name: String,
    },
    /// The caller's role does not allow the action.
    #[error("{}", forbidden(*needs, *has, *everywhere))]
    Forbidden {
        /// The lowest sufficient role.
        needs: Role,
        /// The caller's role there, if they have one.
        has: Option<Role>,
        /// Whether the role must hold in every namespace.
        everywhere: bool,
    },
}

impl AccessRefusal {
    /// There is no `what` with this key or name.
    pub(super) fn not_found(what: &'static str, which: impl ToString) -> Self {
        Self::NotFound { what, which: cut(&which.to_string()) }
    }
}

/// The required role, and the caller's.
pub(crate) fn forbidden(needs: Role, has: Option<Role>, everywhere: bool) -> String {
    let (needs, place) = (needs.to_value(), if everywhere { " in every namespace" } else { "" });
    match has {
        Some(has) => {
            format!("this needs the role {needs}{place}; your role is {}", has.to_value())
        }
        None if everywhere => format!("this needs the role {needs}{place}; you have none there"),
        None => format!("this needs the role {needs}; you have none"),
    }
}
