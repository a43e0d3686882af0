//! The calculator against vectors, oracles and its own laws.

mod errors;
mod expressions;
mod laws;
mod oracle;
mod support;
mod vectors;
