//! Programs on the node.
//!
//! A program runs in a process group of its own with a cleared environment, and where the server may
//! change the user, as a user of its own, which may read nothing of the server's. It cannot gain
//! rights, and its limits are its own. While it runs, its
//! output goes to the log line by line. It is stopped by SIGTERM to the whole group, and killed
//! by SIGKILL after the grace time; what is left of the group when its leader has ended is killed
//! too, and so is everything when the attempt's future is dropped. So no program outlives its
//! attempt, unless it leaves the group on purpose.
//!
//! On Linux the kernel also kills the leader when the server dies, however it dies: an attempt
//! that recovery repeats elsewhere does not go on here. That tie is to whoever started the program,
//! so one process, which lives as long as the executor, starts them all: `starter` says why it is
//! one of its own.
//!
//! There is a [`Runner`] only where the policy allows commands.
//!
//! - `definition`: what a user writes
//! - `prepare`: reads a definition, or says which field is wrong
//! - `environment`: what a program finds in its environment; pure
//! - `launch`: starts a program
//! - `spawner`: the way to whoever starts programs; `starter`: that process, or thread; `wire`: the
//!   socket between them
//! - `confinement`: what a program gives up before it starts, and what ties it to whoever starts it
//! - `user`: which user programs run as
//! - `programs`: which programs tasks may start
//! - `group`: signals to a process group
//! - `capture`: reads the output within bounds
//! - `lines`: divides bytes into lines; pure
//! - `tail`: the end of an output that is longer than what is kept of it; pure
//! - `error_lines`: the last lines on standard error; pure
//! - `attempt_file`: the files by which a program is given its context and gives something back;
//!   `folder`: where these are, for as long as the server lives
//! - `runner`: runs a program to its end
//! - `ending`: what that end was, in words

mod attempt_file;
mod capture;
mod confinement;
mod definition;
mod ending;
mod environment;
mod error_lines;
mod folder;
mod group;
mod launch;
mod lines;
mod prepare;
mod programs;
mod runner;
mod spawner;
mod starter;
mod tail;
mod user;
mod wire;

pub use confinement::drop_dumpable;
pub use definition::Command;
pub(super) use runner::Runner;
pub(crate) use starter::start_programs;
pub use user::{UserError, may_switch_user, programs_user};
