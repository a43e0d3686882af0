//! Compose files, packages, the GitHub action, the pre-commit hook and the workflow of a release: they
//! call the binary as it is. Nothing here builds an image.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::{Value, json};

use super::root;
use crate::{
    packaging::{assert_taken, is_variable},
    settings::repository,
};

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_compose_files_start_the_image_as_it_is() {
    for (path, nodes) in [("compose.yaml", 1), ("compose.cluster.yaml", 2)] {
        let file = yaml(path);
        let services = file["services"].as_object().unwrap();
        let own: Vec<&Value> = services
            .values()
            .filter(|service| service["image"] != "postgres:17-bookworm")
            .collect();
        assert_eq!(own.len(), nodes, "{path}");
        for service in own {
            let version = env!("CARGO_PKG_VERSION");
            assert_eq!(service["image"], format!("carillon:{version}"), "{path}");
            let command: Vec<&str> = service["command"]
                .as_array()
                .unwrap()
                .iter()
                .map(|word| word.as_str().unwrap())
                .collect();
            assert_taken(&command);
            let variables = service["environment"].as_object().into_iter().flatten();
            for (name, _) in variables {
                assert!(is_variable(name), "{path}: {name} is not a setting");
            }
            let port = service["ports"][0].as_str().unwrap();
            assert!(port.starts_with("127.0.0.1:") && port.ends_with(":8080"), "{path}: {port}");
            assert_eq!(service["stop_grace_period"], "45s", "longer than shutdown_grace");
            assert_eq!(service["read_only"], true, "{path}");
            assert_eq!(service["cap_drop"], json!(["ALL"]), "{path}");
        }
    }
}

/// Compose fills in the variables of the file for each of its commands, also for `exec` and `kill`:
/// a password on the command line of one would be missing for the next.
#[test]
fn each_command_of_the_cluster_names_its_file_and_finds_its_password() {
    const FILE: &str = "compose.cluster.yaml";
    let text = repository(FILE);
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    let (password, commands) = commands.split_first().unwrap();
    assert!(password.starts_with("echo \"POSTGRES_PASSWORD=") && password.contains(">> .env"));
    assert!(commands.len() >= 3, "{commands:?}");
    for command in commands {
        assert!(command.starts_with(&format!("docker compose -f {FILE} ")), "{command}");
    }
    for ignored in [".gitignore", ".dockerignore"] {
        let is_env = |line: &str| line.trim_start_matches('/').starts_with(".env");
        assert!(repository(ignored).lines().any(is_env), "{ignored} lets the password through");
    }
}

/// A substitute for the real binary, which is slow to pack: a script that writes man pages and
/// completions.
fn stand_in(folder: &Path) -> String {
    let path = folder.join("carillon");
    let script = "#!/bin/sh\ncase $1 in\nman) mkdir -p \"$2\" && echo .TH >\"$2/carillon.1\" ;;\n\
                  completions) echo \"# $2\" ;;\nesac\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Runs a program in the repository; returns what it prints.
#[track_caller]
pub(super) fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_packages_are_reproducible_and_contain_what_a_server_needs() {
    let folder = tempfile::tempdir().unwrap();
    let binary = stand_in(folder.path());
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let pack = |name: &str| {
        run("scripts/dist", &[&binary, &out(name)]);
        fs::read_to_string(folder.path().join(name).join("SHA256SUMS")).unwrap()
    };
    let sums = pack("one");
    assert_eq!(pack("two"), sums, "the same binary makes other packages");
    let names: Vec<&str> =
        sums.lines().map(|line| line.split_whitespace().last().unwrap()).collect();
    let of = |ending: &str| {
        let name = names.iter().find(|name| name.ends_with(ending));
        out(&format!("one/{}", name.unwrap_or_else(|| panic!("no {ending} in {names:?}"))))
    };

    let listed = run("tar", &["--list", "--file", &of(".tar.gz")]);
    for file in [
        "carillon",
        "carillon.toml",
        "carillon.service",
        "LICENSE",
        "THIRD-PARTY-NOTICES.txt",
        "examples/demo.yaml",
    ] {
        assert!(
            listed.lines().any(|line| line.ends_with(&format!("/{file}"))),
            "no {file}: {listed}"
        );
    }
    let chart = run("tar", &["--list", "--file", &of(".tgz")]);
    assert!(chart.contains("carillon/templates/deployment.yaml"), "{chart}");

    let bill: Value = serde_json::from_str(&fs::read_to_string(of(".cdx.json")).unwrap()).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = bill["components"].as_array().unwrap();
    let parts: BTreeSet<&str> =
        components.iter().map(|component| component["name"].as_str().unwrap()).collect();
    assert!(parts.contains("tokio") && parts.contains("leptos") && parts.contains("timetable"));
    assert!(!parts.contains("proptest"), "what only tests need is not shipped");
    for component in components {
        let is_ours = [
            "timetable",
            "entity",
            "migration",
            "frontend",
            "carillon-worker",
            "carillon-worker-macros",
        ]
        .contains(&component["name"].as_str().unwrap());
        assert!(is_ours || component["hashes"][0]["alg"] == "SHA-256", "{component}");
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
    }

    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        println!("the .deb is not checked: there is no dpkg-deb");
        return;
    }
    let deb = of(".deb");
    let listed = run("dpkg-deb", &["--contents", &deb]);
    for (mode, file) in [
        ("-rwxr-xr-x root/root", "./usr/bin/carillon"),
        ("-rw-r--r-- root/root", "./usr/lib/systemd/system/carillon.service"),
        ("-rw-r----- root/root", "./etc/carillon/carillon.toml"),
        ("-rw-r--r-- root/root", "./usr/share/doc/carillon/copyright"),
        ("-rw-r--r-- root/root", "./usr/share/man/man1/carillon.1.gz"),
        ("-rw-r--r-- root/root", "./usr/share/bash-completion/completions/carillon"),
    ] {
        let is_there = |line: &str| line.starts_with(mode) && line.ends_with(file);
        assert!(listed.lines().any(is_there), "no {mode} {file}: {listed}");
    }
    let field = |name: &str| run("dpkg-deb", &["--field", &deb, name]).trim().to_owned();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(field("Version"), version);
    for page in ["README.md", "docs/operations.md"] {
        let named = format!("carillon_{version}_amd64.deb");
        assert!(repository(page).contains(&named), "{page} installs another version");
    }
    assert!(field("Depends").contains("libc6 (>= 2."));
    let unpacked = out("control");
    run("dpkg-deb", &["--control", &deb, &unpacked]);
    assert_eq!(
        fs::read_to_string(format!("{unpacked}/conffiles")).unwrap(),
        "/etc/carillon/carillon.toml\n"
    );
    // The configuration is the shipped one, except for the database's path, which is absolute.
    let files = out("files");
    run("dpkg-deb", &["--extract", &deb, &files]);
    let packed = fs::read_to_string(format!("{files}/etc/carillon/carillon.toml")).unwrap();
    let shipped = repository("assets/carillon.toml");
    let changed: Vec<(&str, &str)> =
        shipped.lines().zip(packed.lines()).filter(|(shipped, packed)| shipped != packed).collect();
    let url = "url = \"sqlite:/var/lib/carillon/data/carillon.db\"";
    assert_eq!(changed, [("#url = \"sqlite:data/carillon.db\"", url)]);
    // The unit's user, paths and configuration match the package's.
    let unit = repository("assets/systemd/carillon.service");
    let postinst = fs::read_to_string(format!("{unpacked}/postinst")).unwrap();
    assert!(
        unit.contains("ExecStart=/usr/bin/carillon serve --config /etc/carillon/carillon.toml")
    );
    assert!(
        unit.contains("User=carillon\n") && postinst.contains("getent passwd carillon >/dev/null")
    );
    for script in ["postinst", "prerm", "postrm"] {
        run("sh", &["-n", &format!("{unpacked}/{script}")]);
    }
}

#[test]
fn the_action_and_the_hook_call_the_binary_as_it_is() {
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hook = &hooks[0];
    assert_eq!(hook["entry"], "carillon lint");
    assert_eq!(hook["args"][0], "--files");
    assert_taken(&["lint", "--files", "--strict"]);
    // The hook that plans must never deploy, whatever `args` a user gives it.
    let plan = &hooks[1];
    assert_eq!(plan["entry"], "carillon apply --dry-run");
    assert_taken(&["apply", "--dry-run"]);
    let document = repository("docs/how-to/schedules-in-ci.md");
    for hook in hooks.as_array().unwrap() {
        let shown = format!("- id: {}", hook["id"].as_str().unwrap());
        assert!(document.contains(&shown), "the how-to does not show '{shown}'");
    }
    // scripts/dist calls the binary with these arguments.
    assert_taken(&["man"]);
    assert_taken(&["completions"]);

    let action = yaml("action.yml");
    let steps = action["runs"]["steps"].as_array().unwrap();
    let script: String = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    // Each call of the binary in the script is valid.
    let calls = script.lines().filter_map(|line| line.split("carillon ").nth(1));
    let mut called = BTreeSet::new();
    for call in calls {
        let mut words = call.split_whitespace().map(|word| word.trim_matches(['"', ')']));
        let command = words.next().unwrap();
        let flags = words.filter(|word| word.starts_with("--"));
        let line: Vec<&str> = [command].into_iter().chain(flags).collect();
        assert_taken(&line);
        called.insert(command);
    }
    assert_eq!(called, ["apply", "lint"].into());
    // Inputs of the caller reach the script as environment variables; inserted into its text, they
    // could inject commands.
    assert!(!script.contains("${{"), "{script}");
    let inputs = action["inputs"].as_object().unwrap();
    for name in inputs.keys().filter(|name| *name != "binary" && *name != "strict") {
        assert!(document.contains(&format!("{name}: ")), "the how-to does not show {name}");
    }
}

#[test]
fn the_how_to_verifies_what_the_workflow_of_a_release_signs() {
    const WORKFLOW: &str = ".github/workflows/release.yaml";
    let workflow = yaml(WORKFLOW);
    let scripts = |job: &str| -> String {
        let steps = workflow["jobs"][job]["steps"].as_array().unwrap();
        steps.iter().filter_map(|step| step["run"].as_str()).collect()
    };
    let signs = scripts("release");
    let document = repository("docs/how-to/verify-a-release.md");
    // The files of the signature, and the identity in the certificate: the workflow at a tag.
    assert!(
        signs.contains("cosign sign-blob --yes --bundle SHA256SUMS.sigstore.json SHA256SUMS\n")
    );
    assert!(document.contains("verify-blob SHA256SUMS --bundle SHA256SUMS.sigstore.json "));
    assert!(repository(WORKFLOW).contains("    tags: [\"v*\"]\n"));
    assert!(document.contains(&format!("/carillon/{WORKFLOW}@refs/tags/v$version\"")));
    assert_eq!(workflow["jobs"]["release"]["permissions"]["id-token"], "write");
    // The tag of the image is what the chart and the compose files expect: the version alone.
    assert!(signs.contains("version=${GITHUB_REF_NAME#v}\n"));
    assert!(signs.contains("cosign sign --yes \"$image@$digest\"\n"));
    assert!(document.contains("cosign verify \"$image:$version\" "));
    assert!(scripts("image").contains(":${GITHUB_REF_NAME#v}\" >> \"$GITHUB_OUTPUT\""));
    let version = env!("CARGO_PKG_VERSION");
    assert!(document.contains(&format!("owner=OWNER version={version}\n")), "another version");
    // The release takes the packages by the name under which they were uploaded.
    let step = |job: &str, action: &str| {
        let steps = workflow["jobs"][job]["steps"].as_array().unwrap();
        let uses =
            |step: &&Value| step["uses"].as_str().is_some_and(|uses| uses.starts_with(action));
        steps.iter().find(uses).unwrap_or_else(|| panic!("{job} has no {action}")).clone()
    };
    let uploaded = step("build", "actions/upload-artifact")["with"]["name"].clone();
    assert!(uploaded.as_str().unwrap().starts_with("dist-"));
    assert_eq!(step("release", "actions/download-artifact")["with"]["pattern"], "dist-*");
}
