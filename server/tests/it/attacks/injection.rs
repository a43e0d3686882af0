use reqwest::header;
use serde_json::{Value, json};

use crate::{
    api::desk::Desk,
    support::{Command, Server, TestDatabase, on_both},
};

on_both!(words_are_compared_and_never_executed, what_an_input_does_not_name_cannot_be_set);

/// Notes that look like code, to be found among other notes.
const NOTES: [&str; 7] = [
    "100% of it",
    "under_score",
    "back\\slash",
    "it's; DROP TABLE schedule;--",
    "dou\"ble",
    "<script>alert(1)</script>",
    "$1 ?1 :name {{ 7 * 7 }} ${jndi:x}",
];

async fn words_are_compared_and_never_executed(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for (number, note) in NOTES.iter().chain(&["plain"]).enumerate() {
        let input = json!({
            "name": format!("s{number}"), "note": note, "tags": [format!("t{number}")],
            "timing": { "expressions": ["@daily"] }, "task": { "target": { "noop": {} } },
        });
        let create = "mutation ($input: CreateScheduleInput!) {
            createSchedule(input: $input) { schedule { note } } }";
        let made = desk.ask(create, json!({ "input": input })).await;
        assert_eq!(made["createSchedule"]["schedule"]["note"], *note);
    }
    let found = async |filter: Value, search: Option<&str>| {
        let query = "query ($filter: ScheduleFilter, $search: String) {
            schedules(filter: $filter, search: $search) { nodes { name } } }";
        let answer = desk.ask(query, json!({ "filter": filter, "search": search })).await;
        let nodes = answer["schedules"]["nodes"].as_array().unwrap().clone();
        nodes.iter().map(|node| node["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // In filters and in the search language, characters of patterns match only themselves.
    for (part, name) in
        [("%", "s0"), ("r_s", "s1"), ("\\", "s2"), ("'s; DROP", "s3"), ("\"", "s4"), ("<scr", "s5")]
    {
        assert_eq!(found(json!({ "text": part }), None).await, [name], "{part}");
        let quoted = format!("\"{}\"", part.replace('\\', "\\\\").replace('"', "\\\""));
        assert_eq!(found(json!(null), Some(&quoted)).await, [name], "{quoted}");
    }
    for nothing in ["' OR '1'='1", "t0' OR 1=1 --", "%", "t_", "t0\") OR 1=1"] {
        for field in ["tag", "workflow"] {
            assert!(found(json!({ field: nothing }), None).await.is_empty(), "{field}: {nothing}");
        }
    }
    // A cursor encodes a position in a list, and is never inserted into a statement.
    for list in ["schedules", "runs", "workflows", "auditEvents"] {
        for cursor in ["' OR 1=1 --", "AAAA", "%27", "0;DROP TABLE run", ""] {
            let query = format!(
                "query ($c: String) {{ {list}(first: 1, after: $c) {{ edges {{ cursor }} }} }}"
            );
            let refused = desk.refused(&query, json!({ "c": cursor })).await;
            assert_eq!(
                refused["extensions"]["code"], "BAD_USER_INPUT",
                "{list} {cursor}: {refused}"
            );
        }
    }
    assert_eq!(found(json!(null), None).await.len(), NOTES.len() + 1, "all are there");
}

async fn what_an_input_does_not_name_cannot_be_set(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let fields = |input: Value, more: Value| {
        let (Value::Object(mut input), Value::Object(more)) = (input, more) else { panic!() };
        input.extend(more);
        Value::Object(input)
    };
    let schedule = json!({
        "name": "a", "timing": { "expressions": ["@daily"] },
        "task": { "target": { "noop": {} } },
    });
    let inputs = [
        ("createSchedule", "CreateScheduleInput", "schedule { id }", schedule),
        (
            "createUser",
            "CreateUserInput",
            "user { id }",
            json!({ "name": "eve", "password": "correct horse battery" }),
        ),
        (
            "createServiceAccount",
            "CreateServiceAccountInput",
            "user { id }",
            json!({ "name": "eve" }),
        ),
        (
            "createApiToken",
            "CreateApiTokenInput",
            "secret",
            json!({ "name": "eve", "role": "VIEWER" }),
        ),
        ("createCalendarFeed", "CreateCalendarFeedInput", "path", json!({ "name": "eve" })),
    ];
    for (mutation, kind, answer, input) in inputs {
        let query =
            format!("mutation ($input: {kind}!) {{ {mutation}(input: $input) {{ {answer} }} }}");
        for more in [
            json!({ "id": "00000000-0000-7000-8000-000000000001" }),
            json!({ "namespaceId": "00000000-0000-7000-8000-000000000001" }),
            json!({ "userId": "00000000-0000-7000-8000-000000000001" }),
            json!({ "createdBy": "ada" }),
            json!({ "version": 7 }),
            json!({ "enabled": false }),
            json!({ "state": "ACTIVE" }),
            json!({ "module": "theirs" }),
            json!({ "isService": false }),
            json!({ "hash": "x" }),
            json!({ "__proto__": { "role": "ADMIN" } }),
        ] {
            let variables = json!({ "input": fields(input.clone(), more.clone()) });
            let refused = desk.refused(&query, variables).await;
            let code = &refused["extensions"]["code"];
            assert_eq!(code, "BAD_USER_INPUT", "{mutation} {more}: {refused}");
        }
    }
    let left = "{ schedules { totalCount } users { nodes { name } } }";
    let left = desk.ask(left, json!({})).await;
    assert_eq!(left["schedules"]["totalCount"], 0);
    assert_eq!(left["users"]["nodes"], json!([]));
}

/// No answer is a page, and the repeated text never becomes a header.
#[tokio::test]
async fn what_is_repeated_in_an_answer_stays_a_text() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "ci", "--role", "admin"];
    let token = Command::new(&create).on(&database).run().done();
    let server = Server::start(&database);
    let script = "%3Cscript%3Ealert(1)%3C/script%3E%0d%0aX-Evil:%201";
    let mut answers = Vec::new();
    for path in ["/healthz?namespace=", "/healthz?", "/calendar.ics?", "/audit/export?format="] {
        answers.push(server.get(&format!("{path}{script}")).bearer_auth(token.trim()));
    }
    let query = json!({ "query": "query { <script>alert(1)</script> }" });
    answers.push(server.post("/graphql").json(&query));
    let login = json!({ "name": "<script>alert(1)</script>", "password": "x" });
    answers.push(server.post("/auth/login").json(&login));
    for request in answers {
        let answer = request.send().await.unwrap();
        let kind = answer.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        let is_json = ["application/json", "application/graphql-response+json"];
        let plain = kind.split(';').next().unwrap_or_default();
        assert!(is_json.contains(&plain), "{kind}: {answer:?}");
        assert_eq!(answer.headers()[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert!(!answer.headers().contains_key("x-evil"), "{answer:?}");
    }
}
