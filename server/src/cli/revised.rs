//! Reports a schedule whose definition was changed.

use serde_json::Value;

use super::{CliError, named::next, output};

/// The fields to request after a change. If the version is unchanged, so is the schedule.
pub(super) const REVISED: &str = "schedule {
        id name version nextFireAt versions(first: 1) { nodes { change } }
    }
    warnings { code message }";

/// Prints the result of a change. `before` is the previous version, and `same` makes the message
/// for an unchanged schedule.
pub(super) fn tell(
    mut done: Value,
    before: &Value,
    as_json: bool,
    same: impl FnOnce(&str) -> String,
) -> Result<(), CliError> {
    let versions = done["schedule"].as_object_mut().and_then(|rest| rest.remove("versions"));
    if as_json {
        return output::json(&done);
    }
    let schedule = &done["schedule"];
    let name = schedule["name"].as_str().unwrap_or_default();
    // An unchanged definition creates no version.
    if schedule["version"] == *before {
        return output::line(same(name));
    }
    let change = versions.as_ref().and_then(|versions| versions.pointer("/nodes/0/change"));
    let change = change.and_then(Value::as_str).unwrap_or_default();
    output::line(format!("{name} version {}: {change}", schedule["version"]))?;
    for warning in done["warnings"].as_array().into_iter().flatten() {
        output::line(format!("warning: {}", warning["message"].as_str().unwrap_or_default()))?;
    }
    output::line(next(schedule))
}
