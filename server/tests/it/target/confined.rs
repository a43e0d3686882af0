//! Programs that run as another user. Only root may start them so; without root, these tests report
//! that they were skipped.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
};

use carillon::target::{CommandLimits, CommandPolicy, Invocation, Policy, Stream, may_switch_user};
use serde_json::{Value, json};

use super::support::{executor, failed, invocation, open, run, run_with, succeeded, target, texts};

/// A policy under which programs run as `nobody`.
fn confined(limits: CommandLimits) -> Policy {
    let user = Some("nobody".to_owned());
    Policy { command: CommandPolicy { user, limits, ..CommandPolicy::default() }, ..open() }
}

fn may_switch() -> bool {
    let may = may_switch_user();
    if !may {
        println!("not tried: this user may not run programs as another");
    }
    may
}

/// The output of a script that runs as `nobody`.
async fn said(script: &str) -> Vec<String> {
    let policy = confined(CommandLimits::default());
    let (outcome, lines) = run(policy, json!({"command": {"script": script}})).await;
    succeeded(outcome);
    texts(&lines, Stream::Stdout).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_program_runs_as_a_user_without_the_servers_rights() {
    if !may_switch() {
        return;
    }
    let script = "id -un; id -G; echo $USER $HOME; pwd
        grep -E '^(Uid|Groups|CapEff|CapPrm|CapAmb|NoNewPrivs):' /proc/self/status | tr '\\t' ' '";
    let said = said(script).await;
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    let (id, group) = (nobody.uid, nobody.gid.to_string());
    assert_eq!(said[..4], ["nobody", &*group, "nobody /nonexistent", "/"]);
    assert!(said.contains(&format!("Uid: {id} {id} {id} {id}")), "{said:?}");
    assert!(said.contains(&"NoNewPrivs: 1".to_owned()), "{said:?}");
    let capabilities = said.iter().filter(|line| line.starts_with("Cap"));
    let none = |line: &&String| line.ends_with(" 0000000000000000");
    assert_eq!(capabilities.filter(none).count(), 3, "{said:?}");
}

#[tokio::test]
async fn a_program_reads_nothing_of_the_server() {
    if !may_switch() {
        return;
    }
    let folder = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir();
    let folder = folder.unwrap();
    let key = folder.path().join("secrets.key");
    fs::write(&key, "hush").unwrap();
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let script = format!(
        "for file in {} /proc/$PPID/environ /proc/$PPID/mem /etc/shadow; do
           head -c 1 $file >/dev/null 2>&1 && echo read $file
         done
         ls /proc/$PPID/fd >/dev/null 2>&1 && echo listed
         kill -0 $PPID 2>/dev/null && echo signalled
         echo done",
        key.display()
    );
    assert_eq!(said(&script).await, ["done"]);
}

#[tokio::test]
async fn a_program_may_open_its_streams_by_their_names() {
    if !may_switch() {
        return;
    }
    let script = "echo out >/dev/stdout; echo err >/dev/stderr; cat </dev/stdin";
    let policy = confined(CommandLimits::default());
    let (outcome, lines) = run(policy, json!({"command": {"script": script}})).await;
    succeeded(outcome);
    assert_eq!(texts(&lines, Stream::Stdout), ["out", r#"{"customer":42}"#]);
    assert_eq!(texts(&lines, Stream::Stderr), ["err"]);
}

#[tokio::test]
async fn a_set_user_id_program_gains_nothing() {
    if !may_switch() {
        return;
    }
    let folder = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir();
    let folder = folder.unwrap();
    let id = folder.path().join("id");
    fs::copy("/usr/bin/id", &id).unwrap();
    fs::set_permissions(&id, PermissionsExt::from_mode(0o4755)).unwrap();
    assert_eq!(said(&format!("{} -un", id.display())).await, ["nobody"]);
}

#[tokio::test]
async fn a_program_gets_its_files_and_gives_its_result() {
    if !may_switch() {
        return;
    }
    let script = "stat -c '%a %U' $CARILLON_CONTEXT_FILE $CARILLON_OUTPUT
        cat $CARILLON_CONTEXT_FILE > $CARILLON_OUTPUT; ls $(dirname $CARILLON_OUTPUT) 2>&1 | wc -l";
    let policy = confined(CommandLimits::default());
    let (outcome, lines) = run(policy, json!({"command": {"script": script}})).await;
    assert_eq!(succeeded(outcome)["result"], json!({"customer": 42}));
    assert_eq!(texts(&lines, Stream::Stdout)[..2], ["600 nobody", "600 nobody"]);
}

#[tokio::test]
async fn a_program_has_limits_of_its_own_and_no_descriptor_of_the_server() {
    let limits = CommandLimits {
        processes: Some(500),
        open_files: Some(256),
        file_bytes: Some(8_192),
        memory_bytes: Some(1 << 30),
    };
    let policy = match may_switch_user() {
        true => confined(limits),
        false => Policy { command: CommandPolicy { limits, ..CommandPolicy::default() }, ..open() },
    };
    // The file is opened without close-on-exec, like descriptors that a process inherits at its
    // start.
    let file = tempfile::tempfile().unwrap();
    let leaked = nix::unistd::dup(&file).unwrap();
    let script = "ulimit -c; ulimit -n; ulimit -v; ls /proc/self/fd | sort -n | tail -1
        grep -E '^Max (processes|file size)' /proc/self/limits | tr -s ' ' | cut -d' ' -f3-4";
    let (outcome, lines) = run(policy, json!({"command": {"script": script}})).await;
    succeeded(outcome);
    drop(leaked);
    let said = texts(&lines, Stream::Stdout);
    // The script's highest descriptor is the one with which `ls` reads the folder: nothing else is
    // inherited.
    assert_eq!(said[..4], ["0", "256", "1048576", "3"]);
    assert!(said.contains(&"size 8192") && said.contains(&"500 500"), "{said:?}");
}

#[tokio::test]
async fn a_task_cannot_ask_for_root_nor_for_users_that_are_not_listed() {
    if !may_switch() {
        return;
    }
    let mut policy = confined(CommandLimits::default());
    policy.command.users = vec!["root".to_owned(), "no-such-user".to_owned()];
    let named = |user: &str| -> Value { json!({"command": {"program": "id", "user": user}}) };
    for (user, said) in [
        ("root", "\"root\" is root, and programs must not run as root"),
        ("daemon", "\"daemon\" may not run programs here"),
    ] {
        let refused = executor(policy.clone()).check(&target(named(user))).unwrap_err();
        assert_eq!(refused.field(), Some("command.user"));
        assert!(refused.to_string().contains(said), "{refused}");
        assert_eq!(failed(run(policy.clone(), named(user)).await.0).0, refused.to_string());
    }
    let (message, _) = failed(run(policy.clone(), named("no-such-user")).await.0);
    assert_eq!(message, "could not start id: there is no user \"no-such-user\" on this node");
    succeeded(run(policy, named("nobody")).await.0);
}

#[tokio::test]
async fn programs_of_namespaces_with_their_own_users_do_not_see_each_other() {
    if !may_switch() {
        return;
    }
    let mut policy = confined(CommandLimits::default());
    policy.command.user_of = [("billing".to_owned(), Some("daemon".to_owned()))].into();
    let billing = Invocation { namespace: "billing".to_owned(), ..invocation() };
    let whoami = json!({"command": {"program": "id", "args": ["-un"]}});
    let (outcome, lines) = run_with(policy.clone(), whoami.clone(), &billing).await;
    succeeded(outcome);
    assert_eq!(texts(&lines, Stream::Stdout), ["daemon"]);
    let (outcome, lines) = run(policy.clone(), whoami).await;
    succeeded(outcome);
    assert_eq!(texts(&lines, Stream::Stdout), ["nobody"]);

    // A program of another namespace runs as well, with a secret in its environment.
    let mut other = std::process::Command::new("sleep");
    other.arg("600").env("SECRET", "hush");
    let daemon = nix::unistd::User::from_name("daemon").unwrap().unwrap();
    other.uid(daemon.uid.as_raw()).gid(daemon.gid.as_raw());
    let mut other = other.spawn().unwrap();
    let script = format!(
        "head -c 1 /proc/{0}/environ >/dev/null 2>&1 && echo read
         kill -0 {0} 2>/dev/null && echo signalled
         echo done",
        other.id()
    );
    let definition = json!({"command": {"script": script}});
    let (outcome, lines) = run(policy.clone(), definition).await;
    other.kill().unwrap();
    other.wait().unwrap();
    succeeded(outcome);
    assert_eq!(texts(&lines, Stream::Stdout), ["done"]);

    let named = json!({"command": {"program": "id", "user": "daemon"}});
    let (message, _) = failed(run(policy.clone(), named.clone()).await.0);
    assert!(message.contains("may not run programs of the namespace 'default'"), "{message}");
    let executor = executor(policy);
    let saved = executor.check_namespace(&target(named), "default").unwrap_err();
    assert_eq!(saved.to_string(), message);
}

#[tokio::test]
async fn a_directory_that_the_user_may_not_enter_is_named() {
    if !may_switch() {
        return;
    }
    let folder = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o700)).tempdir();
    let folder = folder.unwrap();
    let definition = json!({"command": {"program": "true", "directory": folder.path()}});
    let (message, _) = failed(run(confined(CommandLimits::default()), definition).await.0);
    let expected = format!(
        "could not start true: Permission denied (os error 13): the user nobody may not start it, \
         or not enter the directory {}",
        folder.path().display()
    );
    assert_eq!(message, expected);
}
