//! Files that servers keep outside the database while programs run, and the cleanup afterwards.

use std::{fs, path::Path, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::desk::Desk;
use crate::support::{Command, Server, TestDatabase};

const MODULE: &str = "module: test
schedules:
  short: { when: '@yearly', task: { target: { command: { script: 'true' } } } }
  long: { when: '@yearly', task: { target: { command: { script: 'exec sleep 1000' } } } }
";

fn server(database: &TestDatabase, temp: &Path) -> Server {
    Server::start_under(database, &["--allow-commands"], "TMPDIR", temp.to_str().unwrap())
}

fn desk(database: &TestDatabase, temp: &Path) -> Desk {
    let create = ["token", "create", "ci", "--role", "editor"];
    let token = Command::new(&create).on(database).run().done().trim().to_owned();
    let desk = Desk { server: server(database, temp), token };
    desk.command(&["apply", "module.yaml"]).file("module.yaml", MODULE).run().done();
    desk
}

/// The number of folders, and of files in them.
fn left(temp: &Path) -> (usize, usize) {
    let folders: Vec<_> = fs::read_dir(temp).unwrap().map(|entry| entry.unwrap().path()).collect();
    let files = folders.iter().map(|folder| fs::read_dir(folder).map_or(0, Iterator::count)).sum();
    (folders.len(), files)
}

#[tokio::test]
async fn leftovers_of_a_killed_server_are_removed_and_files_in_use_stay() {
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

    // The next life of the killed server says what it took over.
    let log = server(&two, temp).logged("recovery took over lost work").await;
    assert!(log.contains("lost_runs=1"), "{log}");
}

/// The process that starts a server's programs.
fn starter(server: &Server) -> Option<i32> {
    let parent = format!(") S {} ", server.process());
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut of_server = numbers.filter(|number| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{number}/{file}"));
        let is_child = read("stat").is_ok_and(|stat| stat.contains(&parent));
        is_child && read("cmdline").is_ok_and(|line| line.contains("start-programs"))
    });
    of_server.next()
}

/// Waits until a process is gone.
async fn await_end(process: i32) {
    let gone = async {
        while kill(Pid::from_raw(process), None).is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), gone).await;
    assert!(ended.is_ok(), "the process {process} goes on");
}

#[tokio::test]
async fn the_process_that_starts_programs_is_replaced_and_ends_with_the_server() {
    let temp = tempfile::tempdir().unwrap();
    let database = TestDatabase::sqlite().await;
    let desk = desk(&database, temp.path());
    assert_eq!(starter(&desk.server), None, "no program was started yet");
    desk.said(&["trigger", "long"]);
    desk.until(&["runs"], |_| left(temp.path()) == (1, 2) && starter(&desk.server).is_some());
    let first = starter(&desk.server).unwrap();
    kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
    // The starter's program dies with it, and the attempt ends.
    desk.until(&["runs"], |runs| runs[0]["state"] != "RUNNING");

    desk.said(&["trigger", "short"]);
    desk.until(&["runs", "--state", "succeeded"], |runs| !runs.as_array().unwrap().is_empty());
    let second = starter(&desk.server).unwrap();
    assert_ne!(first, second);
    // Dropping the desk kills the server.
    drop(desk);
    await_end(second).await;
}
