//! What servers keep beside the database while programs run, and what is left of it.

use std::{fs, path::Path};

use super::desk::Desk;
use crate::support::{Command, Server, TestDatabase};

const MODULE: &str = "module: test
schedules:
  short: { when: '@yearly', task: { target: { command: { script: 'true' } } } }
  long: { when: '@yearly', task: { target: { command: { script: 'exec sleep 1000' } } } }
";

fn server(database: &TestDatabase, temp: &Path) -> Server {
    let temp = ("TMPDIR", temp.to_str().unwrap());
    Server::start_under(database, &["--allow-commands"], temp)
}

fn desk(database: &TestDatabase, temp: &Path) -> Desk {
    let create = ["token", "create", "ci", "--role", "editor"];
    let token = Command::new(&create).on(database).run().done().trim().to_owned();
    let desk = Desk { server: server(database, temp), token };
    desk.command(&["apply", "module.yaml"]).file("module.yaml", MODULE).run().done();
    desk
}

/// How many folders there are, and how many files in them.
fn left(temp: &Path) -> (usize, usize) {
    let folders: Vec<_> = fs::read_dir(temp).unwrap().map(|entry| entry.unwrap().path()).collect();
    let files = folders.iter().map(|folder| fs::read_dir(folder).map_or(0, Iterator::count)).sum();
    (folders.len(), files)
}

#[tokio::test]
async fn what_a_killed_server_left_goes_with_the_next_and_what_others_use_stays() {
    let temp = tempfile::tempdir().unwrap();
    let temp = temp.path();
    let [one, two, three] =
        [TestDatabase::sqlite().await, TestDatabase::sqlite().await, TestDatabase::sqlite().await];
    let alive = desk(&one, temp);
    alive.said(&["trigger", "short"]);
    alive.until(&["runs", "--state", "succeeded"], |runs| !runs.as_array().unwrap().is_empty());
    assert_eq!(left(temp), (1, 0));

    let killed = desk(&two, temp);
    killed.said(&["trigger", "long"]);
    killed.until(&["runs"], |_| left(temp) == (2, 2));
    drop(killed);
    assert_eq!(left(temp), (2, 2), "nobody was there to remove it");

    let next = server(&three, temp);
    assert_eq!(left(temp), (1, 0));
    assert_eq!(next.stop(), 0);
    assert_eq!(alive.server.stop(), 0);
    assert_eq!(left(temp), (0, 0));
}
