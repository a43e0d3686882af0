//! Programs on the node.

mod definition;

pub use definition::Command;
