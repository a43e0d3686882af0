//! Which programs tasks may start.

use std::path::{Path, PathBuf};

use super::{
    code_variables::{is_allowed, leads_elsewhere},
    definition::CommandTarget,
    environment::PATH,
    prepare::PreparedProgram,
};
use crate::target::{CommandPolicy, TargetError};

/// Maximum number of listed programs that an error names.
const MAX_NAMED: usize = 8;

/// Checks the program of a task, and its variables, against the lists of the policy; an empty list
/// of programs allows all.
///
/// The checked file is the file that is started. Names are looked up here, because the system would
/// use a `PATH` that the task sets.
pub(super) fn admitted(
    definition: &CommandTarget,
    invoked: PreparedProgram,
    policy: &CommandPolicy,
) -> Result<PreparedProgram, TargetError> {
    let programs = &policy.programs;
    if programs.is_empty() {
        return Ok(invoked);
    }
    let is_refused = |name: &str| leads_elsewhere(name) && !is_allowed(name, &policy.variables);
    if let Some(name) = definition.env.keys().find(|name| is_refused(name)) {
        return Err(TargetError::invalid(
            format!("command.env.{name}"),
            "changes which code a program runs, and this server starts listed programs only",
            "leave it out, or request that it be added to commands.variables",
        ));
    }
    let program = located(&invoked.program).map(|path| place(&path));
    let is_listed = |path: &PathBuf| programs.iter().any(|listed| place(listed) == *path);
    match program.filter(is_listed).and_then(|path| path.to_str().map(str::to_owned)) {
        Some(program) => Ok(PreparedProgram { program, ..invoked }),
        None => Err(refusal(definition, programs)),
    }
}

fn refusal(definition: &CommandTarget, programs: &[PathBuf]) -> TargetError {
    let named = programs.iter().take(MAX_NAMED).map(|path| path.display().to_string());
    let named = named.collect::<Vec<_>>().join(", ");
    let more = if programs.len() > MAX_NAMED { " and others" } else { "" };
    let help = format!("use one that commands.programs lists ({named}{more})");
    if definition.script.is_some() {
        let problem = "needs /bin/sh, which is not among the programs that this server starts";
        return TargetError::invalid("command.script", problem, help);
    }
    let problem = "is not among the programs that this server starts";
    TargetError::invalid("command.program", problem, help)
}

/// The location of a program: the path itself, or the first file of that name in the usual
/// directories.
fn located(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_absolute());
    }
    PATH.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}

/// A path with its directory resolved. The file itself may be a link. It is not resolved, because
/// one file may be several programs under different names, and only the listed names are allowed.
fn place(path: &Path) -> PathBuf {
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::{Value, json};

    use super::*;
    use crate::target::command::prepare::prepare;

    fn judged(definition: Value, programs: &[&str]) -> Result<String, String> {
        judged_with(definition, programs, &[])
    }

    fn judged_with(
        definition: Value,
        programs: &[&str],
        variables: &[&str],
    ) -> Result<String, String> {
        let definition: CommandTarget = serde_json::from_value(definition).unwrap();
        let invoked = prepare(&definition).unwrap();
        let policy = CommandPolicy {
            programs: programs.iter().map(PathBuf::from).collect(),
            variables: variables.iter().map(|name| (*name).to_owned()).collect(),
            ..CommandPolicy::default()
        };
        let admitted = admitted(&definition, invoked, &policy);
        admitted.map(|invoked| invoked.program).map_err(|error| error.to_string())
    }

    #[test]
    fn only_listed_programs_are_admitted_under_whatever_path_they_are_named() {
        let sh = Path::new("/bin").canonicalize().unwrap().join("sh");
        let sh = sh.to_str().unwrap();
        for definition in [
            json!({"program": "sh"}),
            json!({"program": "/bin/sh"}),
            json!({"program": format!("/usr/{}/bin/./sh", "..")}),
            json!({"script": "true"}),
        ] {
            assert_eq!(judged(definition.clone(), &["/bin/sh"]).unwrap(), sh);
            let refused = judged(definition, &["/bin/true"]).unwrap_err();
            assert!(refused.ends_with("use one that commands.programs lists (/bin/true)"));
        }
        for program in ["./sh", "bin/sh", "/bin/shx", "/bin", "/", ".."] {
            let refused = judged(json!({ "program": program }), &["/bin/sh"]).unwrap_err();
            assert!(refused.starts_with("command.program: is not among"), "{program}: {refused}");
        }
        assert_eq!(judged(json!({"program": "anything"}), &[]).unwrap(), "anything");
    }

    #[test]
    fn another_name_for_the_same_file_is_another_program() {
        let folder = tempfile::tempdir().unwrap();
        let [listed, other] = ["listed", "other"].map(|name| folder.path().join(name));
        symlink("/bin/sh", &listed).unwrap();
        symlink("/bin/sh", &other).unwrap();
        let listed = listed.to_str().unwrap();
        assert!(judged(json!({ "program": listed }), &[listed]).is_ok());
        assert!(judged(json!({ "program": other }), &[listed]).is_err());
    }

    #[test]
    fn a_listed_program_is_not_led_to_other_code() {
        for name in ["LD_PRELOAD", "PATH", "BASH_ENV", "PERL5OPT", "NODE_OPTIONS", "PYTHONPATH"] {
            let definition = json!({"program": "/bin/sh", "env": { name: "/tmp/mine" }});
            let refused = judged(definition.clone(), &["/bin/sh"]).unwrap_err();
            assert!(refused.starts_with(&format!("command.env.{name}: ")), "{refused}");
            assert!(refused.ends_with("added to commands.variables"), "{refused}");
            assert!(judged_with(definition.clone(), &["/bin/sh"], &[name]).is_ok());
            assert!(judged_with(definition.clone(), &["/bin/sh"], &["OTHER_*"]).is_err());
            assert!(judged(definition, &[]).is_ok());
        }
        let harmless = json!({"program": "/bin/sh", "env": { "TZ": "UTC", "NODE_ENV": "test" }});
        assert!(judged(harmless, &["/bin/sh"]).is_ok());
    }
}
