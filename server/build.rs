//! Puts the built console into the binary, when the feature `embed` asks for it.

fn main() {
    // Without a word about it any file of the package, a test's too, would compile all of it anew.
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "embed")]
    {
        println!("cargo:rerun-if-changed=../dist");
        memory_serve::load_directory("../dist");
    }
}
