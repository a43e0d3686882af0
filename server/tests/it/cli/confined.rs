//! Programs that a real server executes, and the parts of the server that they can reach.

use std::{fs, os::unix::fs::PermissionsExt};

use carillon::target::may_switch_user;

use super::desk::Desk;
use crate::support::{Command, Server, TestDatabase};

/// A server with a key, a secret in its environment, and programs.
fn start(database: &TestDatabase, key: &str) -> Desk {
    let create = ["token", "create", "ci", "--role", "editor"];
    let token = Command::new(&create).on(database).run().done().trim().to_owned();
    Command::new(&["namespace", "create", "elsewhere"]).on(database).run().done();
    Desk {
        server: Server::start_under(
            database,
            &["--allow-commands"],
            "CARILLON_SECRETS__KEY_FILE",
            key,
        ),
        token,
    }
}

#[tokio::test]
async fn a_task_reaches_neither_the_environment_nor_the_files_of_its_server() {
    let database = TestDatabase::sqlite().await;
    let open = fs::Permissions::from_mode(0o755);
    let folder = tempfile::Builder::new().permissions(open).tempdir().unwrap();
    let key = folder.path().join("secrets.key");
    fs::write(&key, "ab".repeat(32)).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let desk = start(&database, key.to_str().unwrap());
    let module = format!(
        "module: test
schedules:
  thief:
    when: '@yearly'
    task:
      target:
        command:
          script: |
            id -un
            for file in /proc/$PPID/environ /proc/$PPID/mem {key}; do
              head -c 1 $file >/dev/null 2>&1 && echo read $file
            done
            ulimit -n
            echo done
",
        key = key.display()
    );
    desk.command(&["apply", "module.yaml"]).file("module.yaml", &module).run().done();
    desk.said(&["trigger", "thief"]);
    let runs = desk.until(&["runs", "--state", "succeeded"], |runs| {
        runs.as_array().is_some_and(|runs| !runs.is_empty())
    });
    let printed = desk.said(&["run", "logs", runs[0]["id"].as_str().unwrap()]);
    let said: Vec<&str> = printed
        .lines()
        .map(|line| line.split_once("stdout: ").map_or(line, |(_, text)| text))
        .collect();
    if may_switch_user() {
        assert!(["nobody", "carillon-task"].contains(&said[0]), "{printed}");
        assert_eq!(said[1..], ["1024", "done"], "{printed}");
    } else {
        // Even another process of the server's user cannot read the server's environment and
        // memory; it can read the server's files.
        assert!(!said.iter().any(|line| line.starts_with("read /proc")), "{printed}");
        desk.server.logged("programs run as the server's own user").await;
    }
    let foreign = "module: other
namespace: elsewhere
schedules:
  thief: { when: '@yearly', task: { target: { command: { script: 'true' } } } }
";
    let refused = desk.command(&["apply", "module.yaml"]).file("module.yaml", foreign).run();
    let refused = refused.refused(1);
    assert!(refused.contains("the namespace 'elsewhere' may not run programs"), "{refused}");
}

#[tokio::test]
async fn a_server_does_not_start_with_root_as_the_user_of_programs() {
    let database = TestDatabase::sqlite().await;
    let serve = ["serve", "--listen", "127.0.0.1:0", "--allow-commands"];
    let command = Command::new(&serve).on(&database).env("CARILLON_COMMANDS__USER", "root");
    let refused = command.run().refused(1);
    assert!(refused.contains("\"root\" is root, and programs must not run as root"), "{refused}");
}
