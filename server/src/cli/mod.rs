//! The command line: one binary, many subcommands.
//!
//! Promises: results go to standard output, everything else to standard error. `--json` prints
//! results as JSON for other tools. An error is one line with the failed operation and a way to fix
//! it. Exit codes: 0 done, 1 failed, 2 the command line or an expression is wrong, 3 something
//! differs (if requested), 4 an awaited run did not succeed.
//!
//! Three kinds of commands: those that only calculate (`preview`, `lint`, `schema`, `import`),
//! those that work on the configured database (`serve`, `doctor`, `upgrade`, `migrate`, `backup`,
//! `restore`, `retention` without a subcommand, `user`, `member`, `namespace`, `token`, `secret`,
//! `audit`), and those that talk to a running server over GraphQL (all others), check its health
//! (`healthcheck`) or carry out its tasks (`work`).
//!
//! - `error`: `CliError` and the exit codes
//! - `guide`: the command groups of the help, with an example for each command and subcommand
//! - `definition`: the definition of all commands, for help, completions, man pages and the
//!   reference
//! - `output`, `table`, `progress`: printing, tables that fit the terminal, and progress lines
//! - `when`: instants and durations on the command line
//! - `flags`: settings as flags
//! - `offline`: access to the database without a server
//! - `client`: a server over GraphQL; `session`: a browser-like session; `profiles`: servers that
//!   the user is signed in to; `named`: one of a server's schedules; `await_run`: waits for a run
//!   to settle; `revised`: reports a change of a schedule
//! - `why`: the reason for a change, for the audit log; `json`: an object on the command line
//! - `modules`: reads and writes module files
//! - `timing`, `search`, `caret`: a timing or search on the command line, and marks at its errors
//! - `lint_files`: checks module files without a server
//! - `user_sessions`: the part of `user` about sessions; `notify`: the part of `serve` about systemd
//! - one file per subcommand

mod alerts;
mod apply;
mod audit;
mod await_run;
mod backfill;
mod backup;
mod budgets;
mod buffer;
mod bulk;
mod caret;
mod change;
mod client;
mod completions;
mod create;
mod definition;
mod delete;
mod deleted;
mod doctor;
#[cfg(test)]
mod documents_tests;
mod drift;
mod error;
mod explain;
mod export;
mod feeds;
mod fires;
mod flags;
mod guide;
mod healthcheck;
mod import;
mod json;
mod lint;
mod lint_files;
mod login;
mod maintenance;
mod man;
mod member;
mod migrate;
mod modules;
mod named;
mod namespace;
mod nodes;
mod note;
mod notify;
mod offline;
mod output;
mod pause;
mod preview;
mod profiles;
mod progress;
mod restore;
mod resume;
mod retention;
mod revised;
mod rollback;
mod run;
mod runs;
mod schedules;
mod schema;
mod search;
mod secret;
mod serve;
mod session;
mod shared;
mod show;
mod skip_next;
mod table;
mod timing;
mod token;
mod trigger;
mod undelete;
mod upcoming;
mod upgrade;
mod user;
mod user_sessions;
mod verify;
mod versions;
mod what_if;
mod when;
mod why;
mod work;
mod workers;

use std::{ffi::OsString, process::ExitCode};

use clap::{Args, FromArgMatches, Parser, Subcommand};
use error::CliError;

/// A distributed cron with guaranteed execution, a GraphQL control plane and a monitoring console.
#[derive(Debug, Parser)]
#[command(name = "carillon", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(subcommand)]
    command: Command,
}

/// Flags that may also precede the subcommand, if the subcommand supports them.
#[derive(Debug, Args)]
struct Everywhere {
    #[command(flatten)]
    server: client::Server,
    #[command(flatten)]
    place: flags::SettingsArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::Serve>),
    Preview(preview::Preview),
    Lint(lint::Lint),
    Apply(apply::Apply),
    Drift(drift::Drift),
    Export(export::Export),
    Import(Box<import::Import>),
    Create(create::Create),
    Change(change::Change),
    Delete(delete::Delete),
    Deleted(deleted::Deleted),
    Undelete(undelete::Undelete),
    Note(note::Note),
    Trigger(trigger::Trigger),
    Pause(pause::Pause),
    Resume(resume::Resume),
    SkipNext(skip_next::SkipNext),
    Versions(versions::Versions),
    Rollback(rollback::Rollback),
    Buffer(buffer::Buffer),
    Bulk(bulk::Bulk),
    Schedules(schedules::Schedules),
    #[command(name = "list")]
    Shared(shared::Shared),
    Runs(runs::Runs),
    Run(run::Run),
    Backfill(backfill::Backfill),
    Maintenance(maintenance::Maintenance),
    Nodes(nodes::Nodes),
    Workers(workers::Workers),
    Budgets(budgets::Budgets),
    Work(Box<work::Work>),
    Alerts(alerts::Alerts),
    Migrate(migrate::Migrate),
    Doctor(Box<doctor::Doctor>),
    Upgrade(upgrade::Upgrade),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Retention(retention::Retention),
    Schema(schema::Schema),
    User(user::User),
    Member(member::Member),
    Namespace(namespace::Namespace),
    Token(token::Token),
    Secret(secret::Secret),
    Audit(audit::Audit),
    Healthcheck(healthcheck::Healthcheck),
    Fires(fires::Fires),
    Explain(explain::Explain),
    Verify(verify::Verify),
    Show(show::Show),
    Upcoming(upcoming::Upcoming),
    WhatIf(what_if::WhatIf),
    Logs(run::Logs),
    Feeds(feeds::Feeds),
    Login(login::Login),
    Logout(login::Logout),
    #[command(name = "profiles")]
    ListProfiles(profiles::ListProfiles),
    Completions(completions::Completions),
    Man(man::Man),
}

/// Parses the command line and executes it.
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// Executes `arguments` for programs that embed this one. The first argument is the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(code) = crate::target::start_programs(&arguments) {
        return code;
    }
    let mut definition = definition::command();
    let matches =
        definition.try_get_matches_from_mut(arguments).unwrap_or_else(|error| error.exit());
    if let Some(error) = definition::misplaced(&matches) {
        error.exit();
    }
    let Cli { command, everywhere: _ } = Cli::from_arg_matches(&matches)
        .unwrap_or_else(|error| error.format(&mut definition).exit());
    let done = match command {
        Command::Serve(serve) => offline::on_a_runtime(serve.run()),
        Command::Preview(preview) => preview.run(),
        Command::Lint(lint) => lint.run(),
        Command::Apply(apply) => offline::on_a_runtime(apply.run()),
        Command::Drift(drift) => offline::on_a_runtime(drift.run()),
        Command::Export(export) => offline::on_a_runtime(export.run()),
        Command::Import(import) => import.run(),
        Command::Create(create) => offline::on_a_runtime(create.run()),
        Command::Change(change) => offline::on_a_runtime(change.run()),
        Command::Delete(delete) => offline::on_a_runtime(delete.run()),
        Command::Deleted(deleted) => offline::on_a_runtime(deleted.run()),
        Command::Undelete(undelete) => offline::on_a_runtime(undelete.run()),
        Command::Note(note) => offline::on_a_runtime(note.run()),
        Command::Trigger(trigger) => offline::on_a_runtime(trigger.run()),
        Command::Pause(pause) => offline::on_a_runtime(pause.run()),
        Command::Resume(resume) => offline::on_a_runtime(resume.run()),
        Command::SkipNext(skip) => offline::on_a_runtime(skip.run()),
        Command::Versions(versions) => offline::on_a_runtime(versions.run()),
        Command::Rollback(rollback) => offline::on_a_runtime(rollback.run()),
        Command::Buffer(buffer) => offline::on_a_runtime(buffer.run()),
        Command::Bulk(bulk) => offline::on_a_runtime(bulk.run()),
        Command::Shared(shared) => offline::on_a_runtime(shared.run()),
        Command::Schedules(schedules) => offline::on_a_runtime(schedules.run()),
        Command::Runs(runs) => offline::on_a_runtime(runs.run()),
        Command::Run(run) => offline::on_a_runtime(run.run()),
        Command::Backfill(backfill) => offline::on_a_runtime(backfill.run()),
        Command::Maintenance(maintenance) => offline::on_a_runtime(maintenance.run()),
        Command::Nodes(nodes) => offline::on_a_runtime(nodes.run()),
        Command::Workers(workers) => offline::on_a_runtime(workers.run()),
        Command::Budgets(budgets) => offline::on_a_runtime(budgets.run()),
        Command::Work(work) => offline::on_a_runtime(work.run()),
        Command::Alerts(alerts) => offline::on_a_runtime(alerts.run()),
        Command::Healthcheck(check) => offline::on_a_runtime(check.run()),
        Command::Migrate(migrate) => offline::on_a_runtime(migrate.run()),
        Command::Doctor(doctor) => offline::on_a_runtime(doctor.run()),
        Command::Upgrade(upgrade) => offline::on_a_runtime(upgrade.run()),
        Command::Backup(backup) => offline::on_a_runtime(backup.run()),
        Command::Restore(restore) => offline::on_a_runtime(restore.run()),
        Command::Retention(retention) => offline::on_a_runtime(retention.run()),
        Command::Schema(schema) => schema.run(),
        Command::User(user) => offline::on_a_runtime(user.run()),
        Command::Member(member) => offline::on_a_runtime(member.run()),
        Command::Namespace(namespace) => offline::on_a_runtime(namespace.run()),
        Command::Token(token) => offline::on_a_runtime(token.run()),
        Command::Secret(secret) => offline::on_a_runtime(secret.run()),
        Command::Audit(audit) => offline::on_a_runtime(audit.run()),
        Command::Fires(fires) => offline::on_a_runtime(fires.run()),
        Command::Explain(explain) => offline::on_a_runtime(explain.run()),
        Command::Verify(verify) => offline::on_a_runtime(verify.run()),
        Command::Show(show) => offline::on_a_runtime(show.run()),
        Command::Upcoming(upcoming) => offline::on_a_runtime(upcoming.run()),
        Command::WhatIf(outage) => offline::on_a_runtime(outage.run()),
        Command::Logs(logs) => offline::on_a_runtime(logs.run()),
        Command::Feeds(feeds) => offline::on_a_runtime(feeds.run()),
        Command::Login(login) => offline::on_a_runtime(login.run()),
        Command::Logout(logout) => offline::on_a_runtime(logout.run()),
        Command::ListProfiles(profiles) => profiles.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
