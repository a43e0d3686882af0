//! Imports that could mislead, and the exports of other schedulers in JSON.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::{Value, json};

use crate::support::Command;

/// The outcome of each entry with all its notes, and the module.
fn import(args: &[&str], input: &str) -> (Vec<(String, String)>, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.yaml");
    let args = [&["import"], args, &["--json", "--output", output.to_str().unwrap()]].concat();
    let out = Command::new(&args).input(input).run().done();
    let report: Value = serde_json::from_str(&out).unwrap();
    let told =
        report["entries"].as_array().unwrap().iter().map(|entry| {
            (entry["outcome"].as_str().unwrap().to_owned(), entry["notes"].to_string())
        });
    (told.collect(), fs::read_to_string(&output).unwrap())
}

#[test]
fn a_crontab_of_the_other_form_is_reported_and_not_imported() {
    let folder = tempfile::tempdir().unwrap();
    let of_system = folder.path().join("cron.d");
    fs::create_dir(&of_system).unwrap();
    let of_system = of_system.join("php");
    fs::write(&of_system, "0 3 * * * shop /usr/bin/clean\n").unwrap();
    let refused = |args: &[&str], input: &str| {
        let args = [&["import", "crontab"], args, &["--tz", "UTC"]].concat();
        let refused = Command::new(&args).input(input).run();
        assert_eq!(refused.out, "", "{refused:?}");
        refused.refused(2)
    };
    for (args, input, shows) in [
        (&[of_system.to_str().unwrap()][..], "", "it is in the folder of these"),
        (&["-"], "0 3 * * * root /usr/bin/clean\n", "'root' in line 1"),
        (&["-"], "1 3 * * * shop /a\n2 3 * * * shop /b\n3 3 * * * shop cd /c\n", "all 3 entries"),
        (&["-"], "1 3 * * * postgres psql -c 'vacuum'\n", "'postgres' in line 1"),
        (&["-"], "*/10 * * * * sys /usr/lib/sa/sa1\n", "'sys' in line 1"),
        (&[of_system.to_str().unwrap(), "--user", "ana"], "", "in place of --user"),
        (&["-", "--user", "ana"], OF_DEBIAN, "'root' in line 5"),
        (&["-", "--system"], OF_ANA, "'backup' in line 3"),
        (&["-", "--system"], "30 2 * * 1 backup /mnt/disk\n", "'backup' in line 1"),
    ] {
        let said = refused(args, input);
        assert!(said.contains(shows) && said.contains("--system"), "{said}");
    }
    let tab = "0 3 * * * root /usr/bin/clean\n";
    let (_, module) = import(&["crontab", "-", "--tz", "UTC", "--no-users"], tab);
    assert!(module.contains("root /usr/bin/clean"), "{module}");
    let (told, module) = import(&["crontab", "-", "--tz", "UTC", "--system"], tab);
    assert!(told[0].0 == "needs_change" && module.contains("user: root"), "{told:?} {module}");
    let mixed = "* * * * * /bin/a b\n* * * * * root /bin/c\n";
    let (told, _) = import(&["crontab", "-", "--tz", "UTC", "--system"], mixed);
    assert!(told[0].1.contains("'/bin/a' is not a user"), "{told:?}");
    let args = ["crontab", "-", "--tz", "UTC", "--user", "ana", "--no-users"];
    let (_, module) = import(&args, tab);
    assert!(module.contains("root /usr/bin/clean") && module.contains("user: ana"), "{module}");
}

/// The crontab of a Debian machine.
const OF_DEBIAN: &str = "\
# /etc/crontab: system-wide crontab
SHELL=/bin/sh
PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin

17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly
25 6\t* * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
0 4\t* * *\twww-data\tphp /srv/shop/cron.php
";

/// The crontab of a person, as `crontab -l` prints it.
const OF_ANA: &str = "\
# m h  dom mon dow   command
MAILTO=\"\"
30 2 * * 1 backup /mnt/disk
0 * * * * sync-photos /mnt/photos
*/5 * * * * /home/ana/bin/check --quiet
";

#[test]
fn what_runs_as_root_needs_a_change_before_a_server_takes_it() {
    let (told, module) = import(&["crontab", "-", "--tz", "UTC", "--system"], OF_DEBIAN);
    let outcomes: Vec<&str> = told.iter().map(|(outcome, _)| &**outcome).collect();
    assert_eq!(outcomes, ["needs_change", "needs_change", "imported"]);
    assert!(told[0].1.contains("runs as root") && told[0].1.contains("commands.users"), "{told:?}");
    assert!(module.contains("user: root") && module.contains("user: www-data"), "{module}");

    let tab = "0 3 * * * /usr/bin/clean\n";
    let args = ["import", "crontab", "-", "--tz", "UTC", "--user", "root", "--dry-run", "--strict"];
    let strict = Command::new(&args).input(tab).run();
    assert_eq!(strict.code, 3, "{strict:?}");
    assert!(strict.out.contains("needs a change as clean"), "{strict:?}");
    assert!(strict.out.contains("0 imported, 0 with another meaning, 0 unsupported, 1 needs"));

    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("clean.timer", "[Timer]\nOnCalendar=daily\n[Install]\nWantedBy=timers.target\n"),
        ("clean.service", "[Service]\nUser=root\nExecStart=/usr/bin/clean\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let timer = folder.path().join("clean.timer");
    let (told, _) = import(&["systemd", timer.to_str().unwrap(), "--tz", "UTC"], "");
    assert_eq!(told[0].0, "needs_change", "{told:?}");
}

#[test]
fn entries_are_named_by_what_they_do() {
    let tab = "* * * * * php /srv/shop/artisan schedule:run\n\
               * * * * * php /srv/shop/artisan queue:work --once\n\
               * * * * * php /srv/shop/artisan queue:work --tries=3\n\
               * * * * * php /srv/shop/artisan queue:work\n\
               * * * * * flock -n /tmp/l /usr/local/bin/sync.sh\n";
    let (_, module) = import(&["crontab", "-", "--tz", "UTC"], tab);
    for name in [
        "  artisan:",
        "  artisan-queue-work:",
        "  artisan-queue-work-tries-3:",
        "  artisan-queue-work-2:",
        "  sync.sh:",
    ] {
        assert!(module.contains(name), "{name}: {module}");
    }
}

#[test]
fn expressions_of_other_dialects_are_translated() {
    let tab = "0 15 10 ? * 2-6 /bin/quartz\n0 0 9 ? * 6L 2030 /bin/last\n";
    let args = ["crontab", "-", "--tz", "UTC", "--dialect", "quartz"];
    let (told, module) = import(&args, tab);
    assert!(told.iter().all(|(outcome, _)| outcome == "imported"), "{told:?}");
    assert!(module.contains("0 15 10 * * 1-5") && module.contains("0 0 9 * * 5L 2030"), "{module}");
    let preview = |args: &[&str]| {
        let args = [&["preview"], args, &["--from", "2026-11-20T00:00:00Z", "--json"]].concat();
        let shown: Value = serde_json::from_str(&Command::new(&args).run().done()).unwrap();
        shown["fires"][0]["at"].as_str().unwrap().to_owned()
    };
    // The 23rd of November 2026 is a Monday.
    let monday = "2026-11-23T10:15:00Z";
    assert_eq!(preview(&["0 15 10 ? * 2", "--dialect", "quartz"]), monday);
    assert_eq!(preview(&["cron(15 10 ? * 2 *)", "--dialect", "eventbridge"]), monday);
    let lint = Command::new(&["lint", "0 15 10 ? * 2", "--tz", "UTC"]).run().done();
    assert!(lint.contains("looks like Quartz") && lint.contains("0 15 10 * * 1"), "{lint}");
    let line = "{\"expr\":\"0 15 10 ? * 2\",\"zone\":\"UTC\"}\n";
    let batch = Command::new(&["preview", "--batch", "-"]).input(line).run().done();
    assert!(batch.contains("unknown field `zone`"), "{batch}");
}

#[test]
fn a_cron_job_stays_in_its_cluster() {
    let jobs = r#"apiVersion: apps/v1
kind: Deployment
metadata: { name: other }
---
kind: CronJob
metadata: { name: report, namespace: shop }
spec:
  schedule: "@hourly"
  jobTemplate:
    spec:
      activeDeadlineSeconds: 600
      template: { spec: { serviceAccountName: reports, containers: [{ name: a, image: b }] } }
---
kind: CronJob
metadata: { name: "{{ .Release.Name }}" }
"#;
    let (told, module) = import(&["kubernetes", "-"], jobs);
    let outcomes: Vec<_> = told.iter().map(|(outcome, _)| outcome.as_str()).collect();
    assert_eq!(outcomes, ["skipped", "imported", "unsupported"]);
    assert!(told[1].1.contains("suspend") && told[1].1.contains("reports"), "{told:?}");
    assert!(told[2].1.contains("helm template"), "{told:?}");
    for part in [
        "create job",
        "--from=\"cronjob/$name\"",
        "-n 'shop'",
        "timeout: 20m",
        // Programs get no variables of the pod.
        "export KUBERNETES_SERVICE_HOST=kubernetes.default.svc KUBERNETES_SERVICE_PORT=443",
    ] {
        assert!(
            module.contains(part) || module.contains(&part.replace('"', "\\\"")),
            "{part}: {module}"
        );
    }
    let strict = ["import", "kubernetes", "-", "--strict", "--dry-run"];
    let all_kept = jobs.split("---\nkind: CronJob\nmetadata: { name: \"{{").next().unwrap();
    let done = Command::new(&strict).input(all_kept).run();
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.ends_with("1 imported, 0 with another meaning, 0 unsupported, 1 skipped\n"));
}

#[test]
fn only_timers_that_are_enabled_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let (local, vendor) = (folder.path().join("etc"), folder.path().join("lib"));
    let wants = local.join("timers.target.wants");
    for path in [&wants, &vendor] {
        fs::create_dir_all(path).unwrap();
    }
    let write = |path: &Path, text: &str| fs::write(path, text).unwrap();
    write(&vendor.join("dump@.timer"), "[Timer]\nOnCalendar=hourly\n");
    write(
        &vendor.join("dump@.service"),
        "[Unit]\nDescription=Dump of %i\n[Service]\nUser=backup\nExecStart=/bin/dump %i %I\n",
    );
    write(&vendor.join("off.timer"), "[Timer]\nOnCalendar=daily\n");
    write(&vendor.join("off.service"), "[Service]\nUser=backup\nExecStart=/bin/off\n");
    write(&vendor.join("plain@.timer"), "[Timer]\nOnCalendar=daily\n");
    symlink(vendor.join("dump@.timer"), wants.join("dump@srv-data.timer")).unwrap();
    let paths = [local.to_str().unwrap(), vendor.to_str().unwrap()];
    let args = [&["systemd"], &paths[..], &["--tz", "Europe/Berlin"]].concat();
    let (told, module) = import(&args, "");
    let outcomes: Vec<_> = told.iter().map(|(outcome, _)| outcome.as_str()).collect();
    assert_eq!(outcomes, ["meaning_changed", "skipped", "unsupported"], "{told:?}");
    assert!(told[0].1.contains("occurs twice"), "{told:?}");
    assert!(told[2].1.contains("template"), "{told:?}");
    for part in ["dump-srv-data:", "Dump of srv-data", "- srv-data", "- srv/data"] {
        assert!(module.contains(part), "{part}: {module}");
    }
    let (told, _) = import(&[&args[..], &["--all"]].concat(), "");
    assert_eq!(told[1].0, "imported", "{told:?}");
    // A zone whose clock never changes needs no note.
    let args = [&["systemd"], &paths[..], &["--tz", "Asia/Tokyo"]].concat();
    assert_eq!(import(&args, "").0[0].0, "imported");
}

#[test]
fn a_masked_unit_hides_the_one_of_the_vendor() {
    let folder = tempfile::tempdir().unwrap();
    let (local, vendor) = (folder.path().join("etc"), folder.path().join("lib"));
    let wants = local.join("timers.target.wants");
    for path in [&wants, &vendor] {
        fs::create_dir_all(path).unwrap();
    }
    for name in ["apt", "empty", "silent", "dump@"] {
        let timer = vendor.join(format!("{name}.timer"));
        fs::write(&timer, "[Timer]\nOnCalendar=daily\n").unwrap();
        let service = vendor.join(format!("{name}.service"));
        fs::write(service, "[Service]\nUser=backup\nExecStart=/bin/a\n").unwrap();
        symlink(&timer, wants.join(format!("{name}.timer").replace('@', "@data"))).unwrap();
    }
    symlink("/dev/null", local.join("apt.timer")).unwrap();
    symlink("/dev/null", local.join("dump@.timer")).unwrap();
    fs::write(local.join("empty.timer"), "").unwrap();
    symlink("/dev/null", local.join("silent.service")).unwrap();
    let paths = [local.to_str().unwrap(), vendor.to_str().unwrap()];
    for more in [&[][..], &["--all"]] {
        let args = [&["systemd"], &paths[..], &["--tz", "UTC"], more].concat();
        let (told, module) = import(&args, "");
        assert_eq!(told.len(), 4, "{told:?}");
        for (outcome, notes) in &told {
            assert!(outcome == "skipped" && notes.contains("masked"), "{told:?}");
        }
        assert!(!module.contains("/bin/a"), "{module}");
    }
    // If the unit is only in one folder, no other file hides it.
    let (told, _) = import(&["systemd", vendor.to_str().unwrap(), "--tz", "UTC"], "");
    assert!(told.iter().any(|(outcome, _)| outcome == "imported"), "{told:?}");
}

#[test]
fn a_variable_of_a_service_is_escaped_once_where_it_is_filled_in() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("list.timer", "[Timer]\nOnCalendar=daily\n"),
        (
            "list.service",
            "[Service]\nUser=list\nEnvironment=FORMAT={{.Names}}\n\
             ExecStart=/usr/bin/docker ps --format ${FORMAT}\n",
        ),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().to_str().unwrap();
    let (told, module) = import(&["systemd", path, "--tz", "UTC"], "");
    assert_eq!(told[0].0, "imported", "{told:?}");
    // In the environment, and among the arguments.
    assert_eq!(module.matches("{% raw %}{{.Names}}{% endraw %}").count(), 2, "{module}");
    assert_eq!(module.matches("raw %}").count(), 4, "{module}");
}

#[test]
fn a_nul_character_is_told_from_its_escape() {
    let (told, _) = import(&["crontab", "-", "--tz", "UTC"], "@daily printf '\\u0000'\n");
    assert_eq!(told[0].0, "imported", "{told:?}");
    let (told, _) = import(&["crontab", "-", "--tz", "UTC"], "@daily printf '\0'\n");
    assert_eq!(told[0].0, "unsupported", "{told:?}");
}

#[test]
fn schedules_of_event_bridge_are_imported() {
    let export = json!({ "Schedules": [
        {
            "Name": "nightly", "GroupName": "shop", "ScheduleExpression": "cron(30 2 ? * 2-6 *)",
            "ScheduleExpressionTimezone": "Europe/Berlin", "State": "DISABLED",
            "FlexibleTimeWindow": { "Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15 },
            "StartDate": "2026-01-01T00:00:00+00:00",
            "Target": {
                "Arn": "arn:aws:lambda:eu-west-1:1:function:f", "RoleArn": "arn:aws:iam::1:role/r",
                "Input": "{\"it's\": 1}", "RetryPolicy": { "MaximumRetryAttempts": 3 },
            },
        },
        { "Name": "listed", "State": "ENABLED", "Target": { "Arn": "arn:aws:sns:x:1:t" } },
        {
            "Name": "every", "ScheduleExpression": "rate(5 minutes)",
            "Target": { "Arn": "arn:aws:scheduler:::aws-sdk:ec2:stopInstances" },
        },
        {
            "Name": "stamped", "ScheduleExpression": "cron(0 3 * * ? *)",
            "Target": {
                "Arn": "arn:aws:sns:x:1:t",
                "Input": "{\"at\": \"<aws.scheduler.scheduled-time>\"}",
            },
        },
    ] });
    let (told, module) = import(&["eventbridge", "-"], &export.to_string());
    let outcomes: Vec<_> = told.iter().map(|(outcome, _)| outcome.as_str()).collect();
    let expected = ["imported", "unsupported", "meaning_changed", "meaning_changed"];
    assert_eq!(outcomes, expected, "{told:?}");
    assert!(told[0].1.contains("role/r") && told[1].1.contains("get-schedule"), "{told:?}");
    assert!(told[3].1.contains("<aws.scheduler."), "{told:?}");
    for part in [
        "30 2 * * 1-5",
        "gap: skip",
        "jitter: 15m",
        "paused: true",
        "max_attempts: 4",
        "lambda invoke",
        "@every 5m",
        "stop-instances",
        "overlap: allow",
    ] {
        assert!(module.contains(part), "{part}: {module}");
    }
    let bad = Command::new(&["import", "eventbridge", "-"]).input("{").run().refused(2);
    assert!(bad.contains("standard input is not JSON"), "{bad}");
}

#[test]
fn jobs_of_dkron_are_imported() {
    let export = json!([
        {
            "name": "clean", "schedule": "0 30 2 */2 * 1", "timezone": "Europe/Berlin",
            "concurrency": "forbid", "retries": 2, "executor": "shell",
            "executor_config": { "command": "/bin/clean '{{x}}'", "env": "A=1,B=2", "timeout": "10m" },
        },
        {
            "name": "call", "schedule": "@every 10s", "executor": "http", "disabled": true,
            "executor_config": { "url": "https://example.org/x", "method": "POST",
                "headers": "[\"X-A: b\"]", "body": "{}", "expectCode": "200" },
        },
        { "name": "hand", "schedule": "@manually", "executor": "shell",
            "executor_config": { "command": "true" } },
        { "name": "after", "parent_job": "clean", "executor": "shell" },
        { "name": "odd", "schedule": "@daily", "executor": "kafka" },
    ]);
    let (told, module) = import(&["dkron", "-"], &export.to_string());
    let outcomes: Vec<_> = told.iter().map(|(outcome, _)| outcome.as_str()).collect();
    let expected = ["imported", "imported", "imported", "unsupported", "unsupported"];
    assert_eq!(outcomes, expected, "{told:?}");
    for part in [
        "0 30 2 */2 * *",
        "0 30 2 * * 1",
        "timeout: 10m",
        "max_attempts: 3",
        "X-A: b",
        "catch_up: skip",
        "@manually",
        "paused: true",
    ] {
        assert!(module.contains(part), "{part}: {module}");
    }
}

#[test]
fn events_of_cronicle_are_imported() {
    let page = json!({ "type": "list_page", "items": [
        {
            "id": "e1", "title": "Clean up", "enabled": 1, "plugin": "shellplug", "catch_up": 1,
            "max_children": 1, "timeout": 3600, "retries": 1, "timezone": "America/New_York",
            "params": { "script": "#!/bin/sh\n\n/bin/clean" },
            "timing": { "hours": [2], "minutes": [30], "weekdays": [1], "days": [1, 15] },
        },
        {
            "id": "e2", "title": "Call", "enabled": 0, "plugin": "urlplug", "timing": false,
            "params": { "method": "get", "url": "https://example.org/", "headers": "A: b" },
        },
        { "id": "e3", "title": "Other", "plugin": "testplug", "timing": {} },
    ] });
    let export = format!(
        "# Cronicle Data Export v1.0\n\nglobal/users/0 - {{}}\nglobal/schedule - \
         {{\"type\":\"list\"}}\nglobal/schedule/0 - {page}\n"
    );
    let (told, module) = import(&["cronicle", "-"], &export);
    let outcomes: Vec<_> = told.iter().map(|(outcome, _)| outcome.as_str()).collect();
    assert_eq!(outcomes, ["imported", "imported", "unsupported"], "{told:?}");
    for part in [
        "Clean-up:",
        "30 2 1,15 * +1",
        "America/New_York",
        "overlap: both",
        "overlap: buffer_all",
        "catch_up: all",
        "max: 10000",
        "window: 30d",
        "@manually",
        "paused: true",
    ] {
        assert!(module.contains(part), "{part}: {module}");
    }
}

#[test]
fn an_import_tells_of_credentials_that_servers_refuse() {
    let export = json!([
        {
            "name": "call", "schedule": "@hourly", "executor": "http", "executor_config": {
                "method": "POST", "url": "https://a.example/x?key=hush",
                "headers": "[\"Authorization: Bearer hush\"]",
            },
        },
        { "name": "plain", "schedule": "@hourly", "executor": "shell", "executor_config": { "command": "a" } },
    ]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jobs.json");
    fs::write(&file, export.to_string()).unwrap();
    let args = ["import", "dkron", file.to_str().unwrap(), "--dry-run"];
    let done = Command::new(&args).run();
    let fields = "    http.headers.Authorization, http.url hold credentials in plain text";
    assert!(done.out.contains(fields), "{done:?}");
    assert!(done.out.contains("{{ secrets.NAME }}"), "{done:?}");
    assert!(
        done.out.ends_with("1 entry contains a credential in plain text, which servers refuse\n")
    );
    assert!(!done.out.contains("hush"), "{done:?}");

    let tab = "PGPASS=hush\n@daily /bin/a\n@daily /bin/b\n";
    let done = Command::new(&["import", "crontab", "-", "--dry-run"]).input(tab).run();
    assert!(done.out.contains("command.env.PGPASS holds a credential"), "{done:?}");
    assert!(
        done.out.ends_with("2 entries contain credentials in plain text, which servers refuse\n")
    );
}
