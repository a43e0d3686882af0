//! Puts the built console into the binary, when the feature `embed` asks for it.

fn main() {
    // Without this line, a change of any file in the package, even of a test, would recompile all
    // of it.
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "embed")]
    {
        println!("cargo:rerun-if-changed=../dist");
        memory_serve::load_directory("../dist");
    }
}
