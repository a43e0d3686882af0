//! What somebody may do, as values that a command asks for.
//!
//! A right can only be made here, from a viewer whose role carries it: a command that takes an
//! [`Operator`] cannot be called by anybody less, and forgetting the check does not compile.

use entity::user::Role;
use uuid::Uuid;

use super::CommandError;

/// Who is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    /// The user's or the token's key.
    pub id: Uuid,
    /// Its name, as the audit log keeps it.
    pub name: String,
    /// A person or a program.
    pub kind: ViewerKind,
    /// What it may do.
    pub role: Role,
    /// From where it asks: an address, or `cli`.
    pub source: String,
}

/// A person or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewerKind {
    /// Signed in with a session.
    User,
    /// Came with a bearer token.
    Token,
}

macro_rules! right {
    ($(#[$doc:meta])* $name:ident, $method:ident, $role:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(Viewer);

        impl $name {
            /// Who holds it.
            pub fn who(&self) -> &Viewer {
                &self.0
            }
        }

        impl Viewer {
            $(#[$doc])*
            pub fn $method(&self) -> Result<$name, CommandError> {
                if self.role >= $role {
                    Ok($name(self.clone()))
                } else {
                    Err(CommandError::Forbidden { needs: $role, has: self.role })
                }
            }
        }
    };
}

right!(
    /// The right to look.
    Reader,
    viewer,
    Role::Viewer
);
right!(
    /// The right to trigger, cancel, retry, pause, resume and backfill.
    Operator,
    operator,
    Role::Operator
);
right!(
    /// The right to make, change and delete schedules and workflows, and to deploy modules.
    Editor,
    editor,
    Role::Editor
);
right!(
    /// The right over people, tokens and secrets.
    Admin,
    admin,
    Role::Admin
);

#[cfg(test)]
mod tests {
    use super::*;

    fn viewer(role: Role) -> Viewer {
        let (id, name) = (Uuid::nil(), "ada".to_owned());
        Viewer { id, name, kind: ViewerKind::User, role, source: "127.0.0.1".to_owned() }
    }

    #[test]
    fn a_role_carries_its_own_right_and_those_below_it() {
        let operator = viewer(Role::Operator);
        assert!(operator.viewer().is_ok());
        assert!(operator.operator().is_ok());
        let refused = operator.editor().unwrap_err();
        assert_eq!(refused.to_string(), "this needs the role editor; 'operator' is what you have");
        assert!(viewer(Role::Admin).admin().is_ok());
    }
}
