//! `/metrics` is well-formed, matches the documentation, and has all metrics that the shipped
//! dashboard and alert rules need.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    time::Duration,
};

use carillon::{
    clock::Clock,
    store::{
        namespaces,
        reads::canary::{NAME, NAMESPACE},
        schedules,
    },
};
use entity::{Timestamp, run};
use sea_orm::{ActiveModelTrait, ConnectionTrait, IntoActiveModel};
use serde_json::{Value, json};

use crate::support::{Command, Server, Socket, TestDatabase, run_row};

const CONFIGURATION: &str = "
    metrics.schedules = ['default/second', 'default/none']
    canary.enabled = true
";

/// A family of series: its type, and its labels except that of a histogram's buckets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Family {
    pub(super) kind: String,
    labels: BTreeSet<String>,
}

pub(super) type Families = BTreeMap<String, Family>;

#[tokio::test]
async fn metrics_match_the_documents_the_dashboard_and_the_alert_rules() {
    let database = TestDatabase::sqlite().await;
    // Retention will remove this session.
    let old = "INSERT INTO session (id, data, expires_at) VALUES ('old', '{}', 1)";
    let tx = database.store.begin().await.unwrap();
    tx.execute_unprepared(old).await.unwrap();
    database.store.commit(tx).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("carillon.toml");
    fs::write(&file, CONFIGURATION).unwrap();
    let token = Command::new(&["token", "create", "ci", "--role", "editor"]).on(&database);
    let token = token.run().done().trim().to_owned();
    let server = Server::start_with(&database, &["--config", file.to_str().unwrap()]);
    canary_has_sung(&database).await;
    a_tag_has_a_budget(&server, &token).await;
    two_runs_succeed(&server, &token).await;

    let scraped = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    let shown = families(&scraped);
    promtool(&["check", "metrics"], &scraped);

    let mut documented = documented();
    // Metrics of the process, which OTLP does not carry.
    documented.extend(documented_as("process_"));
    for (name, family) in &shown {
        assert_eq!(documented.get(name), Some(family), "{name} in docs/metrics.md");
    }
    for name in documented.keys() {
        assert!(shown.contains_key(name), "{name} is in docs/metrics.md, and not in:\n{scraped}");
    }
    let told = scraped.lines().find(|line| line.starts_with("carillon_schedule_executions_total{"));
    let told = told.expect("series of the schedule that is asked for");
    assert!(told.contains(r#"namespace="default",schedule="second",state="succeeded""#), "{told}");

    let file = asset("prometheus/carillon.yaml");
    promtool(&["check", "rules", file.to_str().unwrap()], "");
    let cases = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/alert_rules.yaml");
    promtool(&["test", "rules", cases.to_str().unwrap()], "");
    let rules = fs::read_to_string(file).unwrap();
    let parsed: Value = serde_saphyr::from_str(&rules).unwrap();
    let mut asked = expressions(&parsed);
    let dashboard = fs::read_to_string(asset("grafana/carillon.json")).unwrap();
    asked.extend(expressions(&serde_json::from_str(&dashboard).unwrap()));
    assert!(asked.len() > 30, "{asked:?}");
    let mut used = BTreeSet::new();
    for text in &asked {
        let names = metrics_in(text);
        let mut labels: BTreeSet<&str> = ["job", "instance", "le"].into();
        for name in &names {
            let family = family_of(&shown, name);
            let family = family.unwrap_or_else(|| panic!("nobody shows {name}: {text}"));
            labels.extend(shown[family].labels.iter().map(String::as_str));
            used.insert(family);
        }
        for label in labels_in(text) {
            assert!(labels.contains(&*label), "{label} is not a label of {names:?}: {text}");
        }
    }
    let unused: Vec<&String> = shown.keys().filter(|name| !used.contains(name.as_str())).collect();
    assert_eq!(unused, ["target_info"], "on no panel and in no rule");
}

#[test]
fn malformed_expositions_are_found() {
    for (bad, why) in [
        ("a 1\n", "is of no family"),
        ("# HELP a_total x\n# TYPE a_total counter\na_total -1\n", "negative"),
        ("# HELP a x\n# TYPE a counter\na 1\n", "ends in _total"),
        ("# HELP a x\n# TYPE a gauge\na 1\na 1\n", "twice"),
        ("# HELP a x\n# TYPE a gauge\na{b=c} 1\n", "label"),
    ] {
        let found = std::panic::catch_unwind(|| families(bad)).unwrap_err();
        let found = found.downcast_ref::<String>().unwrap();
        assert!(found.contains(why), "{bad}: {found}");
    }
}

/// Records a success of the canary schedule, as if a minute had passed.
async fn canary_has_sung(database: &TestDatabase) {
    let store = &database.store;
    let made = async {
        loop {
            if store.canary().await.unwrap().is_some() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), made).await.expect("the server makes it");
    let namespace = namespaces::by_name(store.read(), NAMESPACE).await.unwrap().unwrap();
    let canary = schedules::by_name(store.read(), namespace.id, NAME).await.unwrap().unwrap();
    let now = Timestamp::from(Clock::system().now());
    let row = run::Model {
        due_at: Timestamp(now.0 - 250),
        idempotency_key: "canary".to_owned(),
        changed: 1,
        ..run_row(namespace.id, canary.id, canary.workflow_id, now)
    };
    let tx = store.begin().await.unwrap();
    row.into_active_model().insert(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
}

/// Sets the budget of a tag, which has series of its own.
async fn a_tag_has_a_budget(server: &Server, token: &str) {
    let query = "mutation { setHealthBudget(tag: \"billing\", limits: { missed: 0 }) {
        budget { id } } }";
    let set = server.post("/graphql").bearer_auth(token).json(&json!({ "query": query }));
    let set: Value = set.send().await.unwrap().json().await.unwrap();
    assert!(set["errors"].is_null(), "{set}");
}

/// Creates a schedule, requests `/metrics`, and lets the schedule fire.
async fn two_runs_succeed(server: &Server, token: &str) {
    let mut socket = Socket::open(Socket::request(server, "/graphql/ws")).await;
    socket.init(json!({ "token": token })).await.unwrap();
    let query = "subscription { runEvents { run { state } } }";
    let payload = json!({ "query": query });
    socket.send(json!({ "id": "1", "type": "subscribe", "payload": payload })).await;
    let query = "mutation { createSchedule(input: {
        name: \"second\", timing: { expressions: [\"* * * * * *\"] }, task: { target: { noop: {} } }
    }) { schedule { id } } }";
    let made = server.post("/graphql").bearer_auth(token).json(&json!({ "query": query }));
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    assert!(made["errors"].is_null(), "{made}");
    // From this request on, the schedule has its own series.
    server.get("/metrics").send().await.unwrap();
    let runs = async {
        let mut succeeded = 0;
        while succeeded < 2 {
            let event = socket.next().await.unwrap();
            let state = &event["payload"]["data"]["runEvents"]["run"]["state"];
            succeeded += usize::from(state == "SUCCEEDED");
        }
    };
    tokio::time::timeout(Duration::from_secs(60), runs).await.unwrap();
}

/// The families of an exposition, which must be well-formed.
pub(super) fn families(text: &str) -> Families {
    let mut families = Families::new();
    let mut helped = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
            assert!(!help.is_empty() && helped.insert(name.to_owned()), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(helped.contains(name), "{name} has no help");
            assert!(kind != "counter" || name.ends_with("_total"), "{name} ends in _total: {kind}");
            let family = Family { kind: kind.to_owned(), ..Family::default() };
            assert!(families.insert(name.to_owned(), family).is_none(), "{name} comes twice");
        } else if !line.is_empty() {
            let (series, value) = line.rsplit_once(' ').unwrap();
            assert!(seen.insert(series.to_owned()), "{series} comes twice");
            let (name, labels) = match series.split_once('{') {
                None => (series, ""),
                Some((name, labels)) => (name, labels.strip_suffix('}').unwrap()),
            };
            let found = family_of(&families, name).map(str::to_owned);
            let found = found.unwrap_or_else(|| panic!("{name} is of no family"));
            let family = families.get_mut(&found).unwrap();
            let value: f64 = value.parse().unwrap();
            assert!(family.kind == "gauge" || value >= 0.0, "{series} is negative: {value}");
            let labels = pairs(labels).into_iter().filter(|label| label != "le");
            family.labels.extend(labels);
        }
    }
    families
}

/// The family to which a series with that name belongs.
fn family_of<'a>(families: &'a Families, series: &str) -> Option<&'a str> {
    let of = |name: &str| families.get_key_value(name).map(|(name, family)| (&**name, family));
    let parts = ["_bucket", "_sum", "_count"].iter().filter_map(|part| series.strip_suffix(part));
    let mut histograms = parts.filter_map(of).filter(|(_, family)| family.kind == "histogram");
    histograms.next().or_else(|| of(series)).map(|(name, _)| name)
}

/// The names in `a="b",c="d"`.
fn pairs(labels: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = labels;
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("no label: {rest}"));
        names.push(name.to_owned());
        let mut escaped = false;
        let end = value.char_indices().find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        rest = value[end.unwrap().0 + 1..].trim_start_matches(',');
    }
    names
}

/// The table of docs/metrics.md, and what OpenTelemetry adds.
pub(super) fn documented() -> Families {
    let resource = ["service_name", "service_instance_id", "service_version"];
    let resource = resource.into_iter().chain([
        "telemetry_sdk_language",
        "telemetry_sdk_name",
        "telemetry_sdk_version",
    ]);
    let labels = resource.map(str::to_owned).collect();
    let target = ("target_info".to_owned(), Family { kind: "gauge".to_owned(), labels });
    documented_as("carillon_").into_iter().chain([target]).collect()
}

/// The rows of that table whose names begin like this.
fn documented_as(beginning: &str) -> Families {
    let page = fs::read_to_string(root().join("docs/metrics.md")).unwrap();
    let quoted = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let beginning = format!("| `{beginning}");
    let rows = page.lines().filter(|line| line.starts_with(&beginning)).map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let labels = quoted(cells[3]).into_iter().collect();
        (quoted(cells[1]).remove(0), Family { kind: cells[2].to_owned(), labels })
    });
    rows.collect()
}

/// All values under `expr`, at any depth.
fn expressions(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(expressions).collect(),
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(text) if key == "expr" => vec![text.to_owned()],
                _ => expressions(value),
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![],
    }
}

fn words(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn metrics_in(expression: &str) -> BTreeSet<String> {
    let is_metric = |word: &String| word.starts_with("carillon_") || word.starts_with("process_");
    words(expression).into_iter().filter(is_metric).collect()
}

/// The labels in braces before a comparison, and those after `by`.
fn labels_in(expression: &str) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    for braces in expression.split('{').skip(1) {
        let inside = braces.split('}').next().unwrap();
        let plain = inside.replace("=~", "=").replace("!=", "=").replace("!~", "=");
        labels.extend(pairs(&plain));
    }
    for by in expression.split(" by (").skip(1) {
        labels.extend(words(by.split(')').next().unwrap()));
    }
    labels
}

/// Passes an input to promtool, which `scripts/promtool` installs, and checks that promtool accepts
/// it.
fn promtool(args: &[&str], input: &str) {
    use std::{
        io::Write,
        process::{Command, Stdio},
    };
    let own = root().join(".tools/bin/promtool");
    let program = if own.exists() { own } else { PathBuf::from("promtool") };
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    #[expect(clippy::disallowed_methods, reason = "the tests' own configuration")]
    let without = std::env::var_os("WITHOUT_PROMTOOL");
    let mut child = match child {
        Ok(child) => child,
        Err(_) if without.is_some_and(|value| value == "1") => return,
        Err(error) => panic!(
            "failed to start promtool: {error}; get it by scripts/promtool, or leave its checks \
             out by WITHOUT_PROMTOOL=1"
        ),
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let said = [done.stdout, done.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(done.status.success(), "promtool {args:?}: {said:?}");
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn asset(path: &str) -> PathBuf {
    root().join("assets").join(path)
}
