//! The properties of an SQS queue that its URL shows.

use url::Url;

use super::definition::Sqs;

/// The queue's region: as the definition states it, or from the URL.
pub(super) fn region(sqs: &Sqs) -> Option<String> {
    if let Some(region) = sqs.region.as_deref().filter(|region| is_region(region)) {
        return Some(region.to_owned());
    }
    let url = Url::parse(&sqs.queue_url).ok()?;
    let host = url.host_str()?.strip_suffix(".amazonaws.com")?;
    // The host begins with `sqs.eu-central-1` or `eu-central-1.queue`.
    let region = host.strip_suffix(".queue").or_else(|| host.rsplit_once("sqs.").map(|(_, r)| r));
    region.filter(|region| is_region(region)).map(str::to_owned)
}

fn is_region(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether the queue preserves order.
pub(super) fn is_fifo(sqs: &Sqs) -> bool {
    sqs.queue_url.ends_with(".fifo")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(queue_url: &str) -> Sqs {
        Sqs {
            queue_url: queue_url.to_owned(),
            region: None,
            access_key_id: "a".to_owned(),
            secret_access_key: "b".into(),
            session_token: None,
            group: None,
        }
    }

    #[test]
    fn the_region_is_in_the_address_or_given_separately() {
        for (url, found) in [
            ("https://sqs.eu-central-1.amazonaws.com/1/a", Some("eu-central-1")),
            ("https://eu-west-1.queue.amazonaws.com/1/a", Some("eu-west-1")),
            ("https://vpce-1.sqs.us-east-1.vpce.amazonaws.com/1/a", None),
            ("http://127.0.0.1:5000/1/a", None),
        ] {
            assert_eq!(region(&queue(url)).as_deref(), found, "{url}");
        }
        let named = Sqs { region: Some("us-west-2".to_owned()), ..queue("http://localhost/1/a") };
        assert_eq!(region(&named).as_deref(), Some("us-west-2"));
    }
}
