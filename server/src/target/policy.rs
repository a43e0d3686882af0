use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

/// The restrictions of targets on this node, and how much output is kept, according to the
/// configuration.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Whether `command` targets may run.
    pub commands: bool,
    /// The restrictions of `command` targets.
    pub command: CommandPolicy,
    /// Whether `http` targets may reach loopback and private addresses.
    ///
    /// Link-local, cloud metadata, multicast and unspecified addresses are refused regardless.
    pub private_addresses: bool,
    /// How many bytes of output of one attempt are kept: a program's lines, or a response's body.
    pub output_limit_bytes: usize,
    /// Certificate authorities in PEM to trust in addition to the system's.
    pub ca_pem: Option<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            commands: false,
            command: CommandPolicy::default(),
            private_addresses: false,
            output_limit_bytes: 1024 * 1024,
            ca_pem: None,
        }
    }
}

/// Who may run which programs, as which user and within which limits.
///
/// The default restricts nothing: the configuration sets the restrictive defaults.
#[derive(Clone, Debug, Default)]
pub struct CommandPolicy {
    /// The namespaces whose tasks may run programs; `None` means all.
    pub namespaces: Option<Vec<String>>,
    /// The programs that tasks may start, by their absolute paths; empty means all.
    pub programs: Vec<PathBuf>,
    /// Environment variables that tasks may set although they can make a listed program run other
    /// code. A name is given in full, or as a prefix followed by `*`.
    pub variables: Vec<String>,
    /// The user that programs run as; `None` means the server's own.
    pub user: Option<String>,
    /// The users that replace `user` for the programs of single namespaces.
    pub user_of: BTreeMap<String, Option<String>>,
    /// Further users that a task may name, in any namespace.
    pub users: Vec<String>,
    /// Resource limits of one program.
    pub limits: CommandLimits,
    /// Whether a separate process starts the programs. It runs the executable of this process,
    /// which must be Carillon's. Otherwise, a thread starts them.
    pub is_apart: bool,
}

impl CommandPolicy {
    /// The user that programs of a namespace run as; `None` means the server's own.
    pub fn user_in(&self, namespace: &str) -> Option<&str> {
        self.user_of.get(namespace).unwrap_or(&self.user).as_deref()
    }
}

/// Limits that the system enforces for a program; `None` keeps the server's own limit.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default)]
pub struct CommandLimits {
    /// Processes and threads of the program's user.
    pub processes: Option<u64>,
    /// Open files, as the soft limit, which a program may raise up to the server's hard limit.
    pub open_files: Option<u64>,
    /// Size of a single file that a program writes.
    pub file_bytes: Option<u64>,
    /// Address space of one process.
    pub memory_bytes: Option<u64>,
}
