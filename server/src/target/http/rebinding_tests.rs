//! Tests of DNS rebinding: the owner of a name returns a different address each time.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};
use uuid::Uuid;

use super::*;

/// An address that the policy considers public, but that no host can have (RFC 9602).
const NOWHERE: &str = "5f00::1";
const HERE: &str = "127.0.0.1";
/// An address that also leads to this machine, and must never be reached.
const UNSPECIFIED: &str = "0.0.0.0";

/// A resolver that returns the given answers in order and repeats the last one, and how often it
/// was queried.
fn rebinding(egress: EgressGuard, answers: &[&[&str]]) -> (Resolver, Arc<AtomicUsize>) {
    let answers: Vec<Vec<SocketAddr>> = answers
        .iter()
        .map(|answer| {
            let parsed = answer.iter().map(|text| text.parse::<IpAddr>().unwrap());
            parsed.map(|address| SocketAddr::new(address, 0)).collect()
        })
        .collect();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let resolver = Resolver::asking(egress, move |_| {
        let turn = counted.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(answers[turn.min(answers.len() - 1)].clone())))
    });
    (resolver, asked)
}

/// Listens on all addresses of this machine, responds to each request with `answer`, and reports
/// each one. Returns its port.
async fn listener(answer: String) -> (u16, mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind((UNSPECIFIED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (came, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // Every connection counts, whatever its client sends.
            let _ = came.send(());
            let mut head = [0; 4096];
            if stream.read(&mut head).await.is_ok() {
                // Writing fails if the client is gone.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        }
    });
    (port, received)
}

const DONE: &str = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";

/// Makes one attempt, with a resolver under that policy.
async fn attempt(private: bool, answers: &[&[&str]], port: u16) -> (AttemptOutcome, usize) {
    let (resolver, asked) = rebinding(EgressGuard::new(private), answers);
    let policy = Policy { private_addresses: private, ..Policy::default() };
    let sender = Sender::resolving(resolver, &policy, Clock::system()).unwrap();
    let definition = json!({ "url": format!("http://rebinding.test:{port}/") });
    let definition: Http = serde_json::from_value(definition).unwrap();
    let invocation = Invocation {
        run_id: Uuid::nil(),
        attempt: 1,
        task: "main".to_owned(),
        namespace: "default".to_owned(),
        namespace_id: Uuid::nil(),
        priority: 0,
        schedule: None,
        schedule_id: None,
        schedule_version: None,
        scheduled_at: None,
        idempotency_key: "key".to_owned(),
        traceparent: None,
        context: json!({}),
        // On a network that drops packets to the unreachable address, the test takes this long.
        timeout: Duration::from_secs(10),
        kill_grace: Duration::ZERO,
    };
    let (lines, _) = mpsc::channel(100);
    let log = AttemptLog::new(&sender.clock, lines);
    let outcome = sender.execute(&definition, &invocation, &log).await;
    (outcome, asked.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_name_that_changes_its_mind_reaches_nothing() {
    let (port, mut received) = listener(DONE.to_owned()).await;
    // The name leads to a public address when it is checked, and to this machine when the client
    // connects; or to both at once.
    for answers in [&[&[NOWHERE][..], &[HERE][..]][..], &[&[HERE, NOWHERE][..]][..]] {
        let (outcome, asked) = attempt(false, answers, port).await;
        let failed =
            matches!(outcome, AttemptOutcome::Failed { .. } | AttemptOutcome::TimedOut { .. });
        assert!(failed, "{answers:?}: {outcome:?}");
        assert_eq!(asked, 1, "what is judged is connected to: {answers:?}");
    }
    // The name leads to this machine in the end, but each address is checked.
    let (outcome, _) = attempt(false, &[&[HERE]], port).await;
    let AttemptOutcome::Failed { message, .. } = outcome else { panic!("{outcome:?}") };
    assert!(message.contains("leads to where requests may not go: 127.0.0.1 is"), "{message}");
    assert!(received.try_recv().is_err(), "somebody came");

    // The listener is reached if the policy allows private addresses.
    let (outcome, _) = attempt(true, &[&[HERE]], port).await;
    assert!(matches!(outcome, AttemptOutcome::Succeeded { .. }), "{outcome:?}");
    assert_eq!(received.recv().await, Some(()));
}

#[tokio::test]
async fn a_redirect_by_a_name_that_has_changed_its_mind_is_refused() {
    let (behind, mut received) = listener(DONE.to_owned()).await;
    let (port, _) = listener(format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://rebinding.test:{behind}/\r\n\
         content-length: 0\r\nconnection: close\r\n\r\n"
    ))
    .await;
    let (outcome, asked) = attempt(true, &[&[HERE], &[UNSPECIFIED]], port).await;
    let AttemptOutcome::Failed { message, .. } = outcome else { panic!("{outcome:?}") };
    let refused = "rebinding.test leads to where requests may not go: 0.0.0.0 is an unspecified \
                   address";
    assert!(message.contains(refused), "{message}");
    assert_eq!(asked, 2);
    assert!(received.try_recv().is_err(), "somebody came");
}
