//! The Helm chart, without Helm: this renders the parts of its template language that the chart
//! uses, and refuses everything else. The result is checked like the plain manifests, and compared
//! with what Helm renders by `helm`.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{files, root};
use crate::{
    packaging::{assert_nodes_are_good, is_variable},
    settings::repository,
};

const CHART: &str = "assets/helm/carillon";

/// A piece of a template: text, or the code between the braces.
enum Piece<'a> {
    Text(&'a str),
    Action(&'a str),
}

/// The pieces, with the blanks before `{{-` and after `-}}` removed.
fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some((text, behind)) = rest.split_once("{{") {
        let (action, after) = behind.split_once("}}").expect("braces that close");
        found.push(Piece::Text(if action.starts_with('-') { text.trim_end() } else { text }));
        rest = if action.ends_with('-') { after.trim_start() } else { after };
        found.push(Piece::Action(action.trim_matches('-').trim()));
    }
    found.push(Piece::Text(rest));
    found
}

pub(super) struct Renderer {
    values: Value,
    helpers: String,
}

impl Renderer {
    /// A renderer with the chart's own values, and others merged over them by path.
    pub(super) fn new(over: &[(&str, Value)]) -> Self {
        let chart: Value =
            serde_saphyr::from_str(&repository(&format!("{CHART}/Chart.yaml"))).unwrap();
        let text = repository(&format!("{CHART}/values.yaml"));
        let mut values: Value = serde_saphyr::from_str(&text).unwrap();
        for (path, value) in over {
            *values.pointer_mut(path).unwrap_or_else(|| panic!("{path} is not a value")) =
                value.clone();
        }
        let chart = json!({
            "Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"],
        });
        let release = json!({ "Name": "cron", "Namespace": "jobs", "Service": "Helm" });
        Self {
            values: json!({ "Values": values, "Chart": chart, "Release": release }),
            helpers: repository(&format!("{CHART}/templates/_helpers.tpl")),
        }
    }

    /// All values, as the templates get them.
    pub(super) fn values(&self) -> &Value {
        &self.values["Values"]
    }

    fn template(&self, name: &str) -> String {
        self.render(&repository(&format!("{CHART}/templates/{name}")), &self.values)
    }

    fn render(&self, template: &str, dot: &Value) -> String {
        let mut out = String::new();
        let pieces = pieces(template);
        let end = self.block(&pieces, 0, dot, true, &mut out);
        assert_eq!(end, pieces.len(), "an `end` too many");
        out
    }

    /// Renders up to the `end` or `else` of the block, and returns its position.
    fn block(
        &self,
        pieces: &[Piece<'_>],
        mut at: usize,
        dot: &Value,
        shown: bool,
        out: &mut String,
    ) -> usize {
        while let Some(piece) = pieces.get(at) {
            let action = match piece {
                Piece::Text(text) => {
                    if shown {
                        out.push_str(text);
                    }
                    at += 1;
                    continue;
                }
                Piece::Action(action) => *action,
            };
            let (word, rest) = action.split_once(' ').unwrap_or((action, ""));
            match word {
                "end" | "else" => return at,
                "if" | "with" => {
                    let value = self.pipeline(rest, dot);
                    let is_set = !is_empty(&value);
                    let inner = if word == "with" { &value } else { dot };
                    at = self.block(pieces, at + 1, inner, shown && is_set, out);
                    if matches!(pieces[at], Piece::Action("else")) {
                        at = self.block(pieces, at + 1, dot, shown && !is_set, out);
                    }
                    assert!(matches!(pieces[at], Piece::Action("end")), "{action} has no end");
                }
                _ if shown => out.push_str(&text(&self.pipeline(action, dot))),
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// The result of an action without a keyword.
    fn pipeline(&self, action: &str, dot: &Value) -> Value {
        let mut steps = action.split(" | ").map(words);
        let first = steps.next().unwrap();
        let mut value = match first[0].as_str() {
            // Another template: (print $.Template.BasePath "/NAME")
            "include" if first[1] == "(print" => {
                json!(self.template(first[3].trim_matches(['"', '/', ')'])))
            }
            "include" => {
                let open = format!("{{{{- define {} -}}}}", first[1]);
                let (_, body) =
                    self.helpers.split_once(&open).unwrap_or_else(|| panic!("{}", first[1]));
                json!(self.render(body.split_once("\n{{- end }}").unwrap().0.trim_start(), dot))
            }
            ".Files.Get" => {
                json!(repository(&format!("{CHART}/{}", first[1].trim_matches('"'))))
            }
            path => self.operand(path, dot),
        };
        for step in steps {
            let argument = |at: usize| self.operand(&step[at], dot);
            value = match step[0].as_str() {
                "add" => json!(value.as_u64().unwrap() + step[1].parse::<u64>().unwrap()),
                "sha256sum" => json!(sha256(&text(&value))),
                "quote" => json!(json!(text(&value)).to_string()),
                "toJson" => json!(value.to_string()),
                // JSON is also valid YAML.
                "toYaml" if value.is_array() => json!(value.to_string()),
                "toYaml" => json!(fields(&value)),
                "default" if is_empty(&value) => argument(1),
                "default" => value,
                "replace" => json!(text(&value).replace(&text(&argument(1)), &text(&argument(2)))),
                "nindent" => {
                    let blanks = " ".repeat(step[1].parse().unwrap());
                    let whole = text(&value);
                    let lines = whole.trim_end().lines().map(|line| format!("\n{blanks}{line}"));
                    json!(lines.collect::<String>())
                }
                other => panic!("the renderer does not know {other}"),
            };
        }
        value
    }

    /// A quoted text, or the value at a path, which must exist.
    fn operand(&self, word: &str, dot: &Value) -> Value {
        if let Some(text) = word.strip_prefix('"') {
            return json!(text.trim_end_matches('"'));
        }
        if word == "." {
            return dot.clone();
        }
        let pointer = word.replace('.', "/");
        self.values.pointer(&pointer).unwrap_or_else(|| panic!("there is no {word}")).clone()
    }
}

/// The words of a step; a quoted text is one.
fn words(step: &str) -> Vec<String> {
    step.trim().split(' ').map(str::to_owned).collect()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(true) => false,
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A mapping, one field per line.
fn fields(value: &Value) -> String {
    let fields = value.as_object().unwrap_or_else(|| panic!("{value} is not a mapping")).iter();
    fields.map(|(key, value)| format!("{key}: {value}\n")).collect()
}

/// The chart with every value set.
pub(super) fn everything() -> Renderer {
    Renderer::new(&[
        ("/publicUrl", json!("https://cron.example.org")),
        ("/trustedProxies", json!(["10.0.0.0/8"])),
        ("/secretsKey/existingSecret", json!("carillon-key")),
        ("/allowCommands", json!(true)),
        ("/serviceAccount/automountToken", json!(true)),
        ("/extraConfiguration", json!("[health]\nmissed = 3\n")),
        ("/ingress/enabled", json!(true)),
        ("/ingress/className", json!("nginx")),
        ("/ingress/tlsSecret", json!("carillon-tls")),
        ("/ingress/annotations", json!({ "a": "b" })),
        ("/watch/existingSecret", json!("carillon-watch")),
        ("/serviceMonitor/enabled", json!(true)),
        ("/serviceMonitor/labels", json!({ "release": "prometheus" })),
        ("/prometheusRule/enabled", json!(true)),
        ("/image/pullSecrets", json!([{ "name": "registry" }])),
        ("/podAnnotations", json!({ "a": "b" })),
        ("/nodeSelector", json!({ "disk": "ssd" })),
        ("/tolerations", json!([{ "key": "jobs", "operator": "Exists" }])),
        ("/affinity", json!({ "nodeAffinity": {} })),
    ])
}

/// The rendered manifests; nothing for those that are switched off.
pub(super) fn manifests(renderer: &Renderer) -> Vec<Value> {
    let names = files(&format!("{CHART}/templates"), ".yaml");
    let rendered = names.iter().map(|name| (name, renderer.template(name)));
    let parse = |(name, text): (&String, String)| {
        if text.trim().is_empty() {
            return None;
        }
        let parsed = serde_saphyr::from_str::<Value>(&text);
        Some(parsed.unwrap_or_else(|error| panic!("{name}: {error}\n{text}")))
    };
    rendered.filter_map(parse).collect()
}

fn of_kind<'a>(manifests: &'a [Value], kind: &str) -> &'a Value {
    manifests.iter().find(|manifest| manifest["kind"] == kind).unwrap_or_else(|| panic!("{kind}"))
}

#[tokio::test]
async fn the_chart_starts_nodes_that_pass_their_own_probes() {
    for renderer in [Renderer::new(&[]), everything()] {
        let manifests = manifests(&renderer);
        assert_nodes_are_good(&manifests).await;
        for manifest in &manifests {
            assert_eq!(manifest["metadata"]["name"], "cron", "{manifest}");
            let labels = &manifest["metadata"]["labels"];
            assert_eq!(labels["app.kubernetes.io/name"], "carillon", "{manifest}");
        }
    }
}

#[test]
fn the_chart_renders_what_is_enabled_and_nothing_else() {
    let plain = manifests(&Renderer::new(&[]));
    let kinds: Vec<&str> = plain.iter().filter_map(|manifest| manifest["kind"].as_str()).collect();
    let usual = ["ConfigMap", "Deployment", "PodDisruptionBudget", "Service", "ServiceAccount"];
    assert_eq!(kinds, usual);
    let pod = |of: &[Value]| of_kind(of, "Deployment")["spec"]["template"]["spec"].clone();
    let settings = |of: &[Value]| of_kind(of, "ConfigMap")["data"]["carillon.toml"].to_string();
    assert_eq!(pod(&plain)["automountServiceAccountToken"], false);
    assert!(!settings(&plain).contains("allow_commands"));
    let all = manifests(&everything());
    assert_eq!(all.len(), usual.len() + 3);
    assert!(settings(&all).contains("\\nallow_commands = true\\n"));
    let pod = pod(&all);
    assert_eq!(pod["automountServiceAccountToken"], true);
    assert_eq!(pod["volumes"][1]["secret"]["secretName"], "carillon-key");
    assert_eq!(pod["tolerations"][0]["key"], "jobs");
    let monitor = of_kind(&all, "ServiceMonitor");
    assert_eq!(monitor["spec"]["jobLabel"], "app.kubernetes.io/name");
    assert_eq!(monitor["spec"]["endpoints"][0]["path"], "/metrics");
    // Prometheus presents the token that the nodes ask for.
    let token = json!({ "name": "carillon-watch", "key": "token" });
    assert_eq!(monitor["spec"]["endpoints"][0]["authorization"]["credentials"], token);
    let variables = pod["containers"][0]["env"].as_array().unwrap();
    let variable = variables.iter().find(|variable| variable["name"] == "CARILLON_WATCH__TOKEN");
    assert_eq!(variable.unwrap()["valueFrom"]["secretKeyRef"], token);
    let ingress = &of_kind(&all, "Ingress")["spec"];
    assert_eq!(ingress["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"], "cron");
}

#[test]
fn a_changed_configuration_replaces_the_pods() {
    let pods = |over: &[(&str, Value)]| {
        let manifests = manifests(&Renderer::new(over));
        of_kind(&manifests, "Deployment")["spec"]["template"].clone()
    };
    let usual = pods(&[]);
    assert_eq!(usual, pods(&[]));
    assert_ne!(usual, pods(&[("/shutdownGraceSeconds", json!(20))]));
    // What is no part of the configuration leaves them alone.
    assert_eq!(usual, pods(&[("/service/type", json!("NodePort"))]));
}

#[test]
fn kubernetes_waits_longer_than_the_work_may_take_to_end() {
    let rendered = manifests(&Renderer::new(&[("/shutdownGraceSeconds", json!(120))]));
    let settings = of_kind(&rendered, "ConfigMap")["data"]["carillon.toml"].to_string();
    assert!(settings.contains("shutdown_grace = \\\"120s\\\""), "{settings}");
    let pod = &of_kind(&rendered, "Deployment")["spec"]["template"]["spec"];
    assert_eq!(pod["terminationGracePeriodSeconds"], 135);
}

#[test]
fn the_charts_rules_are_those_that_are_shipped_with_links_to_its_own_server() {
    let shipped = repository("assets/prometheus/carillon.yaml");
    let copy = repository(&format!("{CHART}/rules.yaml"));
    assert!(copy == shipped, "copy assets/prometheus/carillon.yaml to {CHART}/rules.yaml");
    let shipped: Value = serde_saphyr::from_str(&shipped).unwrap();
    let rendered = manifests(&everything());
    let rules = &of_kind(&rendered, "PrometheusRule")["spec"]["groups"];
    let (rules, shipped) = (rules.to_string(), shipped["groups"].to_string());
    let own = shipped.replace("https://carillon.example.org", "https://cron.example.org");
    assert_eq!(rules, own);
}

#[test]
fn the_charts_version_is_the_products() {
    let chart: Value = serde_saphyr::from_str(&repository(&format!("{CHART}/Chart.yaml"))).unwrap();
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    // Every value is used, and no template uses an undefined value.
    let text: String = fs::read_dir(root().join(CHART).join("templates"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let values: Value =
        serde_saphyr::from_str(&repository(&format!("{CHART}/values.yaml"))).unwrap();
    for name in values.as_object().unwrap().keys() {
        assert!(text.contains(&format!(".Values.{name}")), "{name} is used by no template");
    }
    assert!(is_variable("CARILLON_CONFIG") && !is_variable("CARILLON_PORT"));
}
