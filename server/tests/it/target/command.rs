use std::collections::BTreeSet;

use carillon::target::{Policy, Stream};
use nix::unistd::Uid;
use serde_json::json;

use super::support::{executor, failed, open, run, succeeded, target, texts};

#[tokio::test]
async fn the_output_goes_to_the_log_and_the_exit_code_to_the_output() {
    let script = "echo one; echo two >&2; printf 'a\\377\\000b\\nlast'";
    let (outcome, lines) = run(open(), json!({"command": {"script": script}})).await;
    let output = succeeded(outcome);
    assert_eq!((&output["exit_code"], &output["signal"]), (&json!(0), &json!(null)));
    assert_eq!(texts(&lines, Stream::Stdout), ["one", "a\u{fffd}\u{fffd}b", "last"]);
    assert_eq!(texts(&lines, Stream::Stderr), ["two"]);
}

#[tokio::test]
async fn arguments_reach_the_program_untouched() {
    let args = json!(["%s|", "$HOME", "a b", "`id`", "*", ""]);
    let (outcome, lines) =
        run(open(), json!({"command": {"program": "printf", "args": args}})).await;
    succeeded(outcome);
    assert_eq!(texts(&lines, Stream::Stdout), ["$HOME|a b|`id`|*||"]);
}

#[tokio::test]
async fn a_program_is_told_what_it_runs_for_and_nothing_of_the_server() {
    let script = "env | cut -d= -f1; echo; echo $CARILLON_SCHEDULED_AT $TOKEN; pwd; cat";
    let definition =
        json!({"command": {"script": script, "env": {"TOKEN": "t"}, "directory": "/usr"}});
    let (outcome, lines) = run(open(), definition).await;
    succeeded(outcome);
    let said = texts(&lines, Stream::Stdout);
    let (names, rest) = said.split_at(said.iter().position(|line| line.is_empty()).unwrap());
    // The shell adds its own.
    let own = ["PWD", "OLDPWD", "SHLVL", "_"];
    let names: BTreeSet<&str> = names.iter().copied().filter(|name| !own.contains(name)).collect();
    let expected = [
        "CARILLON_ATTEMPT",
        "CARILLON_CONTEXT",
        "CARILLON_IDEMPOTENCY_KEY",
        "CARILLON_NAMESPACE",
        "CARILLON_OUTPUT",
        "CARILLON_RUN_ID",
        "CARILLON_SCHEDULE",
        "CARILLON_SCHEDULED_AT",
        "CARILLON_SCHEDULE_ID",
        "CARILLON_TASK",
        "HOME",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TOKEN",
        "TRACEPARENT",
        "USER",
    ];
    assert_eq!(names, BTreeSet::from(expected));
    assert_eq!(rest[1..], ["2023-11-14T22:13:20Z t", "/usr", r#"{"customer":42}"#]);
}

#[tokio::test]
async fn a_failure_says_the_code_and_the_last_word() {
    let script = "echo 'no such customer' >&2; echo >&2; exit 3";
    let (message, output) = failed(run(open(), json!({"command": {"script": script}})).await.0);
    assert_eq!(message, "exited with code 3: no such customer");
    assert_eq!(output["exit_code"], 3);

    let (message, output) =
        failed(run(open(), json!({"command": {"script": "kill -9 $$"}})).await.0);
    assert_eq!(message, "was killed by SIGKILL");
    assert_eq!((&output["exit_code"], &output["signal"]), (&json!(null), &json!("SIGKILL")));
}

#[tokio::test]
async fn what_cannot_be_started_is_named() {
    for (definition, expected) in [
        (
            json!({"program": "no-such-program"}),
            "could not start no-such-program: there is no such program",
        ),
        (
            json!({"program": "true", "directory": "/no/such"}),
            "could not start true: there is no directory /no/such",
        ),
        (
            json!({"program": "/etc/passwd"}),
            "could not start /etc/passwd: Permission denied (os error 13)",
        ),
    ] {
        let (message, _) = failed(run(open(), json!({ "command": definition })).await.0);
        assert_eq!(message, expected);
    }
}

#[tokio::test]
async fn another_user_is_for_root_alone() {
    let definition = json!({"command": {
        "script": "id -un; id -G; echo $USER", "user": "nobody", "directory": "/",
    }});
    if Uid::effective().is_root() {
        let (outcome, lines) = run(open(), definition).await;
        succeeded(outcome);
        let said = texts(&lines, Stream::Stdout);
        assert_eq!((said[0], said[2]), ("nobody", "nobody"));
        assert!(!said[1].split(' ').any(|group| group == "0"), "{said:?}");
        let unknown = json!({"command": {"program": "true", "user": "no-such-user"}});
        let (message, _) = failed(run(open(), unknown).await.0);
        assert_eq!(message, "could not start true: there is no user \"no-such-user\" on this node");
    } else {
        let refused = executor(open()).check(&target(definition)).unwrap_err();
        assert_eq!(refused.field(), Some("command.user"));
    }
}

#[tokio::test]
async fn commands_are_refused_unless_the_policy_allows_them() {
    let definition = json!({"command": {"program": "true"}});
    let refused = executor(Policy::default()).check(&target(definition.clone())).unwrap_err();
    assert_eq!(refused.field(), Some("command"));
    let expected = "command: commands are off on this server; set `allow_commands = true`, or \
                    start it with --allow-commands";
    assert_eq!(refused.to_string(), expected);
    assert_eq!(failed(run(Policy::default(), definition).await.0).0, expected);
}

#[tokio::test]
async fn output_beyond_the_limit_is_dropped_and_said_to_be() {
    let policy = Policy { output_limit_bytes: 100, ..open() };
    let script = "yes 123456789 | head -n 1000000";
    let (outcome, lines) = run(policy, json!({"command": {"script": script}})).await;
    assert_eq!(succeeded(outcome)["output_truncated"], true);
    assert_eq!(texts(&lines, Stream::Stdout), ["123456789"; 10]);
    assert_eq!(texts(&lines, Stream::System), ["output truncated: more than 100 bytes"]);
}
