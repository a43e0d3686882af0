use super::{files, root};
use crate::{
    packaging::secrets_key,
    settings::repository,
    support::{Command, Server, TestDatabase},
};

/// Every module file in examples/.
fn examples() -> Vec<String> {
    let mut names = files("examples", ".yaml");
    names.extend(files("examples", ".toml"));
    names
}

fn path(name: &str) -> String {
    root().join("examples").join(name).to_str().unwrap().to_owned()
}

#[test]
fn every_example_is_described_and_passes_the_linter() {
    let readme = repository("examples/README.md");
    let names = examples();
    assert!(names.len() >= 10, "{names:?}");
    for name in &names {
        assert!(
            readme.contains(&format!("| [{name}]({name}) | ")),
            "examples/README.md lacks {name}"
        );
    }
    let paths: Vec<String> = names.iter().map(|name| path(name)).collect();
    let mut args = vec!["lint", "--files"];
    args.extend(paths.iter().map(String::as_str));
    let said = Command::new(&args).run().done();
    for name in
        names.iter().filter(|name| repository(&format!("examples/{name}")).contains("schedules"))
    {
        assert!(said.contains(&format!("{name}: ")), "nothing is said of {name}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_is_deployed_and_changes_nothing_the_second_time() {
    let database = TestDatabase::sqlite().await;
    let folder = tempfile::tempdir().unwrap();
    let key = secrets_key(folder.path());
    let config = folder.path().join("carillon.toml");
    let settings = format!(
        "allow_commands = true\negress.private_addresses = true\nsecrets.key_file = '{}'\n",
        key.display()
    );
    std::fs::write(&config, settings).unwrap();
    let create = ["token", "create", "examples", "--role", "admin"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start_with(&database, &["--config", config.to_str().unwrap()]);
    let apply = |name: &str, flags: &[&str]| {
        let path = path(name);
        let command = Command::new(&[&["apply", &path], flags].concat());
        command.env("CARILLON_SERVER", &server.url).env("CARILLON_TOKEN", &token).run()
    };
    for name in examples() {
        let deployed = apply(&name, &[]);
        assert_eq!(deployed.code, 0, "{name}: {deployed:?}");
        let again = apply(&name, &["--dry-run", "--exit-code"]);
        assert_eq!(again.code, 0, "{name} changes something the second time: {again:?}");
    }
}

#[test]
fn the_files_on_the_page_of_modules_pass_the_linter() {
    let page = repository("docs/modules.md");
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    let files: Vec<&str> = blocks.filter(|block| block.starts_with("module:")).collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        Command::new(&["lint", "--files", "m.yaml"]).file("m.yaml", file).run().done();
    }
}

#[test]
fn the_linter_refuses_a_file_with_its_position_and_counts_its_warnings() {
    let lint = |yaml: &str, flags: &[&str]| {
        let args = [&["lint", "--files", "m.yaml"], flags].concat();
        Command::new(&args).file("m.yaml", yaml).run()
    };
    let schedule = |when: &str| {
        format!(
            "module: m\nschedules:\n  a: {{when: '{when}', task: {{target: {{noop: {{}}}}}}}}\n"
        )
    };
    let good = lint(&schedule("0 2 * * *"), &["--strict"]).done();
    assert_eq!(good, "m.yaml: a: At 02:00 every day. Times are those of UTC.\n");
    let warned = lint(&schedule("*/7 * * * *"), &[]).done();
    assert!(warned.contains("m.yaml: a: warning: "), "{warned}");
    assert_eq!(lint(&schedule("*/7 * * * *"), &["--strict"]).refused(1), "1 warnings");
    let refused = lint(&schedule("0 25 * * *"), &[]).refused(2);
    assert!(refused.starts_with("m.yaml: schedules.a.when[0] "), "{refused}");
    let refused = lint("module: m\nschedule: {}\n", &[]).refused(2);
    assert!(refused.contains("m.yaml: ") && refused.contains("line 2"), "{refused}");
    let json = lint(&schedule("*/7 * * * *"), &["--json"]).done();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json[0]["file"], &json[0]["schedule"]), (&"m.yaml".into(), &"a".into()));
    assert_eq!(json[0]["warnings"].as_array().unwrap().len(), 1);
}
