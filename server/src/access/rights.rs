//! Permissions, as values that commands require.
//!
//! A permission can only be created here, from a viewer with sufficient grants. So a caller with
//! less cannot call a command that takes an [`Operator`], and forgetting the check does not
//! compile. The permission says that its holder may do something somewhere. Its [`Permit`] says
//! whether the holder may do it in the namespace of the named object; a command must ask it before
//! it reads a row for the caller. To a caller who is not a member of a namespace, its contents seem
//! not to exist.

use entity::user::Role;
use uuid::Uuid;

use super::{AccessRefusal, Grants};

/// The caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    /// The user's or the token's key.
    pub id: Uuid,
    /// The key under which the limits for each caller count it: a user with many tokens is one
    /// caller.
    pub caller: Uuid,
    /// The viewer's name in the audit log.
    pub name: String,
    /// A person or a program.
    pub kind: ViewerKind,
    /// What the viewer may do, and where.
    pub grants: Grants,
    /// The caller's address, or `cli`.
    pub source: String,
    /// The reason for its changes, if it stated one in advance.
    pub reason: Option<String>,
    /// The hashed key of its session.
    pub session: Option<String>,
    /// The queues of a worker's token: it may pull from these, and do nothing else.
    pub queues: Option<WorkerQueues>,
    /// Whether the session was opened with a one-time password: until the user replaces it, the
    /// session has no grants, and may only change the password.
    pub must_change_password: bool,
}

/// The queues of a worker's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerQueues {
    /// The namespaces of the queues.
    pub grants: Grants,
    /// The names of the queues.
    pub names: Vec<String>,
}

impl Viewer {
    /// A viewer who has not stated a reason in advance.
    pub fn new(
        id: Uuid,
        name: impl Into<String>,
        kind: ViewerKind,
        grants: Grants,
        source: impl Into<String>,
    ) -> Self {
        let (name, source) = (name.into(), source.into());
        Self {
            id,
            caller: id,
            name,
            kind,
            grants,
            source,
            reason: None,
            session: None,
            queues: None,
            must_change_password: false,
        }
    }

    /// The viewer of a session that was opened with a one-time password.
    #[must_use]
    pub fn before_password_change(self) -> Self {
        Self { grants: Grants::default(), must_change_password: true, ..self }
    }

    /// Fails for a session that was opened with a one-time password. All permissions require this,
    /// except the one to change that password.
    pub fn may_act(&self) -> Result<(), AccessRefusal> {
        if self.must_change_password { Err(AccessRefusal::PasswordChange) } else { Ok(()) }
    }

    /// The permission to administer the instance.
    pub fn owner(&self) -> Result<Owner, AccessRefusal> {
        self.may_act()?;
        let has = self.grants.role_everywhere();
        if has == Some(Role::Admin) {
            Ok(Owner(self.clone()))
        } else {
            Err(AccessRefusal::Forbidden { needs: Role::Admin, has, everywhere: true })
        }
    }

    /// Fails unless the viewer has a role in every namespace.
    pub fn sees_everything(&self) -> Result<(), AccessRefusal> {
        self.may_act()?;
        if self.grants.role_everywhere().is_some() {
            return Ok(());
        }
        Err(AccessRefusal::Forbidden { needs: Role::Viewer, has: None, everywhere: true })
    }

    /// Fails unless the viewer may pull tasks from these queues of a namespace: a worker's token
    /// from its own queues, other callers as an operator.
    pub fn pulls(&self, namespace: Uuid, queues: &[String]) -> Result<(), AccessRefusal> {
        self.may_act()?;
        let grants = self.queues.as_ref().map_or(&self.grants, |own| &own.grants);
        let Some(grant) = grants.within(namespace) else {
            return Err(AccessRefusal::not_found("namespace", namespace));
        };
        match &self.queues {
            Some(own) => match queues.iter().find(|queue| !own.names.contains(queue)) {
                Some(other) => Err(AccessRefusal::Queue { name: other.clone() }),
                None => Ok(()),
            },
            None if grant.role >= Role::Operator => Ok(()),
            None => {
                let (needs, has) = (Role::Operator, Some(grant.role));
                Err(AccessRefusal::Forbidden { needs, has, everywhere: false })
            }
        }
    }

    /// Whether the viewer may see contexts, outputs and logs of a namespace.
    pub fn sees_payloads(&self, namespace: Uuid) -> bool {
        self.grants.within(namespace).is_some_and(super::Grant::shows_payloads)
    }
}

/// A person or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewerKind {
    /// A person, signed in with a session.
    User,
    /// A program, with a bearer token.
    Token,
}

/// The permission to manage people, namespaces and tokens: that of an administrator everywhere.
#[derive(Clone, Debug)]
pub struct Owner(Viewer);

impl Owner {
    /// The holder.
    pub fn who(&self) -> &Viewer {
        &self.0
    }
}

/// A viewer's permission, which must be checked for each namespace.
#[derive(Clone, Copy, Debug)]
pub struct Permit<'a> {
    who: &'a Viewer,
    needs: Role,
}

impl<'a> Permit<'a> {
    /// The holder of the permission.
    pub(crate) fn who(self) -> &'a Viewer {
        self.who
    }

    /// Refuses objects in a namespace that the permission does not cover. To callers
    /// without a role there, no `what` with this key or name seems to exist; members get an error
    /// that names their role.
    pub fn over(
        self,
        namespace: Uuid,
        what: &'static str,
        which: impl ToString,
    ) -> Result<(), AccessRefusal> {
        let Some(grant) = self.who.grants.within(namespace) else {
            return Err(AccessRefusal::not_found(what, which));
        };
        if grant.role >= self.needs {
            return Ok(());
        }
        let (needs, has) = (self.needs, Some(grant.role));
        Err(AccessRefusal::Forbidden { needs, has, everywhere: false })
    }
}

macro_rules! right {
    ($(#[$doc:meta])* $name:ident, $method:ident, $role:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(Viewer);

        impl $name {
            /// The holder.
            pub fn who(&self) -> &Viewer {
                &self.0
            }

            /// The permit to check per namespace.
            pub fn permit(&self) -> Permit<'_> {
                Permit { who: &self.0, needs: $role }
            }
        }

        impl Viewer {
            $(#[$doc])*
            pub fn $method(&self) -> Result<$name, AccessRefusal> {
                self.may_act()?;
                let has = self.grants.strongest();
                if has >= Some($role) {
                    Ok($name(self.clone()))
                } else {
                    Err(AccessRefusal::Forbidden { needs: $role, has, everywhere: false })
                }
            }
        }
    };
}

right!(
    /// The permission to view.
    Reader,
    viewer,
    Role::Viewer
);
right!(
    /// The permission to trigger, cancel, retry, pause, resume and backfill.
    Operator,
    operator,
    Role::Operator
);
right!(
    /// The permission to create, change and delete schedules and workflows, and to deploy modules.
    Editor,
    editor,
    Role::Editor
);
right!(
    /// The permission to manage the members of a namespace, its secrets, and its retention.
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
        assert_eq!(refused.to_string(), "this needs the role editor; your role is operator");
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
    fn a_one_time_password_gives_no_permission() {
        let admin = viewer(Grants::everywhere(Role::Admin)).before_password_change();
        assert_eq!(admin.grants, Grants::default());
        let refused = [
            admin.viewer().err(),
            admin.operator().err(),
            admin.editor().err(),
            admin.admin().err(),
            admin.owner().err(),
            admin.pulls(HOME, &[]).err(),
        ];
        for refused in refused {
            assert_eq!(refused, Some(AccessRefusal::PasswordChange));
        }
    }

    #[test]
    fn a_viewer_without_grants_may_do_nothing() {
        let refused = viewer(Grants::default()).viewer().unwrap_err().to_string();
        assert_eq!(refused, "this needs the role viewer; you have none");
    }
}
