//! A server with a module of schedules, and an operator at the command line.

use std::time::Duration;

use carillon::clock::Clock;
use serde_json::Value;

use crate::support::{Command, Server, TestDatabase};

/// A time limit that suffices on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Desk {
    pub(super) server: Server,
    pub(super) token: String,
}

impl Desk {
    /// Opens a desk with the declarations of `module`.
    pub(super) fn open(database: &TestDatabase, module: &str) -> Self {
        let create = ["token", "create", "ci", "--role", "editor"];
        let token = Command::new(&create).on(database).run().done().trim().to_owned();
        let desk =
            Self { server: Server::start_with(database, &["--allow-private-addresses"]), token };
        desk.command(&["apply", "module.yaml"]).file("module.yaml", module).run().done();
        desk
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        Command::new(args)
            .env("CARILLON_SERVER", &self.server.url)
            .env("CARILLON_TOKEN", &self.token)
    }

    pub(super) fn said(&self, args: &[&str]) -> String {
        self.command(args).run().done()
    }

    pub(super) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.said(&[args, &["--json"]].concat())).unwrap()
    }

    /// The first answer for which `is_it` holds. Each attempt starts a process, which takes time.
    pub(super) fn until(&self, args: &[&str], is_it: impl Fn(&Value) -> bool) -> Value {
        let clock = Clock::system();
        let start = clock.instant();
        while clock.instant() - start < PATIENCE {
            let found = self.json(args);
            if is_it(&found) {
                return found;
            }
        }
        panic!("{args:?} never says so")
    }
}
