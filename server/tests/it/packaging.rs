//! Files shipped for starting a server: their flags, variables, ports and paths match the binary.
//! These tests cannot build an image or reach a cluster.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process,
};

use serde_json::Value;

use crate::{
    settings::{repository, settings},
    support::{Command, Server, TestDatabase},
};

const UNIT: &str = "assets/systemd/carillon.service";

/// Whether a variable belongs to a setting or to a flag of the command line.
pub(crate) fn is_variable(name: &str) -> bool {
    let Some(name) = name.strip_prefix("CARILLON_") else { return true };
    let setting = name.to_lowercase().replace("__", ".");
    name == "CONFIG" || settings().contains(&setting)
}

/// Fails on a command line that the binary does not accept.
pub(crate) fn assert_taken(line: &[&str]) {
    let help = Command::new(&[line[0], "--help"]).run().done();
    for flag in line.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(flag), "'{}' has no {flag}: {help}", line[0]);
    }
}

#[tokio::test]
async fn the_manifests_start_nodes_that_pass_their_own_probes() {
    let text = repository("assets/kubernetes/carillon.yaml");
    let documents = text.split("\n---\n");
    let documents: Vec<Value> =
        documents.map(|document| serde_saphyr::from_str(document).unwrap()).collect();
    assert_nodes_are_good(&documents).await;
    let service = documents.iter().find(|document| document["kind"] == "Service").unwrap();
    assert_eq!(service["metadata"]["annotations"]["prometheus.io/path"], "/metrics");
}

/// A file with a key for secrets, which only its owner may read.
pub(crate) fn secrets_key(folder: &Path) -> PathBuf {
    let path = folder.join("secrets.key");
    fs::write(&path, Command::new(&["secret", "new-key"]).run().done()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// Checks Kubernetes manifests, and starts a server with their configuration.
pub(crate) async fn assert_nodes_are_good(documents: &[Value]) {
    let of_kind = |kind: &str| {
        documents
            .iter()
            .find(|document| document["kind"] == kind)
            .unwrap_or_else(|| panic!("{kind}"))
    };
    let pod = &of_kind("Deployment")["spec"]["template"]["spec"];
    assert_eq!(pod["enableServiceLinks"], false, "Kubernetes' own variables are not settings");
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let container = &pod["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    let args: Vec<&str> =
        container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    assert_taken(&args);
    for variable in container["env"].as_array().unwrap() {
        let name = variable["name"].as_str().unwrap();
        assert!(is_variable(name), "{name} is not a setting");
    }
    // All objects select the pods that the deployment creates.
    let labels = &of_kind("Deployment")["spec"]["template"]["metadata"]["labels"];
    for (kind, path) in [
        ("Deployment", "/spec/selector/matchLabels"),
        ("Service", "/spec/selector"),
        ("PodDisruptionBudget", "/spec/selector/matchLabels"),
    ] {
        assert_eq!(of_kind(kind).pointer(path), Some(labels), "{kind}");
    }
    // The server starts with the configuration of the manifests, but on another port.
    let file = of_kind("ConfigMap")["data"]["carillon.toml"].as_str().unwrap();
    let port = container["ports"][0]["containerPort"].as_u64().unwrap();
    assert!(file.contains(&format!("listen = \"0.0.0.0:{port}\"")), "{file}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("carillon.toml");
    // The key that a mounted volume would provide.
    let key = secrets_key(folder.path());
    let here = file.replace("/etc/carillon-secrets/secrets.key", key.to_str().unwrap());
    fs::write(&path, here).unwrap();
    let database = TestDatabase::postgres().await;
    let server = Server::start_with(&database, &["--config", path.to_str().unwrap()]);
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let http = &container[probe]["httpGet"];
        assert_eq!(http["port"], container["ports"][0]["name"]);
        let answer = server.get(http["path"].as_str().unwrap()).send().await.unwrap();
        assert!(answer.status().is_success(), "{probe}: {answer:?}");
    }
    let answer = server.get("/metrics").send().await.unwrap();
    assert!(answer.text().await.unwrap().contains("# TYPE "));
    // Kubernetes waits longer than the server takes for its shutdown.
    assert!(file.contains("shutdown_grace = \"30s\""));
    assert!(pod["terminationGracePeriodSeconds"].as_u64().unwrap() > 30);
}

#[test]
fn the_image_calls_the_binary_as_it_is() {
    let text = repository("Dockerfile").replace("\\\n", " ");
    let instructions = |name: &str| {
        let name = format!("{name} ");
        let lines = text.lines().map(str::trim_start);
        lines.filter_map(|line| line.strip_prefix(&*name)).map(str::to_owned).collect::<Vec<_>>()
    };
    for pair in instructions("ENV").iter().flat_map(|line| line.split_whitespace()) {
        let (name, value) = pair.split_once('=').unwrap();
        assert!(is_variable(name), "{name} is not a setting");
        if name == "CARILLON_LISTEN" {
            assert_eq!(value.split(':').next_back(), instructions("EXPOSE").first().map(|p| &**p));
        }
    }
    let words = |json: &str| serde_json::from_str::<Vec<String>>(json).unwrap();
    assert_eq!(words(&instructions("ENTRYPOINT")[0]), ["carillon"]);
    let check = instructions("HEALTHCHECK").remove(0);
    let check = words(check.split_once(" CMD ").unwrap().1);
    let check: Vec<&str> = check.iter().skip(1).map(String::as_str).collect();
    assert_taken(&check);
    let serve = words(&instructions("CMD")[0]);
    assert_taken(&serve.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(!instructions("USER")[0].starts_with('0'), "not as root");
    // The files that are copied into the image come from an existing make target.
    assert!(repository("Makefile").contains("\nrelease: "));
}

/// Fails on a unit that systemd does not accept or finds too open. `binary` stands in for the
/// program that the unit names by its installed path.
pub(crate) fn assert_unit_is_valid(unit: &str, binary: &str) {
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let line: Vec<&str> = start.split_whitespace().collect();
    assert_taken(&line[1..]);
    let here = unit.replace(line[0], binary);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("carillon.service");
    fs::write(&path, here).unwrap();
    let path = path.to_str().unwrap();
    for args in
        [&["verify", "--man=no", path][..], &["security", "--offline=true", "--threshold=20", path]]
    {
        match process::Command::new("systemd-analyze").args(args).output() {
            Err(error) => println!("not checked by systemd: {error}"),
            Ok(checked) => assert!(checked.status.success(), "{args:?}: {checked:?}"),
        }
    }
}

#[test]
fn the_unit_is_valid_and_sandboxes_what_is_not_needed() {
    assert_unit_is_valid(&repository(UNIT), env!("CARGO_BIN_EXE_carillon"));
}
