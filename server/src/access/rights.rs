//! What somebody may do, as values that a command asks for.
//!
//! A right can only be made here, from a viewer whose grants carry it: a command that takes an
//! [`Operator`] cannot be called by anybody less, and forgetting the check does not compile. The
//! right says that its holder may do so somewhere; whether they may in the namespace of what they
//! named, its [`Permit`] says, and without that no command reads a row for them. What is in a
//! namespace of which somebody is no member is to them as if it did not exist.

use entity::user::Role;
use uuid::Uuid;

use super::{Grants, Refused};

/// Who is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    /// The user's or the token's key.
    pub id: Uuid,
    /// Its name, as the audit log keeps it.
    pub name: String,
    /// A person or a program.
    pub kind: ViewerKind,
    /// What it may do, and where.
    pub grants: Grants,
    /// From where it asks: an address, or `cli`.
    pub source: String,
    /// Why it asks, if it says so for whatever it orders.
    pub reason: Option<String>,
    /// The key, hashed, of the session that it asks by.
    pub session: Option<String>,
    /// What a worker's token opens beside: it may pull from these queues, and nothing else.
    pub queues: Option<Queues>,
}

/// What a worker's token opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queues {
    /// Where.
    pub grants: Grants,
    /// By their names.
    pub names: Vec<String>,
}

impl Viewer {
    /// Somebody who gives no reason beforehand.
    pub fn new(
        id: Uuid,
        name: impl Into<String>,
        kind: ViewerKind,
        grants: Grants,
        source: impl Into<String>,
    ) -> Self {
        let (name, source) = (name.into(), source.into());
        Self { id, name, kind, grants, source, reason: None, session: None, queues: None }
    }

    /// The right over the instance itself.
    pub fn owner(&self) -> Result<Owner, Refused> {
        let has = self.grants.role_everywhere();
        if has == Some(Role::Admin) {
            Ok(Owner(self.clone()))
        } else {
            Err(Refused::Forbidden { needs: Role::Admin, has, everywhere: true })
        }
    }

    /// Whether they may pull tasks from these queues of a namespace: a worker's token from its own,
    /// anybody else as an operator.
    pub fn pulls(&self, namespace: Uuid, queues: &[String]) -> Result<(), Refused> {
        let grants = self.queues.as_ref().map_or(&self.grants, |own| &own.grants);
        let Some(grant) = grants.within(namespace) else {
            return Err(Refused::not_found("namespace", namespace));
        };
        match &self.queues {
            Some(own) => match queues.iter().find(|queue| !own.names.contains(queue)) {
                Some(other) => Err(Refused::Queue { name: other.clone() }),
                None => Ok(()),
            },
            None if grant.role >= Role::Operator => Ok(()),
            None => {
                let (needs, has) = (Role::Operator, Some(grant.role));
                Err(Refused::Forbidden { needs, has, everywhere: false })
            }
        }
    }

    /// Whether contexts, outputs and logs of a namespace are shown to them.
    pub fn sees_payloads(&self, namespace: Uuid) -> bool {
        self.grants.within(namespace).is_some_and(super::Grant::shows_payloads)
    }
}

/// A person or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewerKind {
    /// Signed in with a session.
    User,
    /// Came with a bearer token.
    Token,
}

/// The right over people, namespaces and tokens: that of an administrator everywhere.
#[derive(Clone, Debug)]
pub struct Owner(Viewer);

impl Owner {
    /// Who holds it.
    pub fn who(&self) -> &Viewer {
        &self.0
    }
}

/// A viewer's permission, to be checked per namespace.
#[derive(Clone, Copy, Debug)]
pub struct Permit<'a> {
    who: &'a Viewer,
    needs: Role,
}

impl<'a> Permit<'a> {
    /// Who holds the right.
    pub(crate) fn who(self) -> &'a Viewer {
        self.who
    }

    /// Refuses what lies in a namespace in which the right does not hold: to strangers there is no
    /// `what` of that key or name, members with too low a role are told so.
    pub fn over(
        self,
        namespace: Uuid,
        what: &'static str,
        which: impl ToString,
    ) -> Result<(), Refused> {
        let Some(grant) = self.who.grants.within(namespace) else {
            return Err(Refused::not_found(what, which));
        };
        if grant.role >= self.needs {
            return Ok(());
        }
        let (needs, has) = (self.needs, Some(grant.role));
        Err(Refused::Forbidden { needs, has, everywhere: false })
    }
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

            /// What it is worth in a namespace.
            pub fn permit(&self) -> Permit<'_> {
                Permit { who: &self.0, needs: $role }
            }
        }

        impl Viewer {
            $(#[$doc])*
            pub fn $method(&self) -> Result<$name, Refused> {
                let has = self.grants.strongest();
                if has >= Some($role) {
                    Ok($name(self.clone()))
                } else {
                    Err(Refused::Forbidden { needs: $role, has, everywhere: false })
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
    /// The right over the members of a namespace, its secrets, and what it keeps.
    Admin,
    admin,
    Role::Admin
);

#[cfg(test)]
mod tests {
    use super::{super::Grant, *};

    const HOME: Uuid = Uuid::from_u128(1);

    fn viewer(grants: Grants) -> Viewer {
        Viewer::new(Uuid::nil(), "ada", ViewerKind::User, grants, "127.0.0.1")
    }

    #[test]
    fn a_role_carries_its_own_right_and_those_below_it() {
        let operator = viewer(Grants::everywhere(Role::Operator));
        assert!(operator.viewer().is_ok());
        assert!(operator.operator().is_ok());
        let refused = operator.editor().unwrap_err();
        assert_eq!(refused.to_string(), "this needs the role editor; 'operator' is what you have");
        let admin = viewer(Grants::everywhere(Role::Admin));
        assert!(admin.admin().is_ok() && admin.owner().is_ok());
    }

    #[test]
    fn a_right_in_one_namespace_is_none_in_another() {
        let grant = Grant { role: Role::Admin, sees_payloads: true };
        let admin = viewer(Grants::new(None, [(HOME, grant)]));
        let right = admin.admin().unwrap();
        assert!(right.permit().over(HOME, "schedule", "x").is_ok());
        let refused = right.permit().over(Uuid::from_u128(2), "schedule", "x").unwrap_err();
        assert_eq!(refused.to_string(), "there is no schedule \"x\"");
        let refused = admin.owner().unwrap_err().to_string();
        assert_eq!(refused, "this needs the role admin in every namespace; you have none there");
    }

    #[test]
    fn who_was_granted_nothing_may_nothing() {
        let refused = viewer(Grants::default()).viewer().unwrap_err().to_string();
        assert_eq!(refused, "this needs the role viewer; you have none");
    }
}
