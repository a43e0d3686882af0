//! Compares docs/workers.md with the server: the words of the protocol, their fields, limits and
//! answers, and the errors.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::workers::{Desk, of, task};
use crate::support::{Command, TestDatabase, on_both};

on_both!(
    each_word_takes_the_fields_that_the_document_shows_and_answers_as_it_shows,
    each_error_has_the_status_and_the_code_of_the_document,
    each_field_takes_as_much_as_the_document_says_and_no_more,
);

fn file(path: &str) -> String {
    fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The cells of the table with this heading, row by row.
fn table(document: &str, heading: &str) -> Vec<Vec<String>> {
    let lines = document.lines().skip_while(|line| *line != heading).skip(2);
    let rows = lines.map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let rows: Vec<Vec<String>> =
        rows.map(|row| row.split(" | ").map(str::to_owned).collect()).collect();
    assert!(!rows.is_empty(), "docs/workers.md has the table {heading}");
    rows
}

/// The texts of a cell that are set as code.
fn codes(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The JSON with which a cell begins; a cell without JSON means an empty object.
fn example(cell: &str) -> Value {
    let text = codes(cell)[0].replace("{...}", "{}").replace("[...]", "[]");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The request and the answer of each word.
fn words(document: &str) -> BTreeMap<String, (Value, Value)> {
    let rows = table(document, "| word | request | answer |");
    let word =
        |row: &Vec<String>| (codes(&row[0])[0].to_owned(), (example(&row[1]), example(&row[2])));
    rows.iter().map(word).collect()
}

fn fields(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The document's example of a request, with the keys of this worker and this job.
fn filled(request: &Value, worker: &Value, job: &Value) -> Value {
    let mut filled = request.clone();
    for (field, value) in filled.as_object_mut().unwrap() {
        match field.as_str() {
            "workerId" => *value = worker.clone(),
            "id" | "token" => *value = job[field.as_str()].clone(),
            "jobs" if value[0].is_string() => *value = json!([job["id"]]),
            "jobs" => *value = json!([{ "id": job["id"], "token": job["token"] }]),
            "ends" => {
                value[0]["id"] = job["id"].clone();
                value[0]["token"] = job["token"].clone();
            }
            // The poll must not wait for a job.
            "waitSeconds" => *value = json!(0),
            _ => {}
        }
    }
    filled
}

async fn each_word_takes_the_fields_that_the_document_shows_and_answers_as_it_shows(
    database: TestDatabase,
) {
    let document = file("docs/workers.md");
    let mut words = words(&document);
    let source = file("server/src/web/workers.rs");
    let arms = source.lines().filter_map(|line| line.trim().strip_suffix("\" => {"));
    let known: BTreeSet<&str> = arms.filter_map(|arm| arm.strip_prefix('"')).collect();
    let shown: BTreeSet<&str> = words.keys().map(String::as_str).collect();
    assert_eq!(known, shown);

    let desk = Desk::open(&database);
    let (request, told) = &words["register"];
    let registered = desk.ok("register", request.clone()).await;
    for field in ["leaseSeconds", "heartbeatSeconds", "maxWaitSeconds"] {
        assert_eq!(registered[field], told[field], "{field}");
    }
    let worker = registered["workerId"].clone();
    // `leave` comes last, because it ends the worker.
    let leave = words.remove("leave").unwrap();
    let shown = document.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let shown: Value = serde_json::from_str(shown).unwrap();
    for (word, (request, told)) in words.into_iter().chain([("leave".to_owned(), leave)]) {
        desk.run(&format!("for-{word}"), task(json!({}))).await;
        let job = desk.job(&worker).await;
        assert_eq!(fields(&job), fields(&shown));
        assert_eq!(fields(&job["run"]), fields(&shown["run"]));
        let request = filled(&request, &worker, &job);
        // Each field that the server knows has a type. Only the output may have any type.
        for field in fields(&request).into_iter().filter(|field| *field != "output") {
            let mut wrong = request.clone();
            wrong[field] = json!({ "of": "no such type" });
            let (status, answer) = desk.word(&word, wrong).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{word}, {field}: {answer}");
        }
        let answer = desk.ok(&word, request).await;
        assert_eq!(fields(&answer), fields(&told), "{word}");
        if !["complete", "fail", "report", "leave"].contains(&word.as_str()) {
            desk.ok("complete", of(&worker, &job, json!({ "output": {} }))).await;
        }
    }
}

/// Error statuses with their codes.
type Errors = BTreeSet<(u16, String)>;

fn documented() -> Errors {
    let document = file("docs/workers.md");
    let pairs = |row: &Vec<String>| {
        let statuses: Vec<u16> = row[0].split(", ").map(|text| text.parse().unwrap()).collect();
        let codes: Vec<String> = codes(&row[1]).into_iter().map(str::to_owned).collect();
        assert_eq!(statuses.len(), codes.len(), "{row:?}");
        statuses.into_iter().zip(codes)
    };
    table(&document, "| status | code | what to do |").iter().flat_map(pairs).collect()
}

async fn told(answer: Response) -> (u16, String) {
    let status = answer.status().as_u16();
    let error: Value = answer.json().await.unwrap();
    assert_eq!(fields(&error["error"]), BTreeSet::from(["code", "field", "message"]), "{error}");
    (status, error["error"]["code"].as_str().unwrap().to_owned())
}

async fn each_error_has_the_status_and_the_code_of_the_document(database: TestDatabase) {
    let desk = Desk::open(&database);
    let create = ["token", "create", "letters", "--role", "operator", "--queue", "letters"];
    let other = Command::new(&create).on(&database).run().done().trim().to_owned();
    let send = async |token: &str, word: &str, said: Value| {
        let request = desk.server.post(&format!("/worker/v1/{word}"));
        let request = if token.is_empty() { request } else { request.bearer_auth(token) };
        request.json(&said).send().await.unwrap()
    };
    let (register, _) = words(&file("docs/workers.md")).remove("register").unwrap();
    let with = |field: &str, value: Value| {
        let mut said = register.clone();
        said[field] = value;
        said
    };
    let worker = desk.worker("mailer", 1).await;
    let unknown = json!({ "id": worker, "token": "carjob_forged" });
    let mut errors = Errors::new();
    for (token, word, said) in [
        (&desk.token, "register", with("capacity", json!(0))),
        (&String::new(), "register", register.clone()),
        (&other, "register", register.clone()),
        (&other, "poll", json!({ "workerId": worker, "free": 1 })),
        (&desk.token, "complete", of(&worker, &unknown, json!({}))),
        (&desk.token, "register", with("protocol", json!(9))),
    ] {
        errors.insert(told(send(token, word, said).await).await);
    }
    // One of the token's 250 workers is registered already.
    for number in 1..250 {
        desk.worker(&format!("worker-{number}"), 1).await;
    }
    let many = send(&desk.token, "register", register.clone()).await;
    assert_eq!(many.headers()["retry-after"], "2");
    errors.insert(told(many).await);
    let unknown = send("car_unknown", "register", register.clone()).await;
    assert_eq!(unknown.status(), StatusCode::UNAUTHORIZED);
    let error: Value = unknown.json().await.unwrap();
    assert!(error["error"].is_string(), "{error}");
    // The remaining error occurs only while the database is unreachable.
    let rest: Errors = documented().difference(&errors).cloned().collect();
    assert_eq!(rest, Errors::from([(503, "UNAVAILABLE".to_owned())]));
    assert!(errors.is_subset(&documented()), "{errors:?}");
}

/// The first number in a cell.
fn number(cell: &str) -> usize {
    let begin = cell.find(|c: char| c.is_ascii_digit()).unwrap();
    let digits = cell[begin..].chars().take_while(|c| c.is_ascii_digit() || *c == ',');
    digits.filter(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// A value of this size for a field.
fn sized(word: &str, field: &str, size: usize) -> Value {
    let list = |item: fn(usize) -> Value| Value::Array((0..size).map(item).collect());
    match (word, field) {
        (_, "capacity" | "seconds") => json!(size),
        (_, "queues" | "tags") => list(|index| json!(format!("q{index}"))),
        ("heartbeat", "jobs") => list(|_| json!({ "id": Uuid::now_v7(), "token": "carjob_x" })),
        (_, "jobs") => list(|_| json!(Uuid::now_v7())),
        (_, "ends") => list(|_| json!({ "id": Uuid::now_v7(), "token": "carjob_x" })),
        (_, "lines") => list(|_| json!({ "text": "x" })),
        // As JSON, the rest of the object takes eight bytes.
        (_, "output") => json!({ "t": "x".repeat(size - 8) }),
        _ => json!("x".repeat(size)),
    }
}

async fn each_field_takes_as_much_as_the_document_says_and_no_more(database: TestDatabase) {
    let document = file("docs/workers.md");
    let words = words(&document);
    let desk = Desk::open(&database);
    let rows = table(&document, "| word | field | at most |");
    let mut limited = BTreeSet::new();
    for (index, row) in rows.iter().enumerate() {
        let (word, field, most) = (codes(&row[0])[0], codes(&row[1])[0], number(&row[2]));
        let worker = desk.worker(&format!("worker-{index}"), 1).await;
        let mut job = Value::Null;
        if ["log", "complete", "fail", "extend"].contains(&word) {
            desk.run(&format!("run-{index}"), task(json!({}))).await;
            job = desk.job(&worker).await;
        }
        let request = filled(&words[word].0, &worker, &job);
        let said = |size: usize| {
            let mut said = request.clone();
            let place = match field {
                "lines[0].text" => &mut said["lines"][0]["text"],
                field => &mut said[field],
            };
            *place = sized(word, field, size);
            said
        };
        let (status, answer) = desk.word(word, said(most + 1)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{word}, {field}: {answer}");
        assert_eq!(answer["error"]["field"], field, "{word}: {answer}");
        desk.ok(word, said(most)).await;
        if ["log", "extend"].contains(&word) {
            desk.ok("complete", of(&worker, &job, json!({}))).await;
        }
        limited.insert((word, field));
    }
    // Other fields are keys, numbers that the server reduces, or bounded by the answer to `register`.
    let without = BTreeSet::from([
        "workerId",
        "id",
        "token",
        "protocol",
        "namespace",
        "free",
        "waitSeconds",
        "draining",
        "retry",
    ]);
    for (word, (request, _)) in &words {
        let fields = fields(request);
        let missing =
            fields.difference(&without).find(|field| !limited.contains(&(word.as_str(), **field)));
        assert_eq!(missing, None, "{word}");
    }
}
