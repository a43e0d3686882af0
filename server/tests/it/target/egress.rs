use carillon::target::Policy;
use serde_json::json;

use super::support::{executor, failed, open, receiver, run, succeeded, target};

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused_before_it_is_connected_to() {
    let (address, mut received) = receiver().await;
    let port = address.port();
    let definition = json!({"http": {"url": format!("http://localhost:{port}/")}});

    // The name does not reveal its address: it is accepted at first, and refused once it is
    // resolved.
    executor(Policy::default()).check(&target(definition.clone())).unwrap();
    let (message, _) = failed(run(Policy::default(), definition.clone()).await.0);
    let start = format!(
        "refused to connect to localhost:{port}: localhost leads to where requests may not go: "
    );
    assert!(message.starts_with(&start) && message.contains("is a loopback address"), "{message}");
    assert!(received.try_recv().is_err());

    succeeded(run(open(), definition).await.0);
    assert_eq!(received.recv().await.unwrap().header("host"), Some(&*format!("localhost:{port}")));
}

#[tokio::test]
async fn an_address_of_this_machine_is_refused_when_saved_and_when_sent() {
    let (address, mut received) = receiver().await;
    let port = address.port();
    for host in ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]"] {
        let definition = json!({"http": {"url": format!("http://{host}:{port}/")}});
        let refused = executor(Policy::default()).check(&target(definition.clone())).unwrap_err();
        assert_eq!(refused.field(), Some("http.url"), "{host}");
        let (message, _) = failed(run(Policy::default(), definition).await.0);
        assert_eq!(message, refused.to_string());
        assert!(
            message.ends_with(
                "and the configuration does not allow private addresses; set \
                 `egress.private_addresses = true` if that network may be reached"
            ),
            "{host}: {message}"
        );
    }
    assert!(received.try_recv().is_err());
}

#[tokio::test]
async fn metadata_addresses_are_refused_whatever_the_policy_says() {
    for host in ["169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "[64:ff9b::a9fe:a9fe]"] {
        let definition = json!({"http": {"url": format!("http://{host}/")}});
        let refused = executor(open()).check(&target(definition)).unwrap_err();
        assert!(refused.to_string().contains("which is never reached"), "{refused}");
    }
}
