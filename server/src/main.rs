//! The `carillon` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    carillon::cli::main()
}
