//! The way in: one binary, many subcommands.
//!
//! Promises: answers go to standard output, everything else to standard error; what another tool
//! may read is there as JSON by `--json`; an error is one line that says what failed and what to
//! do, and the exit code tells: 0 done, 1 failed, 2 the command line or an expression is wrong.
//!
//! Three kinds of commands: those that only calculate (`preview`, `lint`, `schema`), those that
//! work on the database that the configuration names (`serve`, `migrate`, `retention`, `user`,
//! `token`), and those that talk to a running server over GraphQL (`apply`, `trigger`, `skip-next`,
//! `runs`, `backfill`, `nodes`) or ask how it is (`healthcheck`).
//!
//! - `error`: `CliError` and the exit codes
//! - `output`: writing to a pipe that may close
//! - `flags`: settings as flags
//! - `offline`: the database without a server
//! - `client`: a server over GraphQL
//! - `timing`, `caret`: a timing on the command line, and where in it the error is
//! - one file a subcommand

mod apply;
mod backfill;
mod caret;
mod client;
mod error;
mod flags;
mod healthcheck;
mod lint;
mod migrate;
mod nodes;
mod offline;
mod output;
mod preview;
mod retention;
mod runs;
mod schema;
mod serve;
mod skip_next;
mod timing;
mod token;
mod trigger;
mod user;

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};
use error::CliError;

/// A distributed cron with guaranteed execution, a GraphQL control plane and a monitoring console.
#[derive(Debug, Parser)]
#[command(name = "carillon", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::Serve>),
    Preview(preview::Preview),
    Lint(lint::Lint),
    Apply(apply::Apply),
    Trigger(trigger::Trigger),
    SkipNext(skip_next::SkipNext),
    Runs(runs::Runs),
    Backfill(backfill::Backfill),
    Nodes(nodes::Nodes),
    Migrate(migrate::Migrate),
    Retention(retention::Retention),
    Schema(schema::Schema),
    User(user::User),
    Token(token::Token),
    Healthcheck(healthcheck::Healthcheck),
}

/// Parses the command line and does what it says.
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// Does what `arguments` say, of which the first is the program's name: for a program that has
/// this one inside.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let done = match Cli::parse_from(arguments).command {
        Command::Serve(serve) => offline::on_a_runtime(serve.run()),
        Command::Preview(preview) => preview.run(),
        Command::Lint(lint) => lint.run(),
        Command::Apply(apply) => offline::on_a_runtime(apply.run()),
        Command::Trigger(trigger) => offline::on_a_runtime(trigger.run()),
        Command::SkipNext(skip) => offline::on_a_runtime(skip.run()),
        Command::Runs(runs) => offline::on_a_runtime(runs.run()),
        Command::Backfill(backfill) => offline::on_a_runtime(backfill.run()),
        Command::Nodes(nodes) => offline::on_a_runtime(nodes.run()),
        Command::Healthcheck(check) => offline::on_a_runtime(check.run()),
        Command::Migrate(migrate) => offline::on_a_runtime(migrate.run()),
        Command::Retention(retention) => offline::on_a_runtime(retention.run()),
        Command::Schema(schema) => schema.run(),
        Command::User(user) => offline::on_a_runtime(user.run()),
        Command::Token(token) => offline::on_a_runtime(token.run()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
