//! The `carillon-bench` binary.
fn main() {}
