use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

/// What targets may do on this node, and how much output is kept, according to the configuration.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Whether `command` targets may run.
    pub commands: bool,
    /// What `command` targets may do if they may run.
    pub command: CommandPolicy,
    /// Whether `http` targets may reach loopback and private addresses.
    ///
    /// Link-local, cloud metadata, multicast and unspecified addresses are refused regardless.
    pub private_addresses: bool,
    /// How many bytes of output are kept of one attempt: a program's lines, a response's body.
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
    /// The variables that tasks may set although they can lead a listed program to other code: in
    /// full, or by their beginning and `*`.
    pub variables: Vec<String>,
    /// The user that programs run as; `None` is the server's own.
    pub user: Option<String>,
    /// The users that programs of single namespaces run as instead.
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
    /// The user that programs of a namespace run as; `None` is the server's own.
    pub fn user_in(&self, namespace: &str) -> Option<&str> {
        self.user_of.get(namespace).unwrap_or(&self.user).as_deref()
    }
}

/// Limits that the system enforces for a program; `None` keeps the server's own.
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
