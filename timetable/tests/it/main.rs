//! The calculator against vectors, oracles and its own laws.

mod support;
mod vectors;
