//! Tells the linker what to leave out of the console, or to keep in it.
//!
//! Names of functions are more than half of the module's size, and no one reads them. Where the code of pages is taken
//! out of it (feature `split`), that needs names and relocations; `scripts/split-console` removes both afterwards.
//!
//! The profile's `strip` would take `target_features` too, and wasm-bindgen reads that section.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A build script has no other way to hear of its target and features.
    #[expect(clippy::disallowed_methods, reason = "the variables are cargo's, not configuration")]
    let (target, split) = (env::var("CARGO_CFG_TARGET_ARCH"), env::var("CARGO_FEATURE_SPLIT"));
    if target.as_deref() != Ok("wasm32") {
        return;
    }
    if split.is_ok() {
        println!("cargo::rustc-link-arg-bins=--emit-relocs");
    } else {
        println!("cargo::rustc-link-arg-bins=--strip-all");
        println!("cargo::rustc-link-arg-bins=--keep-section=target_features");
    }
}
