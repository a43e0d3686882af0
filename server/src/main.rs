//! The `carillon` binary.
fn main() {}
