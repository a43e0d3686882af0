//! The user that programs run as.

use std::fs;

use nix::unistd::{Uid, User};

use super::definition::CommandTarget;
use crate::target::{CommandPolicy, TargetError};

/// The users that programs run as if the configuration names none: the first one that exists.
const DEFAULT_USERS: [&str; 2] = ["carillon-task", "nobody"];

/// The capabilities needed to change the user: CAP_CHOWN (0) for the program's files, CAP_KILL (5)
/// to stop it, CAP_SETGID (6) and CAP_SETUID (7).
const CAPABILITIES: u64 = 0b1110_0001;

/// Why programs cannot run as a user. Messages are printed after "failed to".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    /// There is no user of that name.
    #[error(
        "use commands.user: there is no user {0:?} on this machine; make one (useradd --system \
         --no-create-home {0}), or name another"
    )]
    Unknown(String),
    /// The user could not be looked up.
    #[error("look up commands.user {name:?}: {problem}")]
    Lookup {
        /// The user's name.
        name: String,
        /// The system's error.
        problem: String,
    },
    /// The user is root.
    #[error(
        "use commands.user: {0:?} is root, and programs must not run as root; name a user \
         without rights of its own, such as 'nobody'"
    )]
    Root(String),
    /// The server may not become another user.
    #[error(
        "use commands.user: the server runs as user {own} and may not run programs as {name:?}; \
         leave the setting out, or run the server as root"
    )]
    MayNotSwitch {
        /// The user that the configuration names.
        name: String,
        /// The user that the server runs as.
        own: Uid,
    },
    /// The user of a single namespace cannot be used.
    #[error("use commands.user_of.{namespace}: {problem}")]
    OfNamespace {
        /// The namespace.
        namespace: String,
        /// Why not, and what to do.
        problem: String,
    },
    /// The configuration names no user, and none of the default users exists.
    #[error(
        "find a user for programs: commands.user is not given, and this machine has neither \
         'carillon-task' nor 'nobody'; make one (useradd --system --no-create-home carillon-task)"
    )]
    NoDefault,
}

impl UserError {
    /// Converts the error to one about the user of a namespace.
    pub fn of_namespace(&self, namespace: &str) -> Self {
        let problem = self.to_string();
        let problem = problem.strip_prefix("use commands.user: ").unwrap_or(&problem).to_owned();
        Self::OfNamespace { namespace: namespace.to_owned(), problem }
    }
}

/// Whether this process may run programs as another user.
pub fn may_switch_user() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    match effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask & CAPABILITIES == CAPABILITIES,
        None => Uid::effective().is_root(),
    }
}

/// The user that programs run as on this node, given the configured one. `None` means the server's
/// own user, if the server may not change the user.
pub fn programs_user(configured: Option<&str>) -> Result<Option<String>, UserError> {
    choose(configured, may_switch_user(), Uid::effective())
}

fn choose(
    configured: Option<&str>,
    may_switch: bool,
    own: Uid,
) -> Result<Option<String>, UserError> {
    let Some(name) = configured else {
        if !may_switch {
            return Ok(None);
        }
        for name in DEFAULT_USERS {
            if let Some(account) = find(name)?
                && !account.uid.is_root()
                && account.uid != own
            {
                return Ok(Some(name.to_owned()));
            }
        }
        return Err(UserError::NoDefault);
    };
    let account = find(name)?.ok_or_else(|| UserError::Unknown(name.to_owned()))?;
    if account.uid.is_root() {
        return Err(UserError::Root(name.to_owned()));
    }
    if account.uid == own {
        return Ok(None);
    }
    if !may_switch {
        return Err(UserError::MayNotSwitch { name: name.to_owned(), own });
    }
    Ok(Some(name.to_owned()))
}

fn find(name: &str) -> Result<Option<User>, UserError> {
    User::from_name(name)
        .map_err(|error| UserError::Lookup { name: name.to_owned(), problem: error.to_string() })
}

/// Fails unless a task may use the user that it names.
pub(super) fn check(
    definition: &CommandTarget,
    policy: &CommandPolicy,
    own: Uid,
    may_switch: bool,
) -> Result<(), TargetError> {
    const FIELD: &str = "command.user";
    let Some(name) = &definition.user else { return Ok(()) };
    if !may_switch {
        return Err(TargetError::invalid(
            FIELD,
            format!("the server runs as user {own} and cannot change to another"),
            "leave it out, or run the server as root",
        ));
    }
    let mut of_namespaces = policy.user_of.values().chain([&policy.user]).flatten();
    let is_usual = of_namespaces.any(|user| user == name);
    if !is_usual && !policy.users.contains(name) {
        let problem = format!("{} may not run programs here", shown(name));
        let help = "leave it out, or request that the user be added to commands.users";
        return Err(TargetError::invalid(FIELD, problem, help));
    }
    // A user that does not exist on this node may exist on the node that runs the task.
    match User::from_name(name) {
        Ok(Some(account)) => check_account(&account, own).map_err(|problem| {
            TargetError::invalid(FIELD, problem, "name a user without rights of its own")
        }),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Fails unless a task of a namespace may use the user that it names. The user of one namespace is
/// not allowed in another.
pub(super) fn check_namespace(
    definition: &CommandTarget,
    policy: &CommandPolicy,
    namespace: &str,
) -> Result<(), TargetError> {
    let Some(name) = &definition.user else { return Ok(()) };
    let is_own = policy.user_in(namespace) == Some(name.as_str());
    if policy.user_of.is_empty() || is_own || policy.users.contains(name) {
        return Ok(());
    }
    let problem = format!("{} may not run programs of the namespace '{namespace}'", shown(name));
    let help = "leave it out, or request that the user be added to commands.users";
    Err(TargetError::invalid("command.user", problem, help))
}

/// Fails unless programs may run as that user, if it is not the server's own.
pub(super) fn check_account(account: &User, own: Uid) -> Result<(), String> {
    let name = shown(&account.name);
    if account.uid.is_root() {
        return Err(format!("{name} is root, and programs must not run as root"));
    }
    if account.uid == own {
        return Err(format!("{name} is the user that the server itself runs as"));
    }
    Ok(())
}

fn shown(name: &str) -> String {
    let name: String = name.chars().take(64).collect();
    format!("{name:?}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Uid = Uid::from_raw(1_000);
    const ROOT: Uid = Uid::from_raw(0);

    #[test]
    fn programs_run_as_a_user_of_their_own_where_the_server_may_switch() {
        assert_eq!(choose(None, false, PLAIN), Ok(None));
        let chosen = choose(None, true, ROOT).unwrap().unwrap();
        assert!(DEFAULT_USERS.contains(&&*chosen), "{chosen}");
        assert_eq!(choose(Some("nobody"), true, ROOT), Ok(Some("nobody".to_owned())));
    }

    #[test]
    fn an_impossible_configured_user_is_reported() {
        for (name, may_switch, own, said) in [
            ("root", true, ROOT, "\"root\" is root, and programs must not run as root"),
            ("no-such-user", true, ROOT, "there is no user \"no-such-user\" on this machine"),
            ("nobody", false, PLAIN, "runs as user 1000 and may not run programs as \"nobody\""),
        ] {
            let error = choose(Some(name), may_switch, own).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn the_user_of_one_namespace_is_not_for_another() {
        let named = |user: &str| -> CommandTarget {
            serde_json::from_value(json!({ "program": "id", "user": user })).unwrap()
        };
        let policy = CommandPolicy {
            user: Some("nobody".to_owned()),
            user_of: [("billing".to_owned(), Some("bin".to_owned()))].into(),
            users: vec!["deploy".to_owned()],
            ..CommandPolicy::default()
        };
        assert_eq!(policy.user_in("billing"), Some("bin"));
        assert_eq!(policy.user_in("shop"), Some("nobody"));
        let judged = |user: &str, namespace: &str| {
            let command = named(user);
            let checked = check(&command, &policy, ROOT, true);
            checked.and_then(|()| check_namespace(&command, &policy, namespace))
        };
        for (user, namespace) in
            [("bin", "billing"), ("nobody", "shop"), ("deploy", "shop"), ("deploy", "billing")]
        {
            assert!(judged(user, namespace).is_ok(), "{user} {namespace}");
        }
        for (user, namespace) in [("bin", "shop"), ("nobody", "billing"), ("games", "billing")] {
            let refused = judged(user, namespace).unwrap_err();
            assert_eq!(refused.field(), Some("command.user"), "{user} {namespace}");
        }
    }

    #[test]
    fn the_user_of_a_namespace_that_cannot_be_is_told_by_its_setting() {
        let error = choose(Some("root"), true, ROOT).unwrap_err().of_namespace("billing");
        let said = "use commands.user_of.billing: \"root\" is root, and programs must not run";
        assert!(error.to_string().starts_with(said), "{error}");
    }

    #[test]
    fn a_task_may_name_those_users_that_the_configuration_does() {
        let named = |user: &str| -> CommandTarget {
            serde_json::from_value(json!({ "program": "id", "user": user })).unwrap()
        };
        let users = vec!["deploy".to_owned(), "root".to_owned()];
        let policy =
            CommandPolicy { user: Some("nobody".to_owned()), users, ..CommandPolicy::default() };
        let judged = |user: &str, own, may_switch| {
            check(&named(user), &policy, own, may_switch).map_err(|error| error.to_string())
        };
        assert_eq!(judged("nobody", ROOT, true), Ok(()));
        assert_eq!(judged("deploy", ROOT, true), Ok(()));
        for (user, own, may_switch, said) in [
            (
                "postgres",
                ROOT,
                true,
                "command.user: \"postgres\" may not run programs here; leave it out, or request \
                 that the user be added to commands.users",
            ),
            (
                "root",
                ROOT,
                true,
                "command.user: \"root\" is root, and programs must not run as root; name a user \
                 without rights of its own",
            ),
            (
                "nobody",
                PLAIN,
                false,
                "command.user: the server runs as user 1000 and cannot change to another; leave \
                 it out, or run the server as root",
            ),
            (
                "nobody",
                User::from_name("nobody").unwrap().unwrap().uid,
                true,
                "command.user: \"nobody\" is the user that the server itself runs as; name a user \
                 without rights of its own",
            ),
        ] {
            assert_eq!(judged(user, own, may_switch).unwrap_err(), said);
        }
    }
}
