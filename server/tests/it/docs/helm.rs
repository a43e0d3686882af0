//! The chart by Helm itself: it finds nothing wrong, and renders the manifests that the renderer of
//! `chart` does. `scripts/python-tools` installs Helm where there is one for the machine.

use std::{collections::BTreeMap, fs, process::Command};

use serde_json::Value;

use super::{
    chart::{Renderer, everything, manifests},
    root,
};
use crate::support::tool;

/// What Helm prints about the chart with these values; `None` without Helm.
fn helm(args: &[&str], values: &Value) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("values.json");
    // JSON is also valid YAML.
    fs::write(&path, values.to_string()).unwrap();
    let mut command = Command::new(tool("helm"));
    command.args(args).arg("assets/helm/carillon").arg("--values").arg(&path);
    // Helm keeps files in the home of its user.
    command.current_dir(root()).env("HOME", folder.path());
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "helm {args:?}: {output:?}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            println!("the chart is not checked by Helm: {error}");
            None
        }
    }
}

/// The manifests by their kinds. The checksum of the configuration is left out: Helm's text of it has
/// other blanks.
fn by_kind(manifests: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
    let of = |mut manifest: Value| {
        if let Some(annotations) = manifest.pointer_mut("/spec/template/metadata/annotations") {
            let annotations = annotations.as_object_mut().unwrap();
            let checksum = annotations.remove("checksum/configuration").unwrap();
            assert_eq!(checksum.as_str().unwrap().len(), 64, "{checksum}");
        }
        (manifest["kind"].as_str().unwrap().to_owned(), manifest)
    };
    manifests.into_iter().map(of).collect()
}

#[test]
fn helm_finds_nothing_wrong_and_renders_what_the_tests_render() {
    for renderer in [Renderer::new(&[]), everything()] {
        let values = renderer.values();
        let Some(linted) = helm(&["lint", "--strict"], values) else { return };
        assert!(linted.contains("1 chart(s) linted, 0 chart(s) failed"), "{linted}");
        let args = ["template", "cron", "--namespace", "jobs"];
        let Some(rendered) = helm(&args, values) else { return };
        let rendered = rendered.trim_start_matches("---\n");
        // The line before a separator ends with the newline of the last text.
        let parse = |text: &str| serde_saphyr::from_str::<Value>(&format!("{text}\n")).unwrap();
        let theirs = by_kind(rendered.split("\n---\n").map(parse));
        assert_eq!(theirs, by_kind(manifests(&renderer)));
    }
}
