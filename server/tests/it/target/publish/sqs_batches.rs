//! Events for the same queue, which are sent in batches.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{
    super::support::{executor, failed, open, serve, succeeded, target},
    faults::{EVENTS, Load, assert_nothing_lost, attempt, is_waited_for_within_the_timeout},
    sqs::{ask, definition, queue, received, server},
};

const LIMIT: Duration = Duration::from_secs(20);

/// A call: its kind, and the number of messages.
#[derive(Debug)]
struct Call {
    action: String,
    messages: usize,
    bytes: usize,
}

type Calls = Arc<Mutex<Vec<Call>>>;

/// A server that accepts every message, except those with `bad` in their text.
async fn picky() -> (String, Calls) {
    let calls = Calls::default();
    let router = Router::new().route("/", post(answer)).with_state(calls.clone());
    (format!("http://{}/1/orders", serve(router).await), calls)
}

/// A server that asks its clients to slow down.
async fn busy() -> (String, Calls) {
    let calls = Calls::default();
    let refuse = async |calls: State<Calls>, headers: HeaderMap, body: Bytes| {
        answer(calls, headers, body).await;
        let kind = "com.amazonaws.sqs#RequestThrottled";
        (StatusCode::BAD_REQUEST, json!({ "__type": kind, "message": "slow down" }).to_string())
    };
    let router = Router::new().route("/", post(refuse)).with_state(calls.clone());
    (format!("http://{}/1/orders", serve(router).await), calls)
}

async fn answer(State(calls): State<Calls>, headers: HeaderMap, body: Bytes) -> String {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let action = headers["x-amz-target"].to_str().unwrap().to_owned();
    let entries = body["Entries"].as_array().cloned();
    let messages = entries.clone().unwrap_or_else(|| vec![body.clone()]);
    let size = |message: &Value| message["MessageBody"].as_str().unwrap().len();
    let (messages, bytes) = (messages.len(), messages.iter().map(size).sum());
    calls.lock().unwrap().push(Call { action, messages, bytes });
    let Some(entries) = entries else {
        return json!({ "MessageId": "alone" }).to_string();
    };
    let (mut successful, mut refused) = (Vec::new(), Vec::new());
    for entry in &entries {
        let id = &entry["Id"];
        if entry["MessageBody"].as_str().unwrap().contains("bad") {
            let (code, message) = ("InvalidMessageContents", "not this one");
            refused
                .push(json!({ "Id": id, "SenderFault": true, "Code": code, "Message": message }));
        } else {
            let number = entry["MessageAttributes"]["x-number"]["StringValue"].as_str();
            successful.push(json!({ "Id": id, "MessageId": number.unwrap_or("none") }));
        }
    }
    // The answers come in the reverse order of the messages.
    successful.reverse();
    json!({ "Successful": successful, "Failed": refused }).to_string()
}

/// A queue whose server fails at every other call: before it has stored the messages, or after.
#[derive(Default)]
struct Faulty {
    calls: AtomicUsize,
    /// The ids of the stored events.
    stored: Mutex<Vec<String>>,
}

impl Faulty {
    fn take(&self, body: &Bytes) -> (StatusCode, String) {
        let failure = |status: StatusCode, kind: &str| {
            (status, json!({ "__type": format!("com.amazonaws.sqs#{kind}") }).to_string())
        };
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if call % 4 == 1 {
            return failure(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable");
        }
        let body: Value = serde_json::from_slice(body).unwrap();
        let entries = body["Entries"].as_array().cloned();
        let messages = entries.clone().unwrap_or_else(|| vec![body.clone()]);
        let id = |message: &Value| {
            let event = message["MessageBody"].as_str().unwrap();
            let event: Value = serde_json::from_str(event).unwrap();
            event["id"].as_str().unwrap().to_owned()
        };
        self.stored.lock().unwrap().extend(messages.iter().map(id));
        if call % 4 == 3 {
            return failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalFailure");
        }
        let sent = |entry: &Value| json!({ "Id": entry["Id"], "MessageId": "stored" });
        let answer = match entries {
            Some(entries) => {
                let successful: Vec<Value> = entries.iter().map(sent).collect();
                json!({ "Successful": successful, "Failed": [] })
            }
            None => json!({ "MessageId": "stored" }),
        };
        (StatusCode::OK, answer.to_string())
    }
}

#[tokio::test]
async fn nothing_is_lost_by_a_server_full_of_faults_and_doubled_only_by_attempts() {
    let faulty = Arc::new(Faulty::default());
    let take = async |State(faulty): State<Arc<Faulty>>, body: Bytes| faulty.take(&body);
    let router = Router::new().route("/", post(take)).with_state(faulty.clone());
    let queue = format!("http://{}/1/orders", serve(router).await);
    let attempts = Load::start(definition(&queue, json!({})), LIMIT).finish().await;
    let stored = faulty.stored.lock().unwrap();
    assert_nothing_lost(&attempts, &stored);
    assert!(stored.len() > EVENTS, "no answer was lost");
}

#[tokio::test]
async fn each_event_of_a_call_has_its_own_end() {
    let (queue, calls) = picky().await;
    let executor = executor(open());
    let targets: Vec<_> = (0..100)
        .map(|number| {
            let payload = if number % 7 == 0 { "bad" } else { "good" };
            let headers = json!({ "x-number": number.to_string() });
            target(definition(&queue, json!({ "payload": payload, "headers": headers })))
        })
        .collect();
    let all = targets.iter().map(|target| attempt(&executor, target, "a-1", 1, LIMIT));
    let mut alone = 0;
    for (number, outcome) in join_all(all).await.into_iter().enumerate() {
        if matches!(&outcome, carillon::target::AttemptOutcome::Succeeded { output }
            if output["message_id"] == "alone")
        {
            alone += 1;
        } else if number % 7 == 0 {
            let (message, _) = failed(outcome);
            assert_eq!(message, "127.0.0.1 refused the event: InvalidMessageContents not this one");
        } else {
            assert_eq!(succeeded(outcome)["message_id"], number.to_string());
        }
    }
    let calls = calls.lock().unwrap();
    assert_eq!(calls.iter().map(|call| call.messages).sum::<usize>(), 100);
    assert!(calls.iter().all(|call| call.messages <= 10), "{calls:?}");
    let together = calls.iter().filter(|call| call.action == "AmazonSQS.SendMessageBatch");
    assert_eq!(calls.len() - together.count(), alone);
    assert!(calls.len() < 60, "{calls:?}");
}

#[tokio::test]
async fn no_call_is_larger_than_a_queue_takes() {
    let (queue, calls) = picky().await;
    let executor = executor(open());
    let target = target(definition(&queue, json!({ "payload": "x".repeat(250_000) })));
    let all = (0..60).map(|_| attempt(&executor, &target, "a-1", 1, LIMIT));
    join_all(all).await.into_iter().for_each(|outcome| drop(succeeded(outcome)));
    let calls = calls.lock().unwrap();
    assert!(calls.iter().all(|call| call.bytes <= 1024 * 1024), "{calls:?}");
    assert!(calls.iter().any(|call| call.messages == 4), "{calls:?}");
}

#[tokio::test]
async fn a_server_that_is_asked_too_often_is_not_asked_for_each_event_instead() {
    let (queue, calls) = busy().await;
    let (executor, target) = (executor(open()), target(definition(&queue, json!({}))));
    let all = (0..100).map(|_| attempt(&executor, &target, "a-1", 1, LIMIT));
    for outcome in join_all(all).await {
        let (message, _) = failed(outcome);
        assert_eq!(message, "127.0.0.1 answered 400 Bad Request: RequestThrottled slow down");
    }
    let calls = calls.lock().unwrap();
    assert_eq!(calls.iter().map(|call| call.messages).sum::<usize>(), 100);
    assert!(calls.len() < 60, "{calls:?}");
}

#[tokio::test]
async fn events_that_are_sent_together_are_in_the_queue_once_each() {
    for name in ["orders", "orders.fifo"] {
        let sqs = server().await;
        let queue = queue(&sqs, name, json!({})).await;
        let (executor, target) = (executor(open()), target(definition(&queue, json!({}))));
        let ids: Vec<String> = (0..100).map(|number| format!("event-{number}")).collect();
        let all = ids.iter().map(|id| attempt(&executor, &target, id, 1, LIMIT));
        let outcomes = join_all(all).await;
        let shown: BTreeSet<String> = outcomes
            .into_iter()
            .map(|outcome| succeeded(outcome)["message_id"].as_str().unwrap().to_owned())
            .collect();
        let asked = json!({ "QueueUrl": queue, "AttributeNames": ["All"] });
        let found = ask(&sqs, "GetQueueAttributes", asked).await;
        assert_eq!(found["Attributes"]["ApproximateNumberOfMessages"], "100", "{name}");
        assert_eq!(shown.len(), 100, "{name}");
        let some = received(&sqs, &queue).await;
        assert!(some.iter().all(|one| shown.contains(one["MessageId"].as_str().unwrap())));
    }
}

#[tokio::test]
async fn an_event_that_is_too_large_for_the_queue_takes_none_of_the_others_with_it() {
    let sqs = server().await;
    let queue = queue(&sqs, "orders", json!({ "MaximumMessageSize": "4096" })).await;
    let executor = executor(open());
    let small = target(definition(&queue, json!({})));
    let large = target(definition(&queue, json!({ "payload": "x".repeat(5_000) })));
    let all = (0..50).map(|number| {
        let target = if number % 10 == 3 { &large } else { &small };
        let executor = &executor;
        async move { attempt(executor, target, &format!("event-{number}"), 1, LIMIT).await }
    });
    for (number, outcome) in join_all(all).await.into_iter().enumerate() {
        if number % 10 == 3 {
            let (message, _) = failed(outcome);
            assert!(message.contains("shorter than 4096 bytes"), "{message}");
        } else {
            succeeded(outcome);
        }
    }
    let asked = json!({ "QueueUrl": queue, "AttributeNames": ["All"] });
    let found = ask(&sqs, "GetQueueAttributes", asked).await;
    assert_eq!(found["Attributes"]["ApproximateNumberOfMessages"], "45");
}

#[tokio::test]
async fn events_reach_a_server_that_was_away_under_load() {
    let mut sqs = server().await;
    let address = queue(&sqs, "orders", json!({})).await;
    let mut load = Load::start(definition(&address, json!({})), LIMIT);
    load.reach(EVENTS / 4).await;
    sqs.kill();
    sqs.go_on().await;
    // This server has no stored data: neither the messages nor the queue. So it acknowledges nothing
    // until it has the queue, and stores all that it acknowledges then.
    let before = load.count();
    queue(&sqs, "orders", json!({})).await;
    let attempts = load.finish().await;
    assert_eq!(attempts.len(), EVENTS);
    assert!(attempts.values().any(|attempts| *attempts > 1), "no fault was noticed");
    let asked = json!({ "QueueUrl": address, "AttributeNames": ["All"] });
    let found = ask(&sqs, "GetQueueAttributes", asked).await;
    let count = found["Attributes"]["ApproximateNumberOfMessages"].as_str().unwrap();
    let after = EVENTS - before;
    assert!(after > 0, "all events were published before");
    assert!(count.parse::<usize>().unwrap() >= after, "{found}, of {after}");
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_within_the_timeout() {
    let sqs = server().await;
    let queue = queue(&sqs, "orders", json!({})).await;
    let report = is_waited_for_within_the_timeout(&sqs, definition(&queue, json!({}))).await;
    assert!(!report.is_open, "{report:?}");
    let (_, why) = report.failing.unwrap();
    assert!(why.ends_with(" did not acknowledge an event"), "{why}");
}
