//! Puts the built console into the binary, when the feature `embed` asks for it.

fn main() {
    #[cfg(feature = "embed")]
    memory_serve::load_directory("../dist");
}
