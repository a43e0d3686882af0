//! Programs on the node.
//!
//! A program runs in its own process group with a cleared environment. If the server may change the
//! user, the program runs as a separate user, which cannot read any of the server's files. It
//! cannot gain privileges, and has its own resource limits. While it runs, its output goes to the
//! log line by line. It is stopped by SIGTERM to the whole group, and killed by SIGKILL after the
//! grace time. The rest of the group is killed when its leader has ended, and everything is killed
//! when the attempt's future is dropped. So no program outlives its attempt, unless it deliberately
//! leaves the group.
//!
//! On Linux the kernel also kills the leader when the server dies, in whatever way. Otherwise an
//! attempt that recovery repeats elsewhere would continue here. The kernel ties a program to the
//! thread that started it. So a single process, which lives as long as the executor, starts all
//! programs: `starter` explains why it is a separate process.
//!
//! A [`Runner`] exists only if the policy allows commands.
//!
//! - `definition`: the definition that a user writes
//! - `prepare`: validates a definition, or names the wrong field
//! - `environment`: the environment variables of a program; pure
//! - `launch`: starts a program; `process`: starts its process without a copy of the memory
//! - `accounts`: the accounts of users
//! - `spawner`: requests the start of programs; `starter`: the process or thread that starts them;
//!   `wire`: the socket between them; `waiter`: waits for the ends of programs
//! - `confinement`: the restrictions of a program, and its tie to its starter
//! - `user`: the user that programs run as
//! - `programs`: which programs tasks may start
//! - `code_variables`: variables that can make a program run other code; pure
//! - `group`: sends signals to a process group
//! - `capture`: reads the output within limits
//! - `lines`: divides bytes into lines; pure
//! - `error_lines`: the last lines on standard error; pure
//! - `attempt_file`: the files with a program's context and its output; `folder`: the directory of
//!   these files, which lives as long as the server
//! - `runner`: runs a program to its end
//! - `exit_status`: how a program ended, and the outcome of the attempt

mod accounts;
mod attempt_file;
mod capture;
mod code_variables;
mod confinement;
mod definition;
mod environment;
mod error_lines;
mod exit_status;
mod folder;
mod group;
mod launch;
mod lines;
mod prepare;
mod process;
mod programs;
mod runner;
mod spawner;
mod starter;
mod user;
mod waiter;
mod wire;

pub(crate) use code_variables::leads_elsewhere;
pub use confinement::drop_dumpable;
pub use definition::CommandTarget;
pub(super) use runner::Runner;
pub(crate) use starter::start_programs;
pub use user::{UserError, may_switch_user, programs_user};
