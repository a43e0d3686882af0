use serde::{Deserialize, Serialize};

use super::definition::CommandTarget;
use crate::target::TargetError;

/// A program to start, from a valid definition.
#[derive(Serialize, Deserialize, Debug, PartialEq, Eq)]
pub(super) struct PreparedProgram {
    pub(super) program: String,
    pub(super) args: Vec<String>,
}

/// The longest string that Linux passes to a program, with room for a name and the final NUL.
const MAX_BYTES: usize = 120 * 1024;
const MAX_ARGS: usize = 1024;
const SHELL: &str = "/bin/sh";

/// Validates a definition, or names the wrong field.
pub(super) fn prepare(definition: &CommandTarget) -> Result<PreparedProgram, TargetError> {
    check_texts(definition)?;
    check_env(definition)?;
    match (&definition.program, &definition.script) {
        (Some(program), None) if !program.is_empty() => {
            Ok(PreparedProgram { program: program.clone(), args: definition.args.clone() })
        }
        (None, Some(script)) if !script.is_empty() => {
            if !definition.args.is_empty() {
                let help = "write the arguments into the script, or use `program`";
                return Err(TargetError::invalid("command.args", "a script has none", help));
            }
            Ok(PreparedProgram {
                program: SHELL.to_owned(),
                args: vec!["-c".to_owned(), script.clone()],
            })
        }
        (Some(_), Some(_)) => {
            Err(TargetError::invalid("command", "has both `program` and `script`", "write one"))
        }
        (None, None) | (Some(_), None) | (None, Some(_)) => Err(TargetError::invalid(
            "command",
            "names no program to start",
            "write `program` and `args`, or `script`",
        )),
    }
}

fn check_texts(definition: &CommandTarget) -> Result<(), TargetError> {
    if definition.args.len() > MAX_ARGS {
        let problem = format!("{} arguments are given", definition.args.len());
        let help = format!("at most {MAX_ARGS} are passed on");
        return Err(TargetError::invalid("command.args", problem, help));
    }
    for (name, text) in [
        ("program", &definition.program),
        ("script", &definition.script),
        ("directory", &definition.directory),
        ("user", &definition.user),
    ] {
        if let Some(text) = text {
            check_text(&format!("command.{name}"), text)?;
        }
    }
    for (index, text) in definition.args.iter().enumerate() {
        check_text(&format!("command.args[{index}]"), text)?;
    }
    Ok(())
}

fn check_text(field: &str, text: &str) -> Result<(), TargetError> {
    if text.contains('\0') {
        return Err(TargetError::invalid(field, "has a NUL character", "leave it out"));
    }
    if text.len() > MAX_BYTES {
        let problem = format!("has {} bytes", text.len());
        let help = format!("at most {MAX_BYTES} fit; put the rest into a file");
        return Err(TargetError::invalid(field, problem, help));
    }
    Ok(())
}

fn check_env(definition: &CommandTarget) -> Result<(), TargetError> {
    for (name, value) in &definition.env {
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty()
            || name.starts_with(|c: char| c.is_ascii_digit())
            || !name.chars().all(letters)
        {
            let shown: String = name.chars().take(64).collect();
            let problem = format!("{shown:?} is not a variable name");
            let help = "use letters, digits and underscores";
            return Err(TargetError::invalid("command.env", problem, help));
        }
        let field = format!("command.env.{name}");
        if name.starts_with("CARILLON_") {
            return Err(TargetError::invalid(field, "is set by Carillon", "use another name"));
        }
        check_text(&field, value.expose())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(definition: serde_json::Value) -> CommandTarget {
        serde_json::from_value(definition).unwrap()
    }

    #[test]
    fn a_script_is_given_to_the_shell_and_a_program_is_not() {
        let program = prepare(&read(json!({"program": "echo", "args": ["$HOME; ls"]}))).unwrap();
        assert_eq!(program.program, "echo");
        assert_eq!(program.args, ["$HOME; ls"]);
        let script = prepare(&read(json!({"script": "echo hi | wc"}))).unwrap();
        assert_eq!(script.program, "/bin/sh");
        assert_eq!(script.args, ["-c", "echo hi | wc"]);
    }

    #[test]
    fn a_wrong_field_is_named_with_what_to_do() {
        for (definition, message) in [
            (
                json!({}),
                "command: names no program to start; write `program` and `args`, or `script`",
            ),
            (
                json!({"program": ""}),
                "command: names no program to start; write `program` and `args`, or `script`",
            ),
            (
                json!({"program": "a", "script": "b"}),
                "command: has both `program` and `script`; write one",
            ),
            (
                json!({"script": "a", "args": ["b"]}),
                "command.args: a script has none; write the arguments into the script, or use \
                 `program`",
            ),
            (
                json!({"program": "a", "args": ["", "b\0"]}),
                "command.args[1]: has a NUL character; leave it out",
            ),
            (
                json!({"script": "x".repeat(122_881)}),
                "command.script: has 122881 bytes; at most 122880 fit; put the rest into a file",
            ),
            (
                json!({"program": "a", "env": {"A=B": "c"}}),
                "command.env: \"A=B\" is not a variable name; use letters, digits and underscores",
            ),
            (
                json!({"program": "a", "env": {"CARILLON_RUN_ID": "c"}}),
                "command.env.CARILLON_RUN_ID: is set by Carillon; use another name",
            ),
        ] {
            assert_eq!(prepare(&read(definition)).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn the_values_of_the_environment_are_not_printed() {
        let definition = read(json!({"program": "a", "env": {"TOKEN": "hush"}}));
        assert!(!format!("{definition:?}").contains("hush"));
    }
}
