//! Everything that is generated from the definition of the commands: help, completions, man pages,
//! and the reference.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    net::{Shutdown, TcpListener},
    process::{self, Stdio},
    thread,
};

use crate::support::{Command, TestDatabase};

fn said(args: &[&str]) -> String {
    Command::new(args).run().done()
}

#[test]
fn help_is_in_groups_and_shows_an_example_of_each_command() {
    let help = said(&["--help"]);
    for part in ["\nOperate schedules:\n", "\n  trigger ", "\nSign in:\n", "--profile <NAME>"] {
        assert!(help.contains(part), "{help}");
    }
    assert!(!help.contains('\u{1b}'), "colours in a pipe: {help}");
    let help = said(&["pause", "--help"]);
    assert!(help.contains("Example:\n  carillon pause nightly --until "), "{help}");
    let help = said(&["alerts", "mute", "--help"]);
    assert!(help.contains("Example:\n  carillon alerts mute failures --until "), "{help}");
}

#[test]
fn a_mistyped_command_or_setting_gets_a_suggestion() {
    let command = Command::new(&["scheduels"]).run();
    assert_eq!(command.code, 2);
    assert!(command.err.contains("'schedules'"), "{command:?}");
    let flag = Command::new(&["schedules", "--sarch", "x"]).run();
    assert!(flag.err.contains("'--search'"), "{flag:?}");
    let serve = Command::new(&["serve"]).file("carillon.toml", "listn = \"127.0.0.1:8080\"");
    let setting = serve.run().refused(1);
    assert!(setting.contains("listn: no such setting; did you mean 'listen'?"), "{setting}");
}

#[test]
fn flags_may_come_before_a_command_that_uses_them() {
    let before = Command::new(&["--server", "http://127.0.0.1:9", "schedules"]).run().refused(1);
    assert!(before.contains("reach the server at http://127.0.0.1:9"), "{before}");
    let flags = ["--config", "none.toml", "--database-url", "sqlite:x.db"];
    let before = Command::new(&[&flags[..], &["token", "list"]].concat()).run().refused(1);
    assert!(before.contains("'none.toml' does not exist"), "{before}");
    let useless = Command::new(&["--server", "http://127.0.0.1:9", "preview", "@daily"]).run();
    assert_eq!(useless.code, 2);
    assert!(useless.err.contains("'carillon preview' does not use --server"), "{useless:?}");
}

/// Answers one request as a proxy does whose server is away; returns its address.
fn proxy() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
        head.take_while(|line| !line.is_empty()).for_each(drop);
        let answer = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\
                      Content-Length: 12\r\nConnection: close\r\n\r\n<h1>502</h1>";
        stream.write_all(answer.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // Unread bytes would reset the connection before the answer arrives.
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    url
}

#[test]
fn a_proxy_that_answers_for_its_server_is_told_from_it() {
    for command in ["schedules", "healthcheck"] {
        let refused = Command::new(&[command, "--server", &proxy()]).run().refused(1);
        let problem = "the answer (502 Bad Gateway) is not JSON; check --server";
        assert!(refused.contains(problem), "{refused}");
    }
}

#[tokio::test]
async fn a_token_is_printed_even_if_nobody_reads_the_note_beside_it() {
    let database = TestDatabase::sqlite().await;
    let create = Command::new(&["token", "create", "ci", "--role", "viewer"]).on(&database);
    let (mut create, _folder) = create.into_inner();
    let (reader, notes) = io::pipe().unwrap();
    drop(reader);
    let output = create.stdin(Stdio::null()).stderr(notes).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.starts_with(b"car_"), "{output:?}");
}

#[test]
fn each_shell_gets_completions_that_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&["completions", shell]);
        for word in ["skip-next", "catch-up", "undelete", "timed-out"] {
            assert!(script.contains(word), "{word} in the completions of {shell}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("carillon.bash");
    fs::write(&file, said(&["completions", "bash"])).unwrap();
    let complete = "source \"$1\"; COMP_WORDS=(carillon resu); COMP_CWORD=1; \
                    _carillon carillon resu carillon; printf '%s' \"${COMPREPLY[*]}\"";
    let bash = process::Command::new("bash").args(["-c", complete, "bash"]).arg(&file).output();
    let bash = bash.unwrap();
    assert_eq!(String::from_utf8_lossy(&bash.stdout), "resume", "{bash:?}");
}

#[test]
fn there_is_a_man_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("man1");
    said(&["man", to.to_str().unwrap()]);
    for name in ["carillon.1", "carillon-trigger.1", "carillon-backfill-create.1"] {
        let page = fs::read_to_string(to.join(name)).unwrap();
        assert!(page.contains(".SH SYNOPSIS") || page.contains(".SH NAME"), "{name}: {page}");
    }
    let page = fs::read_to_string(to.join("carillon-trigger.1")).unwrap();
    assert!(page.contains("carillon trigger nightly"), "{page}");
}

#[test]
fn the_reference_says_what_the_program_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/cli.md");
    let kept = fs::read_to_string(path).unwrap();
    let said = said(&["man", "--markdown"]);
    assert!(kept == said, "run 'carillon man --markdown > docs/reference/cli.md'");
}

#[test]
fn states_have_colours_where_they_are_wanted() {
    let listed = |name: &str| Command::new(&["user", "list", "--init"]).env(name, "1").run().done();
    assert!(listed("CLICOLOR_FORCE").contains('\u{1b}'));
    assert!(!listed("NO_COLOR").contains('\u{1b}'));
    assert!(!listed("NOTHING").contains('\u{1b}'));
}

#[tokio::test]
async fn a_table_is_no_wider_than_the_terminal() {
    let database = TestDatabase::sqlite().await;
    let why = "a reason of many words that is much longer than a line of a narrow terminal is";
    let create = ["namespace", "create", "billing", "--reason", why];
    Command::new(&create).on(&database).run().done();
    let binary = env!("CARGO_BIN_EXE_carillon");
    let show = format!("stty rows 40 cols 100; exec '{binary}' audit");
    let script = process::Command::new("script")
        .args(["-qec", &show, "/dev/null"])
        .env_clear()
        .env("CARILLON_DATABASE__URL", &database.url)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let table = String::from_utf8(script.stdout).unwrap();
    assert!(table.contains("namespace.create"), "{table}");
    assert!(table.lines().all(|line| line.trim_end().chars().count() <= 100), "{table}");
    assert!(table.lines().count() > 3, "{table}");
}
