use crate::support::Command;

/// The only line that a server prints about settings that it cannot use.
fn refused(command: Command) -> String {
    let line = command.run().refused(1);
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

fn with_file(content: &str) -> String {
    refused(Command::new(&["serve"]).file("carillon.toml", content))
}

#[test]
fn an_unknown_setting_is_named_wherever_it_comes_from() {
    let line = with_file("listn = \"127.0.0.1:8080\"");
    assert!(line.contains("listn: no such setting"), "{line}");
    assert!(line.contains("carillon.toml"), "{line}");
    let line = with_file("[database]\nuri = \"sqlite:x\"");
    assert!(line.contains("database.uri: no such setting"), "{line}");
    let line = refused(Command::new(&["serve"]).env("CARILLON_ENGINE__HEARTBEAT", "5s"));
    assert!(line.contains("engine.heartbeat: no such setting"), "{line}");
    assert!(line.contains("environment"), "{line}");
}

#[test]
fn a_value_of_the_wrong_kind_is_named_with_what_would_fit() {
    let line = with_file("[engine]\nlost_after = 300");
    assert!(line.contains("engine.lost_after") && line.contains("1h30m"), "{line}");
    let line = with_file("[engine]\nlost_after = \"5 minutes\"");
    assert!(line.contains("engine.lost_after") && line.contains("'5 minutes'"), "{line}");
    let line = with_file("listen = \"8080\"");
    assert!(line.contains("listen"), "{line}");
    let line = with_file("[log]\nformat = \"xml\"");
    assert!(line.contains("log.format") && line.contains("json"), "{line}");
}

#[test]
fn an_error_about_the_file_repeats_no_secret() {
    for (content, place) in [
        ("[smtp]\npassword = hunter2", "line 2, column "),
        ("[smtp]\npassword = 4711081542", "smtp.password"),
        ("smtp = \"hunter2\"", "smtp"),
    ] {
        let line = with_file(content);
        assert!(line.contains(place) && line.contains("carillon.toml"), "{line}");
        assert!(!line.contains("hunter2") && !line.contains("4711081542"), "{line}");
    }
}

#[test]
fn an_error_about_a_value_names_its_bounds() {
    let line = with_file("[engine]\nheartbeat_interval = \"0s\"");
    assert_eq!(
        line,
        "failed to use the configuration: engine.heartbeat_interval: '0s' is too short; give \
         100ms to 1d"
    );
}

#[test]
fn a_file_that_is_none_is_named() {
    let line = refused(Command::new(&["serve", "--config", "not-there.toml"]));
    assert!(line.contains("--config 'not-there.toml' does not exist"), "{line}");
    let line = with_file("listen = ");
    assert!(line.contains("carillon.toml"), "{line}");
}

#[test]
fn authorities_that_cannot_be_read_are_refused() {
    let line = with_file("[egress]\nca_file = \"ca.pem\"");
    assert!(line.contains("egress.ca_file: 'ca.pem' is not a file"), "{line}");
    let line = with_file("listen = \"127.0.0.1:0\"\n[egress]\nca_file = \"carillon.toml\"");
    assert!(line.contains("(egress.ca_file): there is no certificate in it"), "{line}");
}

#[test]
fn an_error_about_the_output_limit_names_its_bounds() {
    let line = with_file("[targets]\noutput_limit_bytes = 10");
    let expected = "targets.output_limit_bytes: '10' is too small; give 1024 to 67108864";
    assert!(line.contains(expected), "{line}");
}

#[test]
fn a_console_that_is_not_built_is_refused() {
    let line = refused(Command::new(&["serve", "--console-dist", "dist"]));
    assert!(line.contains("console.dist: 'dist' is not a folder with an index.html"), "{line}");
}

#[test]
fn a_filter_that_is_none_is_refused() {
    let line = refused(Command::new(&["serve", "--log-filter", "carillon=loud"]));
    assert!(line.contains("log.filter: 'carillon=loud'"), "{line}");
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let base = || {
        Command::new(&["migrate", "--status"])
            .file("carillon.toml", "[database]\nurl = \"mysql://file\"")
    };
    assert!(refused(base()).contains("mysql://file"));
    assert!(refused(base().env("CARILLON_DATABASE__URL", "mysql://env")).contains("mysql://env"));
    let flagged = Command::new(&["migrate", "--status", "--database-url", "mysql://flag"])
        .file("carillon.toml", "[database]\nurl = \"mysql://file\"")
        .env("CARILLON_DATABASE__URL", "mysql://env");
    assert!(refused(flagged).contains("mysql://flag"));
}

#[test]
fn zone_data_that_is_none_is_refused() {
    let line = with_file("listen = \"127.0.0.1:0\"\n[time]\nzone_data = \"carillon.toml\"");
    assert!(line.contains("failed to use the zone data at 'carillon.toml'"), "{line}");
    assert!(line.contains("tzdata.zi"), "{line}");
}

#[test]
fn errors_about_values_read_as_sentences() {
    let line = refused(Command::new(&["migrate", "--database-url", "mysql://x"]));
    assert!(line.starts_with("failed to use database.url: 'mysql://x'"), "{line}");
}
