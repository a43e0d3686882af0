//! Jobs of other schedulers: imported, applied, and fired when the other scheduler would have run
//! them.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase};

const CRONTAB: &str = r#"# Kept by the shop
SHELL=/bin/bash
MAILTO=ops@example.org
CRON_TZ=Europe/Berlin

# Backup of the shop
30 2 * * * /usr/local/bin/backup.sh --format "{{.Name}}" >/dev/null 2>&1
MAILTO=""
SHELL=/bin/sh
0 0 13 * 5 friday
0 9 * * mon-fri mail -s "it's \%d" a@example.org%Hello%there
@daily /opt/daily
@reboot /opt/boot
0~59 3 * * * /opt/spread
61 * * * * /opt/never
0 0 30 2 * /opt/nothing
not a line
* * * * *
"#;

const CRONJOBS: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: { name: other }
---
# Reports
apiVersion: batch/v1
kind: CronJob
metadata:
  name: report
  namespace: shop
spec:
  schedule: "30 2 */2 * 1"
  timeZone: America/New_York
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 200
  suspend: true
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 600
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: main
              image: busybox
              command: [/bin/echo]
              args: ["$(GREETING)", world]
              env:
                - { name: GREETING, value: hello }
                - { name: TOKEN, valueFrom: { secretKeyRef: { name: a, key: b } } }
              resources: {}
---
apiVersion: batch/v1
kind: CronJob
metadata: { name: image-only }
spec:
  schedule: "@hourly"
  jobTemplate: { spec: { template: { spec: { containers: [{ name: a, image: b }] } } } }
---
kind: CronJob
metadata: { name: plain }
spec:
  schedule: "CRON_TZ=Asia/Tokyo 0 4 * * *"
  concurrencyPolicy: Replace
  jobTemplate: { spec: { template: { spec: { containers: [{ name: a, image: b, command: [/bin/true] }] } } } }
"#;

const UNITS: [(&str, &str); 7] = [
    (
        "backup.timer",
        "[Unit]\nDescription=Nightly backup\n[Timer]\nOnCalendar=Mon..Fri *-*-* 02:30:00\n\
         RandomizedDelaySec=5min\nPersistent=true\nAccuracySec=1us\n",
    ),
    (
        "backup.service",
        "[Service]\nType=oneshot\nUser=backup\nEnvironment=\"TARGET=/srv/a b\" LEVEL=9\n\
         ExecStartPre=-/bin/mkdir -p ${TARGET}\nExecStart=/usr/bin/backup --level $LEVEL \\\n  \
         --to \"${TARGET}\" 100%%\nTimeoutStartSec=2h\nNice=5\n",
    ),
    ("boot.timer", "[Timer]\nOnBootSec=15min\n"),
    ("boot.service", "[Service]\nExecStart=/bin/true\n"),
    ("lonely.timer", "[Timer]\nOnCalendar=daily\n"),
    ("every.timer", "[Timer]\nOnBootSec=5min\nOnUnitActiveSec=1h\nUnit=boot.service\n"),
    ("last.timer", "[Timer]\nOnCalendar=*-*~05\nUnit=boot.service\n"),
];

/// The report's entries: place, outcome, and the first note of each.
fn report(out: &str) -> Vec<(String, String, String)> {
    let report: Value = serde_json::from_str(out).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = report["entries"].as_array().unwrap().iter();
    entries
        .map(|entry| (text(&entry["place"]), text(&entry["outcome"]), text(&entry["notes"][0])))
        .collect()
}

fn import(folder: &Path, args: &[&str]) -> (Vec<(String, String, String)>, String) {
    let output = folder.join("out.yaml");
    let args = [&["import"], args, &["--json", "--output", output.to_str().unwrap()]].concat();
    let out = Command::new(&args).run().done();
    (report(&out), fs::read_to_string(&output).unwrap())
}

#[test]
fn a_crontab_is_reported_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tab");
    fs::write(&file, CRONTAB).unwrap();
    let file = file.to_str().unwrap();
    let (report, _) = import(folder.path(), &["crontab", file, "--tz", "UTC"]);
    let told: Vec<_> = report
        .iter()
        .map(|(place, outcome, _)| (place.rsplit(':').next().unwrap(), outcome.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("7", "meaning_changed"),
            ("10", "imported"),
            ("11", "imported"),
            ("12", "imported"),
            ("13", "unsupported"),
            ("14", "meaning_changed"),
            ("15", "unsupported"),
            ("16", "unsupported"),
            ("17", "unsupported"),
            ("18", "unsupported"),
        ]
    );
    for (index, said) in
        [(0, "MAILTO"), (4, "@reboot"), (5, "chosen once"), (6, "61"), (7, "never")]
    {
        assert!(report[index].2.contains(said), "{report:?}");
    }
    let strict = ["import", "crontab", file, "--tz", "UTC", "--strict", "--dry-run"];
    let strict = Command::new(&strict).run();
    assert_eq!(strict.code, 3);
    assert!(
        strict.out.ends_with("3 imported, 2 with another meaning, 5 unsupported\n"),
        "{strict:?}"
    );
    assert!(strict.out.contains("tab:10: imported as friday: 0 0 13 * 5 friday\n"), "{strict:?}");
    let bad = Command::new(&["import", "crontab", file, "--tz", "Mars/Base"]).run().refused(2);
    assert!(bad.contains("--tz 'Mars/Base'"), "{bad}");
}

#[test]
fn a_crontab_of_the_system_names_users() {
    let tab = "17 * * * * root cd / && run-parts --report /etc/cron.hourly\n5 4 * * *\n";
    let args = ["import", "crontab", "-", "--system", "--tz", "UTC"];
    let done = Command::new(&args).input(tab).run();
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.contains("run-parts:") && done.out.contains("user: root"), "{done:?}");
    assert!(done.err.contains("standard input:2: unsupported: 5 4 * * *"), "{done:?}");
}

#[test]
fn manifests_become_commands_with_their_differences_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jobs.yaml");
    fs::write(&file, CRONJOBS).unwrap();
    let args = ["kubernetes", file.to_str().unwrap(), "--target", "command"];
    let (report, module) = import(folder.path(), &args);
    let told: Vec<_> = report
        .iter()
        .map(|(place, outcome, note)| (place.rsplit(':').next().unwrap(), &**outcome, &**note))
        .collect();
    assert_eq!((told[0].0, told[0].1), ("1", "skipped"));
    assert_eq!((told[1].0, told[1].1), ("6", "meaning_changed"));
    assert!(told[1].2.contains("busybox"), "{told:?}");
    assert!(told[2].2.contains("decided by the image \"b\""), "{told:?}");
    assert_eq!(told[3].1, "meaning_changed");
    for line in [
        "zone: America/New_York",
        "gap: skip",
        "paused: true",
        "start_deadline: 3m20s",
        "timeout: 10m",
        "max_attempts: 3",
        "overlap: terminate_other",
        "zone: Asia/Tokyo",
    ] {
        assert!(module.contains(line), "{line}: {module}");
    }
    let broken = "kind: CronJob\nspec: [\n";
    let told = Command::new(&["import", "kubernetes", "-", "--dry-run"]).input(broken).run().done();
    assert!(told.contains("standard input:") && told.contains("not YAML"), "{told}");
}

#[test]
fn timers_bring_their_services_along() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in UNITS {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().to_str().unwrap();
    let (report, module) = import(folder.path(), &["systemd", path, "--tz", "Europe/Berlin"]);
    let told: Vec<_> = report
        .iter()
        .map(|(place, outcome, note)| {
            let place = place.rsplit('/').next().unwrap();
            (place, &**outcome, &**note)
        })
        .collect();
    let unsupported = |index: usize, place: &str, why: &str| {
        assert_eq!((told[index].0, told[index].1), (place, "unsupported"), "{told:?}");
        assert!(told[index].2.contains(why), "{told:?}");
    };
    assert_eq!((told[0].0, told[0].1), ("backup.timer:4", "meaning_changed"));
    assert_eq!(told[0].2, "of the service is left out: Nice");
    unsupported(1, "boot.timer:2", "OnBootSec=15min");
    assert!(told[2].2.contains("@every 3600s"), "{told:?}");
    assert_eq!((told[3].0, told[3].1), ("last.timer:2", "meaning_changed"));
    assert!(module.contains("0 0 L-4 * *"), "{module}");
    unsupported(4, "lonely.timer:2", "lonely.service is not there");
    for line in
        ["30 2 * * 1-5", "jitter: 5m", "window: 30d", "name: pre", "timeout: 2h", "/srv/a b"]
    {
        assert!(module.contains(line), "{line}: {module}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_jobs_are_applied_and_fire_as_before() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "shell", "--role", "editor"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("carillon.toml");
    fs::write(&config, "allow_commands = true\n").unwrap();
    let server = Server::start_with(&database, &["--config", config.to_str().unwrap()]);
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // Only a server that runs as root can change users.
    let units = folder.path().join("units");
    fs::create_dir(&units).unwrap();
    for (name, text) in UNITS {
        fs::write(units.join(name), text.replace("User=backup\n", "")).unwrap();
    }
    let (tab, jobs) = (write("tab", CRONTAB), write("jobs.yaml", CRONJOBS));
    let mut modules = Vec::new();
    for (name, args) in [
        ("crontab", vec!["crontab", &*tab, "--tz", "UTC"]),
        ("kubernetes", vec!["kubernetes", &*jobs, "--target", "command"]),
        ("systemd", vec!["systemd", units.to_str().unwrap(), "--tz", "Europe/Berlin"]),
    ] {
        for extension in ["yaml", "toml"] {
            let output = folder.path().join(format!("{name}.{extension}"));
            let output = output.to_str().unwrap().to_owned();
            let args = [&["import"], &args[..], &["--module", name, "--output", &output]].concat();
            Command::new(&args).run().done();
            modules.push(output);
        }
    }
    let ask = |args: &[&str]| {
        Command::new(args).env("CARILLON_SERVER", &server.url).env("CARILLON_TOKEN", &token)
    };
    for (index, module) in modules.iter().enumerate() {
        // The second module of each pair has the same content in another format, so it changes
        // nothing.
        let code = if index % 2 == 0 { 3 } else { 0 };
        let applied = ask(&["apply", module, "--exit-code"]).run();
        assert_eq!(applied.code, code, "{module}: {applied:?}");
    }

    // The fires, as cron, Kubernetes and systemd compute them.
    let query = "query($name: String!) { schedule(name: $name) {
        timing { expressions zone gap overlap } } }";
    for (name, from, expected) in [
        // The clock skips 02:30 on the 29th: cron runs the job right after the gap.
        (
            "backup.sh",
            "2026-03-28T00:00:00Z",
            ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
        ),
        // A day of the month and a weekday are a union: the 13th, and all Fridays.
        (
            "friday",
            "2026-03-11T00:00:00Z",
            ["2026-03-12T23:00:00Z", "2026-03-19T23:00:00Z", "2026-03-26T23:00:00Z"],
        ),
        // Odd days and Mondays are split in the same way.
        (
            "report",
            "2026-03-06T12:00:00Z",
            ["2026-03-07T07:30:00Z", "2026-03-09T06:30:00Z", "2026-03-11T06:30:00Z"],
        ),
        (
            "plain",
            "2026-03-06T12:00:00Z",
            ["2026-03-06T19:00:00Z", "2026-03-07T19:00:00Z", "2026-03-08T19:00:00Z"],
        ),
        (
            "backup",
            "2026-03-27T12:00:00Z",
            ["2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z", "2026-04-01T00:30:00Z"],
        ),
    ] {
        let body = json!({ "query": query, "variables": { "name": name } });
        let answer = server.post("/graphql").bearer_auth(&token).json(&body).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        let timing = &answer["data"]["schedule"]["timing"];
        assert!(timing.is_object(), "{name}: {answer}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let expressions = timing["expressions"].as_array().unwrap();
        let mut args = vec!["preview".to_owned(), text(&expressions[0])];
        for also in &expressions[1..] {
            args.extend(["--also".to_owned(), text(also)]);
        }
        args.extend(["--tz".to_owned(), text(&timing["zone"])]);
        args.extend(["--dst-gap".to_owned(), text(&timing["gap"]).to_lowercase()]);
        args.extend(["--dst-overlap".to_owned(), text(&timing["overlap"]).to_lowercase()]);
        args.extend(["--from", from, "--count", "3", "--json"].map(str::to_owned));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let shown: Value = serde_json::from_str(&Command::new(&args).run().done()).unwrap();
        let fires: Vec<_> =
            shown["fires"].as_array().unwrap().iter().map(|f| text(&f["at"])).collect();
        assert_eq!(fires, expected, "{name}");
    }
}
