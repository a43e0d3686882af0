//! Targets: how a task acts on the world.

mod command;
mod definition;
mod error;
mod executor;
mod http;
mod invocation;
mod policy;
mod secret;

pub use command::Command;
pub use definition::{Noop, Target};
pub use error::TargetError;
pub use executor::Executor;
pub use http::{Http, Method, StatusSet};
pub use invocation::{Invocation, Line, Outcome, Stream};
pub use policy::Policy;
pub use secret::Secret;
