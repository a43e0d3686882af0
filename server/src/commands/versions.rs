//! Checks whether a change may be based on the current state of an object.

use super::CommandError;

/// Refuses a manual change of `what`, such as `calendar`, if a module declares it: code owns its
/// declarations.
pub(crate) fn owned_by_people(
    what: &str,
    name: &str,
    module: Option<&str>,
) -> Result<(), CommandError> {
    match module {
        None => Ok(()),
        Some(module) => Err(CommandError::conflict(
            format!("the {what} {name:?} is declared by the module {module:?}"),
            "change the module's file and deploy it",
        )),
    }
}

/// The version of `what` that a change is based on, if the caller gives one. It must be the current
/// version.
pub(crate) fn version(
    what: &str,
    expected: impl Into<Option<i32>>,
    there: i32,
) -> Result<(), CommandError> {
    match expected.into() {
        Some(expected) if expected != there => Err(stale(what, expected, there)),
        Some(_) | None => Ok(()),
    }
}

/// The refusal of a change of `what` that is based on an outdated version.
pub(crate) fn stale(what: &str, expected: i32, there: i32) -> CommandError {
    CommandError::Conflict {
        problem: format!(
            "the current version is {there}, but the change was based on version {expected}"
        ),
        help: format!("read the {what} again and repeat the change"),
        versions: Some((expected, there)),
    }
}
