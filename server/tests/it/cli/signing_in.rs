//! Signing in to servers from the command line.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Command, Finished, Server, TestDatabase, on_both};

on_both!(
    a_user_signs_in_with_a_password_and_out_again,
    a_one_time_password_is_replaced_at_the_first_sign_in,
    a_token_is_shown_to_its_own_server_alone,
    a_user_makes_feeds_and_takes_them_back,
);

const PASSWORD: &str = "correct horse battery";

struct Person {
    home: TempDir,
    server: Server,
}

impl Person {
    fn new(database: &TestDatabase) -> Self {
        let add =
            ["user", "add", "ada", "--role", "operator", "--password-stdin", "--own-password"];
        Command::new(&add).on(database).input(format!("{PASSWORD}\n")).run().done();
        Self { home: tempfile::tempdir().unwrap(), server: Server::start(database) }
    }

    fn command(&self, args: &[&str]) -> Command {
        Command::new(args).env("XDG_CONFIG_HOME", self.home.path().to_str().unwrap())
    }

    fn run(&self, args: &[&str]) -> Finished {
        self.command(args).run()
    }

    fn sign_in(&self) -> String {
        let login = ["login", &self.server.url, "--name", "here", "--user", "ada", "--stdin"];
        self.command(&login).input(format!("{PASSWORD}\n")).run().done()
    }

    fn file(&self) -> std::path::PathBuf {
        self.home.path().join("carillon").join("profiles.toml")
    }
}

async fn a_user_signs_in_with_a_password_and_out_again(database: TestDatabase) {
    let person = Person::new(&database);
    let nobody = person.run(&["logout"]).done();
    assert_eq!(nobody, "not signed in anywhere\n");
    let login = ["login", &person.server.url, "--user", "ada", "--stdin"];
    let wrong = person.command(&login).input("wrong\n").run().refused(1);
    assert!(wrong.contains("wrong name or password"), "{wrong}");
    assert!(!person.file().exists());

    let said = person.sign_in();
    let expected = format!("signed in to {} as ada; it is called 'here' here\n", person.server.url);
    assert!(said.starts_with(&expected), "{said}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&person.file()), 0o600);
    assert_eq!(mode(person.file().parent().unwrap()), 0o700);
    // Commands without `--server` use the server of the last sign-in.
    assert!(person.run(&["schedules"]).done().starts_with("SCHEDULE"));
    let listed = person.run(&["profiles", "--json"]).done();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed[0]["name"], &listed[0]["current"]), (&"here".into(), &true.into()));
    assert!(!listed.to_string().contains("car_"), "{listed}");
    let chosen = person.run(&["profiles", "--json", "use", "here"]).done();
    let chosen: Value = serde_json::from_str(&chosen).unwrap();
    assert_eq!(chosen, listed[0]);
    let unknown = person.run(&["--profile", "there", "schedules"]).refused(2);
    assert_eq!(unknown, "there is no profile 'there'; there are here");
    let tokens = Command::new(&["token", "list", "--json"]).on(&database).run().done();
    assert!(tokens.contains("ada/cli-") && tokens.contains("\"operator\""), "{tokens}");
    // Signing in again replaces the token, and leaves none behind.
    person.sign_in();
    let tokens = Command::new(&["token", "list", "--json"]).on(&database).run().done();
    let tokens: Value = serde_json::from_str(&tokens).unwrap();
    let states = tokens.as_array().unwrap().iter().map(|token| token["state"].as_str().unwrap());
    let mut states: Vec<&str> = states.collect();
    states.sort_unstable();
    assert_eq!(states, ["active", "revoked"]);

    let kept = fs::read_to_string(person.file()).unwrap();
    let said = person.run(&["logout"]).done();
    assert!(said.ends_with("the server has revoked it\n"), "{said}");
    assert!(!fs::read_to_string(person.file()).unwrap().contains("car_"));
    // After signing out, a copy of the token is useless.
    fs::write(person.file(), kept).unwrap();
    assert!(person.run(&["schedules"]).refused(1).contains("sign in with 'carillon login'"));
    let said = person.run(&["logout"]).done();
    assert!(said.ends_with("the server no longer accepted it\n"), "{said}");
}

async fn a_one_time_password_is_replaced_at_the_first_sign_in(database: TestDatabase) {
    let person = Person::new(&database);
    let add = ["user", "add", "bob", "--role", "operator", "--password-stdin"];
    Command::new(&add).on(&database).input(format!("{PASSWORD}\n")).run().done();
    let feeds = ["feeds", "list", "--server", &person.server.url, "--user", "bob", "--stdin"];
    let refused = person.command(&feeds).input(format!("{PASSWORD}\n")).run().refused(1);
    assert!(refused.contains("one-time password; choose your own first"), "{refused}");

    let login = ["login", &person.server.url, "--user", "bob", "--stdin"];
    let without = person.command(&login).input(format!("{PASSWORD}\n")).run().refused(2);
    assert!(without.contains("give a new one on the second line"), "{without}");
    let same = person.command(&login).input(format!("{PASSWORD}\n{PASSWORD}\n")).run().refused(1);
    assert!(same.contains("is the password that you have now"), "{same}");
    assert!(!person.file().exists());
    let own = "staple battery horse";
    let said = person.command(&login).input(format!("{PASSWORD}\n{own}\n")).run().done();
    assert!(said.contains(" as bob; "), "{said}");
    assert!(person.run(&["schedules"]).done().starts_with("SCHEDULE"));
    // From now on, the new password is asked for alone.
    let again = person.command(&login).input(format!("{own}\n")).run().done();
    assert!(again.contains(" as bob; "), "{again}");
}

async fn a_token_is_shown_to_its_own_server_alone(database: TestDatabase) {
    let person = Person::new(&database);
    let create = ["token", "create", "ci", "--role", "viewer"];
    let token = Command::new(&create).on(&database).run().done();
    let login = ["login", &person.server.url, "--stdin"];
    let said = person.command(&login).input(token.clone()).run().done();
    let name = person.server.url.trim_start_matches("http://");
    assert!(said.contains(&format!("it is called '{name}' here")), "{said}");
    let bad = person.command(&login).input("car_no\n").run().refused(1);
    assert!(bad.contains("ask the server at"), "{bad}");
    let other = Server::start(&TestDatabase::sqlite().await);
    for elsewhere in [&["--profile", name][..], &[]] {
        let asked = [elsewhere, &["schedules", "--server", &other.url]].concat();
        assert!(person.run(&asked).refused(1).contains("give --token or CARILLON_TOKEN"));
    }
    let here = ["--profile", name, "schedules", "--server", &person.server.url];
    assert!(person.run(&here).done().starts_with("SCHEDULE"));
    let said = person.run(&["logout"]).done();
    assert!(said.contains("\nthe token itself stays valid, "), "{said}");
    assert!(person.run(&["profiles", "use", "here"]).refused(2).contains("no profile 'here'"));
}

async fn a_user_makes_feeds_and_takes_them_back(database: TestDatabase) {
    let person = Person::new(&database);
    person.sign_in();
    let run = |args: &[&str]| {
        let args = [&["feeds", "--user", "ada", "--stdin"][..], args].concat();
        person.command(&args).input(format!("{PASSWORD}\n")).run()
    };
    let made = run(&["create", "work", "--search", "tag:billing"]);
    let address = made.out.trim().to_owned();
    assert!(address.starts_with(&person.server.url), "{made:?}");
    let calendar = person.server.http.get(&address).send().await.unwrap();
    assert!(calendar.status().is_success(), "{calendar:?}");
    let listed = run(&["list"]).done();
    assert!(
        listed.lines().nth(1).unwrap().starts_with("work  calendar  default    tag:billing"),
        "{listed}"
    );
    assert!(run(&["revoke", "play"]).refused(1).contains("you have no feed 'play'"));
    assert_eq!(run(&["revoke", "work"]).done(), "revoked the feed 'work'\n");
    let calendar = person.server.http.get(&address).send().await.unwrap();
    assert!(calendar.status().is_client_error(), "{calendar:?}");
    let nobody = person.run(&["feeds", "list"]).refused(2);
    assert!(nobody.contains("give --user"), "{nobody}");
}
