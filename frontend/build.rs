//! Leaves the names of functions out of the console: they are more than half of its size, and nobody reads them.
//!
//! The profile's `strip` would take `target_features` too, and wasm-bindgen reads that section.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A build script has no other way to hear of its target.
    #[expect(clippy::disallowed_methods, reason = "the variable is cargo's, not configuration")]
    let target = env::var("CARGO_CFG_TARGET_ARCH");
    if target.as_deref() == Ok("wasm32") {
        println!("cargo::rustc-link-arg-bins=--strip-all");
        println!("cargo::rustc-link-arg-bins=--keep-section=target_features");
    }
}
