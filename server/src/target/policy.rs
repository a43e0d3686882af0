use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What targets may do on this node, and how much they may say. Comes from the configuration.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Whether `command` targets may run.
    pub commands: bool,
    /// What `command` targets may do where they may run.
    pub command: CommandPolicy,
    /// Whether `http` targets may reach loopback and private addresses.
    ///
    /// Link-local, cloud metadata, multicast and unspecified addresses are refused regardless.
    pub private_addresses: bool,
    /// How many bytes of output are kept of one attempt: a program's lines, a response's body.
    pub output_limit_bytes: usize,
    /// Certificate authorities in PEM to trust beside the system's.
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

/// Who may run which programs, as whom and with how much of the machine.
///
/// The default restricts nothing: what restricts by default is the configuration.
#[derive(Clone, Debug, Default)]
pub struct CommandPolicy {
    /// The namespaces whose tasks may run programs; `None` stands for all.
    pub namespaces: Option<Vec<String>>,
    /// The programs that tasks may start, by their absolute paths; empty stands for all.
    pub programs: Vec<PathBuf>,
    /// The user that programs run as; `None` is the server's own.
    pub user: Option<String>,
    /// Further users that a task may name.
    pub users: Vec<String>,
    /// What one program may take of the machine.
    pub limits: CommandLimits,
    /// Whether a process of its own starts the programs, which is the executable of this one again
    /// and must be Carillon's. Otherwise a thread does.
    pub is_apart: bool,
}

/// Limits that the system holds a program to; `None` leaves what the server has itself.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default)]
pub struct CommandLimits {
    /// Processes and threads of the program's user.
    pub processes: Option<u64>,
    /// Open files, as the soft limit: a program may raise it up to the server's hard limit.
    pub open_files: Option<u64>,
    /// Size of a file that a program writes.
    pub file_bytes: Option<u64>,
    /// Address space of one process.
    pub memory_bytes: Option<u64>,
}
