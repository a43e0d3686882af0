use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;

use super::{BadSetting, listed};

/// The largest number of namespaces, users and programs listed.
const MAX_LISTED: usize = 1_000;

/// Which programs tasks may run on this machine, if `allow_commands` is set.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Commands {
    /// The namespaces whose tasks may run programs; `*` means all.
    #[serde(deserialize_with = "listed")]
    pub namespaces: Vec<String>,
    /// The user as which programs run, if the server may change the user; defaults to
    /// `carillon-task`, or to `nobody` if there is no such user.
    pub user: Option<String>,
    /// The users that programs of single namespaces run as instead, by the namespaces' names.
    pub user_of: BTreeMap<String, String>,
    /// Further users that a task may name.
    #[serde(deserialize_with = "listed")]
    pub users: Vec<String>,
    /// The absolute paths of programs that tasks may start; all if empty.
    #[serde(deserialize_with = "listed")]
    pub programs: Vec<String>,
    /// Environment variables that tasks may set although they can make a listed program run other
    /// code. A name is given in full, or as a prefix followed by `*`.
    #[serde(deserialize_with = "listed")]
    pub variables: Vec<String>,
    /// Processes and threads that the programs' user may have; 0 sets no limit.
    pub max_processes: u64,
    /// Files that one process may have open; 0 sets no limit.
    pub max_open_files: u64,
    /// The largest file that a program may write, in bytes; 0 sets no limit.
    pub max_file_bytes: u64,
    /// Bytes of address space that one process may have; 0 sets no limit.
    pub max_memory_bytes: u64,
}

impl Default for Commands {
    fn default() -> Self {
        Self {
            namespaces: vec!["default".to_owned()],
            user: None,
            user_of: BTreeMap::new(),
            users: Vec::new(),
            programs: Vec::new(),
            variables: Vec::new(),
            max_processes: 4_096,
            max_open_files: 1_024,
            max_file_bytes: 0,
            max_memory_bytes: 0,
        }
    }
}

impl Commands {
    pub(super) fn check(&self) -> Result<(), BadSetting> {
        for (field, list) in [
            ("commands.namespaces", &self.namespaces),
            ("commands.users", &self.users),
            ("commands.programs", &self.programs),
            ("commands.variables", &self.variables),
        ] {
            if list.len() > MAX_LISTED {
                let help = format!("give at most {MAX_LISTED}");
                return Err(BadSetting::new(field, list.len(), "are too many", help));
            }
            if list.iter().any(|entry| entry.trim().is_empty()) {
                return Err(BadSetting::new(field, "", "is empty", "leave the entry out"));
            }
        }
        if self.user.as_ref().is_some_and(|user| user.trim().is_empty()) {
            let help = "name a user of this machine, or leave the setting out";
            return Err(BadSetting::new("commands.user", "", "is empty", help));
        }
        if let Some(program) =
            self.programs.iter().find(|program| !Path::new(program).is_absolute())
        {
            let (problem, help) =
                ("is not an absolute path", "write it from the root, such as /bin/sh");
            return Err(BadSetting::new("commands.programs", program, problem, help));
        }
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_pattern = |text: &str| text.strip_suffix('*').unwrap_or(text).bytes().all(is_part);
        if let Some(variable) = self.variables.iter().find(|variable| !is_pattern(variable)) {
            let help = "write its name, such as HOME, or the beginning of several, such as \
                        GIT_AUTHOR_*";
            return Err(BadSetting::new("commands.variables", variable, "is not a variable", help));
        }
        self.check_users_of()?;
        at_least("commands.max_processes", self.max_processes, 16)?;
        at_least("commands.max_open_files", self.max_open_files, 16)?;
        at_least("commands.max_file_bytes", self.max_file_bytes, 4_096)?;
        at_least("commands.max_memory_bytes", self.max_memory_bytes, 16 * 1024 * 1024)
    }
}

impl Commands {
    fn check_users_of(&self) -> Result<(), BadSetting> {
        const FIELD: &str = "commands.user_of";
        if self.user_of.len() > MAX_LISTED {
            let help = format!("give at most {MAX_LISTED}");
            return Err(BadSetting::new(FIELD, self.user_of.len(), "are too many", help));
        }
        for (namespace, user) in &self.user_of {
            if user.trim().is_empty() {
                let problem = format!("is empty for the namespace '{namespace}'");
                let help = "name a user of this machine, or leave the namespace out";
                return Err(BadSetting::new(FIELD, user, problem, help));
            }
            let is_allowed = |name: &String| name == "*" || name == namespace;
            if !self.namespaces.iter().any(is_allowed) {
                let problem = "may run no programs";
                let help = "add the namespace to commands.namespaces, or leave it out here";
                return Err(BadSetting::new(FIELD, namespace, problem, help));
            }
        }
        Ok(())
    }
}

fn at_least(field: &'static str, limit: u64, least: u64) -> Result<(), BadSetting> {
    if limit > 0 && limit < least {
        let help = format!("give {least} or more, or 0 for no limit");
        return Err(BadSetting::new(field, limit, "is too small", help));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_settings_of_commands_are_refused() {
        let problem = |change: fn(&mut Commands)| {
            let mut commands = Commands::default();
            change(&mut commands);
            commands.check().unwrap_err().to_string()
        };
        assert_eq!(
            problem(|commands| commands.programs = vec!["sh".to_owned()]),
            "commands.programs: 'sh' is not an absolute path; write it from the root, such as \
             /bin/sh"
        );
        assert_eq!(
            problem(|commands| commands.max_memory_bytes = 1_000),
            "commands.max_memory_bytes: '1000' is too small; give 16777216 or more, or 0 for no \
             limit"
        );
        assert!(problem(|commands| commands.user = Some(String::new())).contains("is empty"));
        assert_eq!(
            problem(|commands| commands.variables = vec!["GIT-*".to_owned()]),
            "commands.variables: 'GIT-*' is not a variable; write its name, such as HOME, or the \
             beginning of several, such as GIT_AUTHOR_*"
        );
        assert_eq!(
            problem(|commands| {
                commands.user_of.insert("billing".to_owned(), "games".to_owned());
            }),
            "commands.user_of: 'billing' may run no programs; add the namespace to \
             commands.namespaces, or leave it out here"
        );
        let told = problem(|commands| {
            commands.user_of.insert("default".to_owned(), " ".to_owned());
        });
        assert!(told.contains("is empty for the namespace 'default'"), "{told}");
        assert_eq!(Commands::default().check(), Ok(()));
    }
}
