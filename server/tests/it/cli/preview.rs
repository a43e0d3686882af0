use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::support::Command;

const BERLIN: [&str; 4] = ["--tz", "Europe/Berlin", "--from", "2025-03-28T12:00:00Z"];

fn preview(args: &[&str]) -> crate::support::Finished {
    Command::new(&[&["preview"], args].concat()).run()
}

fn batch(lines: &str) -> Vec<Value> {
    let answers = Command::new(&["preview", "--batch", "-"]).input(lines).run().done();
    answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_preview_shows_what_the_clock_change_does() {
    let shown = preview(&[&["30 2 * * *"], &BERLIN[..], &["--count", "3"]].concat()).done();
    let mut lines = shown.lines();
    assert!(lines.next().unwrap().contains("Europe/Berlin"), "{shown}");
    insta::assert_snapshot!(lines.take(3).collect::<Vec<_>>().join("\n"), @r"
    2025-03-29 02:30:00 +01:00  2025-03-29T01:30:00Z
    2025-03-30 03:00:00 +02:00  2025-03-30T01:00:00Z  the clock skips the requested time: right after the gap
    2025-03-31 02:30:00 +02:00  2025-03-31T00:30:00Z
    ");
}

#[test]
fn the_json_is_the_contract() {
    let shown = preview(&[&["30 2 * * *"], &BERLIN[..], &["--count", "2", "--json"]].concat());
    let mut shown: Value = serde_json::from_str(&shown.done()).unwrap();
    assert!(shown["description"].take().as_str().is_some_and(|text| !text.is_empty()));
    assert!(shown["warnings"].take().is_array());
    let expected = json!([
        { "at": "2025-03-29T01:30:00Z", "local": "2025-03-29T02:30:00", "offset": "+01:00",
          "kind": "normal" },
        { "at": "2025-03-30T01:00:00Z", "local": "2025-03-30T03:00:00", "offset": "+02:00",
          "kind": "shifted" },
    ]);
    assert_eq!(shown["fires"], expected);
}

#[test]
fn the_policies_are_flags() {
    let instants = |policy: &[&str], expression: &str, from: &str| -> Vec<String> {
        let args = [&[expression, "--tz", "Europe/Berlin", "--from", from, "--count", "2"], policy];
        let args = [&args.concat()[..], &["--json"]].concat();
        let shown: Value = serde_json::from_str(&preview(&args).done()).unwrap();
        let fires = shown["fires"].as_array().unwrap().iter();
        fires.map(|fire| fire["at"].as_str().unwrap().to_owned()).collect()
    };
    let gap = "2025-03-29T12:00:00Z";
    assert_eq!(
        instants(&["--dst-gap", "skip"], "30 2 * * *", gap),
        ["2025-03-31T00:30:00Z", "2025-04-01T00:30:00Z"]
    );
    let overlap = "2025-10-25T12:00:00Z";
    assert_eq!(
        instants(&["--dst-overlap", "both"], "30 2 * * *", overlap),
        ["2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z"]
    );
    assert_eq!(
        instants(&["--dst-overlap", "last"], "30 2 * * *", overlap),
        ["2025-10-26T01:30:00Z", "2025-10-27T01:30:00Z"]
    );
}

#[test]
fn a_bad_expression_is_marked_where_it_is_wrong() {
    let refused = preview(&["0 25 * * *"]).refused(2);
    let (line, marks) = refused.split_once('\n').unwrap();
    assert!(line.starts_with("expression \"0 25 * * *\" at byte 2: "), "{line}");
    assert_eq!(marks, "  0 25 * * *\n    ^^");
    let hyphen = preview(&["-5 * * * *", "--tz", "UTC"]).refused(2);
    assert!(hyphen.starts_with("expression \"-5 * * * *\""), "{hyphen}");
}

#[test]
fn one_of_several_expressions_is_named() {
    let refused = preview(&["0 1 * * *", "--also", "@never"]).refused(2);
    assert!(refused.starts_with("expression 2 \"@never\""), "{refused}");
}

#[test]
fn other_bad_input_names_its_flag() {
    let zone = preview(&["@daily", "--tz", "Mars/Base"]).refused(2);
    assert!(zone.starts_with("--tz \"Mars/Base\""), "{zone}");
    for (args, flag) in [
        (["--from", "yestermorn"], "--from"),
        (["--count", "0"], "--count"),
        (["--count", "10001"], "--count"),
        (["--dst-gap", "jump"], "--dst-gap"),
    ] {
        let refused = preview(&[&["@daily"], &args[..]].concat()).refused(2);
        assert!(refused.contains(flag), "{refused}");
    }
    assert_eq!(preview(&[]).code, 2);
    assert_eq!(preview(&["--batch", "not-there.jsonl"]).code, 2);
}

#[test]
fn every_line_of_a_batch_is_answered() {
    let answers = batch(
        "{\"expr\":\"@every 90s\",\"tz\":\"UTC\",\"from\":\"2025-01-01T00:00:00Z\",\"count\":2}\n\
         {\"expr\":\"61 * * * *\",\"tz\":\"UTC\",\"from\":\"2025-01-01T00:00:00Z\",\"count\":2}\n\
         not json\n\
         \n\
         {\"expr\":\"@at 0\",\"tz\":\"UTC\",\"from\":\"2025-01-01T00:00:00Z\",\"count\":2}\n\
         {\"expr\":\"@daily\",\"tz\":\"Mars/Base\"}\n\
         {\"expr\":\"@daily\",\"from\":\"soon\"}\n\
         {\"tz\":\"UTC\"}\n\
         {\"expr\":\"@daily\",\"from\":\"2025-01-01T00:00:00Z\"}\n\
         {\"expr\":\"@daily\",\"timezone\":\"UTC\"}",
    );
    let at = |fire: &Value| fire["at"].as_str().unwrap().to_owned();
    let fires: Vec<String> = answers[0]["fires"].as_array().unwrap().iter().map(at).collect();
    // The expression is anchored at `from`, which itself does not fire.
    assert_eq!(fires, ["2025-01-01T00:01:30Z", "2025-01-01T00:03:00Z"]);
    for (index, part) in [
        (1, "61"),
        (2, "not a question"),
        (4, "Mars/Base"),
        (5, "soon"),
        (6, "expr"),
        (8, "unknown field `timezone`"),
    ] {
        let error = answers[index]["error"].as_str().unwrap();
        assert!(error.contains(part), "{error}");
        assert!(answers[index].get("fires").is_none());
    }
    assert_eq!(answers[3], json!({ "fires": [] }));
    assert_eq!(answers[7]["fires"].as_array().unwrap().len(), 5);
    assert_eq!(answers.len(), 9);
}

#[test]
fn a_start_without_an_offset_is_in_the_zone_of_the_timing() {
    let from = |zone: &str, from: &str| {
        let args = ["0 12 * * *", "--tz", zone, "--from", from, "--count", "1", "--json"];
        let shown: Value = serde_json::from_str(&preview(&args).done()).unwrap();
        shown["fires"][0]["at"].clone()
    };
    // The time is read in the given zone, not in that of this machine: in Tokyo, noon has not come
    // yet.
    assert_eq!(from("Asia/Tokyo", "2026-07-01 11:59"), "2026-07-01T03:00:00Z");
    assert_eq!(from("Asia/Tokyo", "2026-07-01 12:00"), "2026-07-02T03:00:00Z");
    assert_eq!(from("America/New_York", "2026-07-01T11:59"), "2026-07-01T16:00:00Z");
    assert_eq!(from("Asia/Tokyo", "2026-07-01T02:59:00Z"), "2026-07-01T03:00:00Z");
    assert_eq!(from("Asia/Tokyo", "2026-07-01 05:00+02:00"), "2026-07-02T03:00:00Z");
}

#[test]
fn every_line_of_a_batch_has_a_zone_of_its_own() {
    let lines = "{\"expr\":\"0 12 * * *\",\"tz\":\"Asia/Tokyo\",\"from\":\"2026-07-01 11:59\"}\n\
        {\"expr\":\"0 12 * * *\",\"tz\":\"America/New_York\"}\n\
        {\"expr\":\"0 12 * * *\"}\n\
        {\"expr\":\"0 12 * * *\",\"tz\":\"Mars/Base\",\"from\":\"2026-07-01 11:59\"}";
    let flags = ["preview", "--batch", "-", "--tz", "Europe/Berlin", "--count", "1"];
    let flags = [&flags[..], &["--from", "2026-07-02 11:59"]].concat();
    let answers = Command::new(&flags).input(lines).run().done();
    let answers: Vec<Value> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = |index: usize| answers[index]["fires"][0]["at"].as_str().unwrap().to_owned();
    assert_eq!(first(0), "2026-07-01T03:00:00Z");
    assert_eq!(first(1), "2026-07-02T16:00:00Z", "the flag's time, in the line's zone");
    assert_eq!(first(2), "2026-07-02T10:00:00Z");
    assert!(answers[3]["error"].as_str().unwrap().contains("Mars/Base"), "{answers:?}");
}

#[test]
fn a_line_that_can_never_fire_has_its_error_and_the_fires_that_it_has() {
    for expr in ["0 30 12 29 2 * 2025-2027", "0 30 12 29 2 * 2025-2033/4", "0 30 12 29 2 * 2030"] {
        let line = format!("{{\"expr\":\"{expr}\",\"from\":\"2025-03-01T00:00:00Z\"}}");
        let answers = batch(&line);
        let [Value::Object(answer)] = &answers[..] else { panic!("{answers:?}") };
        assert!(answer["error"].as_str().unwrap().contains("it can never fire"), "{answer:?}");
        assert_eq!(answer["fires"], json!([]), "{answer:?}");
    }
}

#[test]
fn the_flags_hold_for_lines_of_a_batch_that_do_not_name_them() {
    let flags = [
        ["--tz", "Europe/Berlin"],
        ["--from", "2025-03-29T12:00:00Z"],
        ["--count", "1"],
        ["--dst-gap", "skip"],
        ["--dst-overlap", "last"],
    ];
    let lines = [
        json!({ "expr": "30 2 * * *" }),
        json!({ "expr": "30 2 * * *", "dst_gap": "shift" }),
        json!({ "expr": "30 2 * * *", "from": "2025-10-25T12:00:00Z" }),
        json!({ "expr": "30 2 * * *", "from": "2025-10-25T12:00:00Z", "dst_overlap": "first" }),
        json!({ "expr": "30 2 * * *", "tz": "UTC", "count": 2 }),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let args = [&["preview", "--batch", "-"], &flags.concat()[..]].concat();
    let answers = Command::new(&args).input(lines.join("\n")).run().done();
    let instants = |line: &str| -> Vec<String> {
        let answer: Value = serde_json::from_str(line).unwrap();
        let fires = answer["fires"].as_array().unwrap().iter();
        fires.map(|fire| fire["at"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        answers.lines().map(instants).collect::<Vec<_>>(),
        [
            vec!["2025-03-31T00:30:00Z"],
            vec!["2025-03-30T01:00:00Z"],
            vec!["2025-10-26T01:30:00Z"],
            vec!["2025-10-26T00:30:00Z"],
            vec!["2025-03-30T02:30:00Z", "2025-03-31T02:30:00Z"],
        ]
    );
}

#[test]
fn times_that_h_chose_for_no_schedule_are_called_an_example() {
    let shown = preview(&["H 3 * * *", "--json"]).done();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["warnings"][0]["code"], "hashed_example");
    let shown = preview(&["H 3 * * *"]).done();
    assert!(shown.contains("\nwarning: `H` is derived from a schedule's identity"), "{shown}");
    // The expression itself is valid: `lint` has no warning.
    assert_eq!(Command::new(&["lint", "H 3 * * *", "--strict"]).run().code, 0);
}

#[test]
fn a_directory_of_zone_data_without_the_zones_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let list = "# version 2999a\n";
    std::fs::write(folder.path().join("tzdata.zi"), list).unwrap();
    // A single file of zone rules is enough for the directory to count as zone data.
    std::fs::create_dir(folder.path().join("Etc")).unwrap();
    std::fs::write(folder.path().join("Etc/UTC"), utc_rules()).unwrap();
    let directory = folder.path().to_str().unwrap();
    let refused =
        Command::new(&["preview", "@daily", "--tz", "Europe/Berlin"]).env("TZDIR", directory);
    let refused = refused.run().refused(2);
    for part in ["--tz \"Europe/Berlin\"", directory, "no usable file for Europe/Berlin", "TZDIR"] {
        assert!(refused.contains(part), "{refused} lacks {part}");
    }
    let known = Command::new(&["preview", "@daily", "--tz", "Etc/UTC"]).env("TZDIR", directory);
    assert_eq!(known.run().code, 0);
}

/// The smallest valid file of zone rules: one type of local time, UTC.
fn utc_rules() -> Vec<u8> {
    let block = [b"TZif2".as_slice(), &[0; 31], &[0, 0, 0, 1], &[0, 0, 0, 4], &[0; 6], b"UTC\0"];
    [&block.concat()[..], &block.concat(), b"\nUTC0\n"].concat()
}

#[test]
fn a_batch_continues_after_bytes_that_are_not_text() {
    let lines = [b"\xff\xfe\n".as_slice(), b"{\"expr\":\"@daily\",\"count\":1}\n"].concat();
    let answers = Command::new(&["preview", "--batch", "-"]).input(lines).run().done();
    let answers: Vec<Value> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(answers[0]["error"].is_string());
    assert_eq!(answers[1]["fires"].as_array().unwrap().len(), 1);
}

#[test]
fn each_question_is_answered_before_the_next_is_asked() {
    let (mut command, _folder) = Command::new(&["preview", "--batch", "-"]).into_inner();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut questions = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    for count in 1..=3 {
        writeln!(questions, "{{\"expr\":\"@hourly\",\"count\":{count}}}").unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["fires"].as_array().unwrap().len(), count);
    }
    drop(questions);
    assert!(child.wait().unwrap().success());
}

#[test]
fn lint_says_what_a_timing_means() {
    let linted = Command::new(&["lint", "@at 0", "--json"]).run().done();
    let linted: Value = serde_json::from_str(&linted).unwrap();
    assert_eq!(linted["warnings"][0]["code"], "never_fires");
    let strict = Command::new(&["lint", "@at 0", "--strict"]).run();
    assert_eq!(strict.code, 1);
    assert_eq!(Command::new(&["lint", "0 9 * * 1", "--strict"]).run().code, 0);
    assert_eq!(Command::new(&["lint", "0 9 * *"]).run().code, 2);
}
