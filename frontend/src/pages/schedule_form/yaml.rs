//! Shows the schedule as a module file. Default values and secrets are left out; references to secrets stay, and the
//! addresses of a watchdog are masked.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::{
    draft::{Draft, catch_up_name, gap_name, overlap_hour_name, overlap_name},
    ping::PingPlan,
    plan::{Plan, Work},
};
use crate::{
    components::{copy, live},
    model::{Backoff, CatchUp, HttpAnswer, Pair},
    pages::{
        parts,
        task_form::{Action, CREDENTIAL_KEYS, MASK, TaskPlan, is_open},
    },
};

/// How many redirects a request follows by default.
const USUAL_REDIRECTS: i64 = 5;

/// The file, which is collapsed at first. Its code is loaded when it is opened.
pub(super) fn panel(draft: Draft) -> AnyView {
    let is_opened = RwSignal::new(false);
    let open = move |_| {
        if !is_opened.get_untracked() {
            is_opened.set(true);
        }
    };
    let file = live(move || match is_opened.get() {
        true => parts::module_file(draft).show("part of the form"),
        false => ().into_any(),
    });
    view! {
        <details class="more" on:toggle=open>
            <summary>"The same as a module file"</summary>
            {file}
        </details>
    }
    .into_any()
}

/// The file, updated while the user types.
pub(in crate::pages) fn file_view(draft: Draft) -> AnyView {
    let text = Memo::new(move |_| {
        // Read only to track changes, because the plan reads without tracking.
        let _typed = draft.kept();
        draft.plan().map(|plan| file(&plan)).map_err(|wrong| wrong.message)
    });
    // While the form is invalid, there is nothing to copy.
    live(move || match text.get() {
        Ok(file) => {
            let copy = copy("Copy", move || text.get_untracked().unwrap_or_default());
            view! {
                <pre class="json" tabindex="0" role="region" aria-label="Module file">{file}</pre>
                {copy}
            }
            .into_any()
        }
        Err(wrong) => view! { <p class="hint">{wrong}</p> }.into_any(),
    })
}

fn file(plan: &Plan) -> String {
    let mut text = "module: my-module\nschedules:\n".to_owned();
    let name = if plan.name.is_empty() { "my-schedule" } else { &plan.name };
    text.push_str(&format!("  {}:\n", scalar(&json!(name))));
    write(&mut text, &schedule(plan), 4);
    text
}

/// The keys and values of the schedule as in docs/modules.md, without default values.
fn schedule(plan: &Plan) -> Vec<(&'static str, Value)> {
    let policy = &plan.timing.policy;
    let mut keys: Vec<(&'static str, Value)> = Vec::new();
    let mut add = |is_given: bool, key, value| {
        if is_given {
            keys.push((key, value));
        }
    };
    add(!plan.note.is_empty(), "note", json!(plan.note));
    add(!plan.tags.is_empty(), "tags", json!(plan.tags));
    match plan.timing.expressions.as_slice() {
        [one] => add(true, "when", json!(one)),
        all => add(true, "when", json!(all)),
    }
    add(plan.timing.zone != "UTC", "zone", json!(plan.timing.zone));
    let (gap, twice) = (gap_name(policy.gap), overlap_hour_name(policy.overlap));
    add((gap, twice) != ("shift", "first"), "dst", json!({ "gap": gap, "overlap": twice }));
    add(policy.start_at.is_some(), "start", json!(policy.start_at));
    add(policy.end_at.is_some(), "end", json!(policy.end_at));
    add(policy.jitter_seconds > 0, "jitter", json!(whole(policy.jitter_seconds)));
    add(!plan.calendars.is_empty(), "calendars", json!(plan.calendars));
    add(plan.max_fires.is_some(), "max_fires", json!(plan.max_fires));
    match &plan.work {
        Work::Workflow(name) => add(true, "workflow", json!(name)),
        Work::Task(task) => add(true, "task", task_of(task)),
    }
    let misfire = misfire(plan);
    add(misfire != json!({}), "misfire", misfire.clone());
    let overlap = overlap_name(plan.overlap);
    add(overlap != "skip", "overlap", json!(overlap));
    add(
        plan.buffer_limit.is_some_and(|limit| limit != 100),
        "buffer_limit",
        json!(plan.buffer_limit),
    );
    add(plan.group.is_some(), "group", json!(plan.group));
    add(plan.priority != 0, "priority", json!(plan.priority));
    let deadline = plan.start_deadline_seconds;
    add(deadline.is_some(), "start_deadline", json!(deadline.map(whole)));
    add(plan.context != json!({}), "context", plan.context.clone());
    let days = plan.retention_days.map(|days| format!("{days}d"));
    add(days.is_some(), "retention", json!(days));
    add(plan.ping.is_some(), "ping", json!(plan.ping.as_ref().map(PingPlan::in_module)));
    keys
}

fn misfire(plan: &Plan) -> Value {
    let misfire = plan.misfire;
    let mut keys = serde_json::Map::new();
    let catch_up = catch_up_name(misfire.catch_up);
    if catch_up != "latest" {
        keys.insert("catch_up".to_owned(), json!(catch_up));
    }
    if misfire.grace_seconds != 300 {
        keys.insert("grace".to_owned(), json!(whole(misfire.grace_seconds)));
    }
    if misfire.catch_up == CatchUp::All {
        keys.insert("max".to_owned(), json!(misfire.max));
        keys.insert("spacing".to_owned(), json!(whole(misfire.spacing_seconds)));
    }
    if misfire.window_seconds != 86_400 {
        keys.insert("window".to_owned(), json!(whole(misfire.window_seconds)));
    }
    Value::Object(keys)
}

fn task_of(plan: &TaskPlan) -> Value {
    let TaskPlan { name, action, timeout, kill_grace, retry, retry_on } = plan;
    let mut task = json!({ "target": target(action) });
    let mut add = |is_given: bool, key: &str, value: Value| {
        if is_given {
            task[key] = value;
        }
    };
    add(name != "main", "name", json!(name));
    add(*timeout != 300.0, "timeout", json!(fraction(*timeout)));
    add(*kill_grace != 10.0, "kill_grace", json!(fraction(*kill_grace)));
    if retry.max_attempts > 1 {
        let backoff = if retry.backoff == Backoff::Fixed { "fixed" } else { "exponential" };
        let value = json!({
            "max_attempts": retry.max_attempts,
            "backoff": backoff,
            "initial": fraction(retry.initial_seconds),
            "max": fraction(retry.max_seconds),
            "jitter": retry.jitter,
        });
        add(true, "retry", value);
    }
    add(!retry_on.is_empty(), "retry_on", json!(retry_on));
    task
}

fn target(action: &Action) -> Value {
    let pairs = |pairs: &[Pair]| {
        let pairs = pairs.iter().map(|pair| (pair.name.clone(), json!(pair.value)));
        Value::Object(pairs.collect())
    };
    let mut keys = serde_json::Map::new();
    let mut add = |is_given: bool, key: &str, value: Value| {
        if is_given {
            keys.insert(key.to_owned(), value);
        }
    };
    match action {
        Action::Http(http) => {
            add(http.method != "POST", "method", json!(http.method));
            add(true, "url", json!(http.url));
            add(!http.headers.is_empty(), "headers", pairs(&http.headers));
            let body = http.body.clone().map(Value::from).or_else(|| http.json.clone());
            add(body.is_some(), "body", json!(body));
            let expected = &http.expected_status;
            add(expected.is_some(), "expected_status", json!(expected));
            let (text, redirects) = (&http.expected_body, http.max_redirects);
            add(text.is_some(), "expected_body", json!(text));
            let redirects = redirects.filter(|most| *most != USUAL_REDIRECTS);
            add(redirects.is_some(), "max_redirects", json!(redirects));
            add(http.output == HttpAnswer::Merge, "output", json!("merge"));
            let certificate = &http.client_certificate;
            add(certificate.is_some(), "client_certificate", json!(certificate));
        }
        Action::Command(command) => {
            add(command.program.is_some(), "program", json!(command.program));
            add(command.args.is_some(), "args", json!(command.args));
            add(command.script.is_some(), "script", json!(command.script));
            add(!command.environment.is_empty(), "env", pairs(&command.environment));
            add(command.directory.is_some(), "directory", json!(command.directory));
            add(command.user.is_some(), "user", json!(command.user));
        }
        Action::Worker(worker) => {
            add(true, "queue", json!(worker.queue));
            add(true, "task", json!(worker.task));
            add(worker.input.is_some(), "input", json!(worker.input));
            add(!worker.tags.is_empty(), "tags", json!(worker.tags));
        }
        Action::Noop(noop) => add(!noop.note.is_empty(), "note", json!(noop.note)),
        Action::Publish(publish) => {
            return json!({ "publish": in_module(&json!(publish), "") });
        }
    }
    json!({ action.kind(): keys })
}

/// An event in the form of a module file: keys and constants in lower case, headers by name, without hidden values
/// and typed credentials.
fn in_module(value: &Value, key: &str) -> Value {
    if let (Some(text), "mode" | "sasl") = (value.as_str(), key) {
        return json!(text.to_ascii_lowercase());
    }
    if let (Some(pairs), "headers") = (value.as_array(), key) {
        let pairs = pairs.iter().filter(|pair| pair["value"] != MASK);
        let named = |pair: &Value| Some((pair["name"].as_str()?.to_owned(), pair["value"].clone()));
        return Value::Object(pairs.filter_map(named).collect());
    }
    match value.as_object() {
        Some(object) if key != "payload" => {
            let shown = object.iter().filter(|(key, value)| is_shown(key, value));
            shown.map(|(key, value)| (snake_case(key), in_module(value, key))).collect()
        }
        Some(_) | None => value.clone(),
    }
}

/// Whether the file may contain this value.
fn is_shown(key: &str, value: &Value) -> bool {
    let is_hidden = CREDENTIAL_KEYS.contains(&key)
        && value.as_str().is_some_and(|credential| !is_open(credential));
    *value != MASK && !is_hidden
}

/// Converts `maxLength` to `max_length`.
fn snake_case(key: &str) -> String {
    let mut snake = String::new();
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn whole(seconds: i64) -> String {
    format!("{seconds}s")
}

fn fraction(seconds: f64) -> String {
    format!("{}ms", (seconds * 1_000.0).round())
}

/// Writes keys and values, each on its own line. The content of a list is written as JSON, which is also valid YAML.
fn write(text: &mut String, keys: &[(&'static str, Value)], depth: usize) {
    for (key, value) in keys {
        line(text, key, value, depth);
    }
}

fn line(text: &mut String, key: &str, value: &Value, depth: usize) {
    let indent = " ".repeat(depth);
    match value.as_object() {
        Some(object) if !object.is_empty() => {
            text.push_str(&format!("{indent}{}:\n", scalar(&json!(key))));
            for (key, value) in object {
                line(text, key, value, depth + 2);
            }
        }
        Some(_) | None => {
            text.push_str(&format!("{indent}{}: {}\n", scalar(&json!(key)), scalar(value)))
        }
    }
}

/// Plain words unchanged, everything else as JSON.
fn scalar(value: &Value) -> String {
    const WORDS: [&str; 7] = ["true", "false", "null", "yes", "no", "on", "off"];
    match value.as_str() {
        Some(word)
            if word.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && word
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || "_-/".contains(letter))
                && !WORDS.contains(&word.to_ascii_lowercase().as_str()) =>
        {
            word.to_owned()
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_are_unquoted_and_the_rest_is_quoted() {
        let shown = ["Europe/Berlin", "0 9 * * *", "yes", "a: b"].map(|text| scalar(&json!(text)));
        assert_eq!(shown, ["Europe/Berlin", "\"0 9 * * *\"", "\"yes\"", "\"a: b\""]);
    }

    #[test]
    fn an_event_has_the_keys_of_a_module() {
        let event = json!({
            "to": { "redis": { "stream": "s", "maxLength": 9,
                "connection": { "servers": ["a"], "password": "***" } } },
            "event": { "mode": "BINARY", "payload": { "someKey": 1 },
                "headers": [{ "name": "x-a", "value": "1" }, { "name": "x-b", "value": "***" }] },
        });
        let wanted = json!({
            "to": { "redis": { "stream": "s", "max_length": 9, "connection": { "servers": ["a"] } } },
            "event": { "mode": "binary", "payload": { "someKey": 1 }, "headers": { "x-a": "1" } },
        });
        assert_eq!(in_module(&event, ""), wanted);
    }

    #[test]
    fn a_typed_credential_is_left_out_and_a_reference_is_not() {
        let to = json!({ "sqs": { "queueUrl": "q", "accessKeyId": "a", "secretAccessKey": "hush",
            "sessionToken": "{{ secrets.aws }}" } });
        let wanted = json!({ "sqs": { "queue_url": "q", "access_key_id": "a",
            "session_token": "{{ secrets.aws }}" } });
        assert_eq!(in_module(&to, ""), wanted);
        let connection = json!({ "connection": { "servers": ["a"], "password": "hush" } });
        assert_eq!(in_module(&connection, ""), json!({ "connection": { "servers": ["a"] } }));
    }

    #[test]
    fn nested_values_are_indented_and_a_list_is_json() {
        let mut text = String::new();
        let task = json!({ "target": { "command": {} } });
        write(&mut text, &[("task", task), ("when", json!(["@daily"]))], 4);
        let wanted = "    task:\n      target:\n        command: {}\n    when: [\"@daily\"]\n";
        assert_eq!(text, wanted);
    }
}
