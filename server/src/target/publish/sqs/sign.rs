//! AWS Signature Version 4.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use ring::{digest, hmac};
use url::Url;

/// The credentials for signing.
pub(super) struct SigningKeys<'a> {
    pub(super) id: &'a str,
    pub(super) secret: &'a str,
    pub(super) token: Option<&'a str>,
    pub(super) region: &'a str,
}

/// The headers of a `POST` to the root of a server, including the signature's headers.
pub(super) fn sign(
    endpoint: &Url,
    action: &str,
    content_type: &str,
    body: &[u8],
    keys: &SigningKeys<'_>,
    now: DateTime<Utc>,
) -> Vec<(&'static str, String)> {
    let host = endpoint.host_str().unwrap_or_default();
    let host = endpoint.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let at = now.format("%Y%m%dT%H%M%SZ").to_string();
    let day = &at[..8];
    // The signature requires the headers in alphabetical order.
    let mut headers =
        vec![("content-type", content_type.to_owned()), ("host", host), ("x-amz-date", at.clone())];
    if let Some(token) = keys.token {
        headers.push(("x-amz-security-token", token.to_owned()));
    }
    headers.push(("x-amz-target", action.to_owned()));
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let mut request = "POST\n/\n\n".to_owned();
    for (name, value) in &headers {
        let _ = writeln!(request, "{name}:{value}");
    }
    let _ = write!(request, "\n{names}\n{}", hash(body));
    let scope = format!("{day}/{}/sqs/aws4_request", keys.region);
    let text = format!("AWS4-HMAC-SHA256\n{at}\n{scope}\n{}", hash(request.as_bytes()));
    let step = |key: &[u8], text: &str| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
    };
    let first = format!("AWS4{}", keys.secret);
    let key = [day, keys.region, "sqs", "aws4_request"]
        .iter()
        .fold(first.into_bytes(), |key, part| step(&key, part).as_ref().to_vec());
    let signature = hex(step(&key, &text).as_ref());
    let id = keys.id;
    let signed = format!(
        "AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}"
    );
    headers.push(("authorization", signed));
    headers
}

fn hash(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_signed_with_the_rest() {
        let endpoint = Url::parse("https://sqs.eu-central-1.amazonaws.com/").unwrap();
        let keys =
            SigningKeys { id: "AKID", secret: "hush", token: Some("t"), region: "eu-central-1" };
        let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let headers = sign(&endpoint, "AmazonSQS.SendMessage", "a/b", b"{}", &keys, now);
        let (_, authorization) = headers.last().unwrap();
        let start = "AWS4-HMAC-SHA256 Credential=AKID/20231114/eu-central-1/sqs/aws4_request, \
                     SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, \
                     Signature=";
        assert!(authorization.starts_with(start), "{authorization}");
        assert!(!authorization.contains("hush"));
    }
}
