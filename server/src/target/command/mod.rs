//! Programs on the node.
//!
//! A program runs in a process group of its own with a cleared environment. While it runs, its
//! output goes to the log line by line. It is stopped by SIGTERM to the whole group, and killed
//! by SIGKILL after the grace time; what is left of the group when its leader has ended is killed
//! too, and so is everything when the attempt's future is dropped. So no program outlives its
//! attempt, unless it leaves the group on purpose.
//!
//! On Linux the kernel also kills the leader when the server dies, however it dies: an attempt
//! that recovery repeats elsewhere does not go on here. That tie is to the *thread* that started
//! the program, so one thread, which lives as long as the executor, starts them all.
//!
//! There is a [`Runner`] only where the policy allows commands.
//!
//! - `definition`: what a user writes
//! - `prepare`: reads a definition, or says which field is wrong
//! - `environment`: what a program finds in its environment; pure
//! - `launch`: starts a program
//! - `spawner`: the thread that starts programs
//! - `tether`: ties a program to that thread's life
//! - `group`: signals to a process group
//! - `capture`: reads the output within bounds
//! - `lines`: cuts bytes into lines; pure
//! - `offer`: the file into which a program writes what it gives back; `folder`: where these are, for
//!   as long as the server lives
//! - `runner`: runs a program to its end
//! - `ending`: what that end was, in words

mod capture;
mod definition;
mod ending;
mod environment;
mod folder;
mod group;
mod launch;
mod lines;
mod offer;
mod prepare;
mod runner;
mod spawner;
mod tether;

pub use definition::Command;
pub(super) use runner::Runner;
