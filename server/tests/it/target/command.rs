use std::{collections::BTreeSet, path::Path};

use carillon::target::{CommandPolicy, Invocation, Policy, Stream};
use nix::unistd::{Uid, User};
use serde_json::json;

use super::support::{executor, failed, invocation, open, run, run_with, succeeded, target, texts};

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
    let script = "env | cut -d= -f1; echo; \
        echo $CARILLON_SCHEDULED_AT $CARILLON_SCHEDULE_VERSION $TOKEN; pwd; cat";
    let definition =
        json!({"command": {"script": script, "env": {"TOKEN": "t"}, "directory": "/usr"}});
    let (outcome, lines) = run(open(), definition).await;
    succeeded(outcome);
    let said = texts(&lines, Stream::Stdout);
    let (names, rest) = said.split_at(said.iter().position(|line| line.is_empty()).unwrap());
    // The shell itself adds these variables.
    let own = ["PWD", "OLDPWD", "SHLVL", "_"];
    let names: BTreeSet<&str> = names.iter().copied().filter(|name| !own.contains(name)).collect();
    let expected = [
        "CARILLON_ATTEMPT",
        "CARILLON_CONTEXT",
        "CARILLON_CONTEXT_FILE",
        "CARILLON_IDEMPOTENCY_KEY",
        "CARILLON_NAMESPACE",
        "CARILLON_OUTPUT",
        "CARILLON_RUN_ID",
        "CARILLON_SCHEDULE",
        "CARILLON_SCHEDULED_AT",
        "CARILLON_SCHEDULE_ID",
        "CARILLON_SCHEDULE_VERSION",
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
    assert_eq!(rest[1..], ["2023-11-14T22:13:20Z 3 t", "/usr", r#"{"customer":42}"#]);
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
async fn a_program_that_cannot_be_started_is_named() {
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
async fn commands_are_refused_unless_the_policy_allows_them() {
    let definition = json!({"command": {"program": "true"}});
    let refused = executor(Policy::default()).check(&target(definition.clone())).unwrap_err();
    assert_eq!(refused.field(), Some("command"));
    let expected = "command: commands are disabled on this server; set `allow_commands = true`, or \
                    start it with --allow-commands";
    assert_eq!(refused.to_string(), expected);
    assert_eq!(failed(run(Policy::default(), definition).await.0).0, expected);
}

#[tokio::test]
async fn of_output_beyond_the_limit_beginning_and_end_are_kept() {
    let policy = Policy { output_limit_bytes: 100, ..open() };
    let script = "yes 123456789 | head -n 1000000; echo the-last";
    let (outcome, lines) = run(policy, json!({"command": {"script": script}})).await;
    assert_eq!(succeeded(outcome)["output_truncated"], true);
    let stdout = texts(&lines, Stream::Stdout);
    assert_eq!(stdout[..5], ["123456789"; 5]);
    assert_eq!(stdout[5..], ["123456789", "123456789", "123456789", "123456789", "the-last"]);
    let expected = [
        "the output is larger than 100 bytes: its end follows when the program has ended",
        "... 999,991 lines (9,999 kB) left out ...",
    ];
    assert_eq!(texts(&lines, Stream::System), expected);
}

#[tokio::test]
async fn a_failure_quotes_the_last_lines_of_standard_error() {
    let script = "echo 'Traceback:' >&2; echo '  line 7' >&2; echo 'KeyError: id' >&2; exit 1";
    let (message, _) = failed(run(open(), json!({"command": {"script": script}})).await.0);
    assert_eq!(message, "exited with code 1: Traceback: | line 7 | KeyError: id");
}

#[tokio::test]
async fn of_a_long_line_the_beginning_is_kept() {
    let script = "head -c 100000 /dev/zero | tr '\\0' x; echo; echo after";
    let (outcome, lines) = run(open(), json!({"command": {"script": script}})).await;
    assert_eq!(succeeded(outcome)["output_truncated"], true);
    assert_eq!(lines[0].text, "x".repeat(16_384));
    assert_eq!(lines[0].left_out, 100_000 - 16_384);
    assert_eq!(lines[1].text, "after");
}

#[tokio::test]
async fn a_large_context_is_in_a_file_that_is_removed() {
    let script = "test -z \"$CARILLON_CONTEXT\" || exit 1
        stat -c '%a %U' \"$CARILLON_CONTEXT_FILE\"; wc -c < \"$CARILLON_CONTEXT_FILE\"
        cat | cmp - \"$CARILLON_CONTEXT_FILE\" && echo $CARILLON_CONTEXT_FILE";
    let large = Invocation { context: json!({ "text": "x".repeat(70_000) }), ..invocation() };
    let definition = json!({"command": {"script": script}});
    let (outcome, lines) = run_with(open(), definition.clone(), &large).await;
    succeeded(outcome);
    let own = User::from_uid(Uid::effective()).unwrap().unwrap().name;
    let said = texts(&lines, Stream::Stdout);
    assert_eq!(said[..2], [format!("600 {own}"), "70011".to_owned()]);
    assert!(!Path::new(said[2]).exists(), "{}", said[2]);
    let told = texts(&lines, Stream::System);
    assert_eq!(
        told,
        [
            "CARILLON_CONTEXT is not set: the context has 70,011 bytes, and a variable holds 65,536; \
          read the file CARILLON_CONTEXT_FILE, or standard input"
        ]
    );
    let script = "test \"$CARILLON_CONTEXT\" = \"$(cat $CARILLON_CONTEXT_FILE)\"";
    let (outcome, lines) = run(open(), json!({"command": {"script": script}})).await;
    succeeded(outcome);
    assert!(lines.is_empty(), "{lines:?}");
}

#[tokio::test]
async fn programs_are_for_the_namespaces_that_are_allowed() {
    let namespaces = Some(vec!["operations".to_owned()]);
    let command = CommandPolicy { namespaces, ..CommandPolicy::default() };
    let policy = Policy { command, ..open() };
    let definition = json!({"command": {"program": "true"}});
    let (message, _) = failed(run(policy.clone(), definition.clone()).await.0);
    let expected = "command: tasks of the namespace 'default' may not run programs here; use an \
                    http target, or request that the namespace be added to commands.namespaces";
    assert_eq!(message, expected);
    let inside = Invocation { namespace: "operations".to_owned(), ..invocation() };
    succeeded(run_with(policy, definition, &inside).await.0);
}

#[tokio::test]
async fn programs_that_are_not_listed_do_not_start() {
    let programs = vec!["/bin/echo".into()];
    let policy =
        Policy { command: CommandPolicy { programs, ..CommandPolicy::default() }, ..open() };
    let definition = json!({"command": {"program": "echo", "args": ["hi"]}});
    let (outcome, lines) = run(policy.clone(), definition).await;
    succeeded(outcome);
    assert_eq!(texts(&lines, Stream::Stdout), ["hi"]);
    for (definition, field) in [
        (json!({"script": "echo hi"}), "command.script"),
        (json!({"program": "/bin/sh", "args": ["-c", "echo hi"]}), "command.program"),
        (json!({"program": "echo", "env": {"PATH": "/tmp"}}), "command.env.PATH"),
    ] {
        let definition = json!({ "command": definition });
        let refused = executor(policy.clone()).check(&target(definition.clone())).unwrap_err();
        assert_eq!(refused.field(), Some(field));
        assert_eq!(failed(run(policy.clone(), definition).await.0).0, refused.to_string());
    }
}
