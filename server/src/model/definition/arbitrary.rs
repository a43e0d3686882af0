//! Any definition, for property tests: each kind of target, each field, and texts that are hard to
//! write down. Durations are those that the API's inputs can hold; nothing else is checked.
//!
//! Each strategy is boxed, because proptest builds a value tree that holds every alternative by
//! value, each with its own random number generator. Unboxed, the tree of a definition would not
//! fit on a test thread's stack.

use std::collections::BTreeMap;

use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
};
use serde_json::{Value, json};
use timetable::retry;

use super::{Condition, Definition, Task, When, validation::DAY_MS};
use crate::target::{
    Answers, Broker, BrokerConnection, CloudEvent, CommandTarget, ContentMode, Http, Kafka, Method,
    Nats, Noop, Publish, Rabbitmq, Redis, Sasl, SecretText, Sqs, Target, WorkerTarget,
};

const TEXTS: &[&str] = &[
    "",
    " ",
    "yes",
    "null",
    "~",
    "1",
    "1e3",
    "0x1f",
    "2026-01-01",
    "*a",
    "a: b",
    "a #b",
    "- a",
    "'",
    "\"",
    "{",
    "|",
    "a\nb",
    "a\n",
    "\na",
    " a\n  b\n",
    "a\n\n\n",
    "a\r\nb",
    "\ta",
    "é",
    "\u{85}",
    "😀",
    "\\n",
    "<<",
    "---",
    "***",
    "{{ context.a }}",
    "{{ secrets.a }}",
    "#!/bin/sh\nset -e\n\techo '%s'\n",
];

/// Any definition.
pub(crate) fn any_definition() -> impl Strategy<Value = Definition> {
    let limits = (option::of(0..=30 * DAY_MS), any::<i32>(), vec(text(), 0..3));
    (vec(task(), 0..4), limits).prop_map(|(tasks, (timeout_ms, max_parallel, runs_on))| {
        Definition { tasks, timeout_ms, max_parallel: max_parallel.into(), runs_on }
    })
}

fn text() -> BoxedStrategy<String> {
    prop_oneof![select(TEXTS).prop_map(str::to_owned), "[ -~\\n]{0,40}"].boxed()
}

fn name() -> BoxedStrategy<String> {
    "[a-zA-Z][a-zA-Z0-9_-]{0,12}".boxed()
}

fn secret() -> BoxedStrategy<SecretText> {
    text().prop_map(SecretText::new).boxed()
}

fn secrets() -> BoxedStrategy<BTreeMap<String, SecretText>> {
    btree_map(name(), secret(), 0..3).boxed()
}

/// JSON that a user may give; never null, which means the same as an absent value.
fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        select(vec![0.5, -1.25]).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    let any = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(option::of(inner.clone()), 0..4).prop_map(|items| json!(items)),
            btree_map(text(), option::of(inner), 0..4).prop_map(|members| json!(members)),
        ]
    });
    any.boxed()
}

fn task() -> BoxedStrategy<Task> {
    let conditions = select(vec!["timeout", "failure", "error", "exit 70-79", "status 503"]);
    let conditions = vec(conditions.prop_map(|text| text.parse::<Condition>().unwrap()), 0..3);
    let when = select(vec![When::Success, When::Failure, When::Always]);
    let graph = (vec(name(), 0..3), when, any::<bool>());
    let limits = (0..=7 * DAY_MS, 0..=DAY_MS / 24, policy(), conditions);
    let any = (name(), target(), graph, limits).prop_map(|(name, target, graph, limits)| {
        let (needs, when, allow_failure) = graph;
        let (timeout_ms, kill_grace_ms, retry, retry_on) = limits;
        Task {
            name,
            target,
            timeout_ms,
            kill_grace_ms,
            retry,
            retry_on,
            needs,
            when,
            allow_failure,
        }
    });
    any.boxed()
}

fn policy() -> BoxedStrategy<retry::Policy> {
    let backoff = select(vec![retry::Backoff::Fixed, retry::Backoff::Exponential]);
    let jitter = select(vec![0.0, 0.2, 0.125, 1.0]);
    let any = (1..=100, backoff, 0..=DAY_MS, 0..=DAY_MS, jitter).prop_map(
        |(max_attempts, backoff, initial_ms, max_ms, jitter)| retry::Policy {
            max_attempts,
            backoff,
            initial_ms,
            max_ms,
            jitter,
        },
    );
    prop_oneof![Just(retry::Policy::default()), any].boxed()
}

fn target() -> BoxedStrategy<Target> {
    prop_oneof![
        http().prop_map(Target::Http),
        command().prop_map(Target::Command),
        (broker(), event())
            .prop_map(|(to, event)| Target::Publish(Box::new(Publish { to, event }))),
        (text(), text(), option::of(value()), vec(text(), 0..3)).prop_map(
            |(queue, task, input, tags)| Target::Worker(WorkerTarget { queue, task, input, tags })
        ),
        text().prop_map(|note| Target::Noop(Noop { note })),
    ]
    .boxed()
}

fn http() -> BoxedStrategy<Http> {
    let method = select(vec![Method::Get, Method::Post, Method::Options]);
    let statuses = select(vec![vec!["200-299"], vec!["200", "202-204"]]);
    let request = (method, secrets(), option::of(value()), option::of(secret()));
    let answer = (statuses, option::of(text()), 0..=5_u8, any::<bool>());
    let any = (request, answer, option::of(secret()));
    let any = any.prop_map(|(request, answer, client_certificate)| {
        let (method, headers, body, signing_secret) = request;
        let (statuses, expected_body, max_redirects, is_merged) = answer;
        Http {
            url: "https://example.org/a".to_owned(),
            method,
            headers,
            body,
            expected_status: serde_json::from_value(json!(statuses)).unwrap(),
            expected_body,
            max_redirects,
            output: if is_merged { Answers::Merge } else { Answers::Keep },
            signing_secret,
            client_certificate,
        }
    });
    any.boxed()
}

fn command() -> BoxedStrategy<CommandTarget> {
    let program = (option::of(text()), vec(text(), 0..3), option::of(text()));
    let any = (program, secrets(), option::of(text()), option::of(text())).prop_map(
        |((program, args, script), env, directory, user)| CommandTarget {
            program,
            args,
            script,
            env,
            directory,
            user,
        },
    );
    any.boxed()
}

fn connection() -> BoxedStrategy<BrokerConnection> {
    let any = (vec(text(), 0..3), any::<bool>(), option::of(text()), option::of(secret()));
    any.prop_map(|(servers, tls, username, password)| BrokerConnection {
        servers,
        tls,
        username,
        password,
    })
    .boxed()
}

fn broker() -> BoxedStrategy<Broker> {
    let sasl = select(vec![Sasl::Plain, Sasl::ScramSha256, Sasl::ScramSha512]);
    let place = (connection(), text(), option::of(text()));
    let keys = (secret(), option::of(secret()), option::of(text()), option::of(text()));
    prop_oneof![
        (place, sasl, option::of(text())).prop_map(
            |((connection, topic, key), sasl, partition)| {
                Broker::Kafka(Kafka { connection, sasl, topic, key, partition })
            }
        ),
        (connection(), text(), option::of(text())).prop_map(|(connection, subject, stream)| {
            Broker::Nats(Nats { connection, subject, stream })
        }),
        (connection(), text(), text(), text()).prop_map(
            |(connection, vhost, exchange, routing_key)| {
                Broker::Rabbitmq(Rabbitmq { connection, vhost, exchange, routing_key })
            }
        ),
        (connection(), any::<u16>(), text(), option::of(any::<u32>())).prop_map(
            |(connection, database, stream, max_length)| {
                Broker::Redis(Redis { connection, database, stream, max_length })
            }
        ),
        (text(), text(), keys).prop_map(|(queue_url, access_key_id, keys)| {
            let (secret_access_key, session_token, region, group) = keys;
            Broker::Sqs(Sqs {
                queue_url,
                region,
                access_key_id,
                secret_access_key,
                session_token,
                group,
            })
        }),
    ]
    .boxed()
}

fn event() -> BoxedStrategy<CloudEvent> {
    let mode = select(vec![ContentMode::Structured, ContentMode::Binary]);
    let names = (option::of(text()), option::of(text()), option::of(text()));
    let any = (mode, names, option::of(value()), secrets());
    any.prop_map(|(mode, names, payload, headers)| {
        let (kind, source, subject) = names;
        CloudEvent { mode, kind, source, subject, payload, headers }
    })
    .boxed()
}
