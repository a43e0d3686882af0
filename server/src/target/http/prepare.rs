use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::{
    definition::{Http, MAX_REDIRECTS, Method},
    identity::ClientCertificate,
};
use crate::target::{SecretText, TargetError, egress::EgressGuard, signature::Signer};

/// A validated definition.
pub(super) struct Prepared<'a> {
    pub(super) definition: &'a Http,
    pub(super) url: Url,
    pub(super) method: reqwest::Method,
    /// The headers of the definition, marked as sensitive.
    pub(super) headers: HeaderMap,
    pub(super) signer: Option<Signer>,
    /// The client certificate, presented only to the definition's own origin.
    pub(super) identity: Option<ClientCertificate>,
}

const MAX_URL_BYTES: usize = 8 * 1024;
const MAX_BODY_BYTES: usize = 256 * 1024;
const MAX_HEADERS: usize = 64;

/// Headers that Carillon or the protocol sets, so that a second value would contradict the first.
const RESERVED: [&str; 13] = [
    "connection",
    "content-length",
    "host",
    "idempotency-key",
    "keep-alive",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
];

/// Validates a definition, or names the wrong field.
pub(super) fn prepare<'a>(
    definition: &'a Http,
    egress: &EgressGuard,
) -> Result<Prepared<'a>, TargetError> {
    if definition.max_redirects > MAX_REDIRECTS {
        return Err(TargetError::invalid(
            "http.max_redirects",
            format!("{} is too many", definition.max_redirects),
            format!("at most {MAX_REDIRECTS} redirects are followed"),
        ));
    }
    check_body(definition)?;
    Ok(Prepared {
        definition,
        url: url(&definition.url, egress)?,
        method: method(definition.method),
        headers: headers(definition)?,
        signer: definition.signing_secret.as_ref().map(signer).transpose()?,
        identity: identity(definition)?,
    })
}

fn url(text: &str, egress: &EgressGuard) -> Result<Url, TargetError> {
    const FIELD: &str = "http.url";
    if text.len() > MAX_URL_BYTES {
        let problem = format!("the URL has {} bytes", text.len());
        return Err(TargetError::invalid(FIELD, problem, format!("at most {MAX_URL_BYTES} fit")));
    }
    let url = Url::parse(text).map_err(|error| {
        TargetError::invalid(FIELD, format!("not a URL: {error}"), "write https://host/path")
    })?;
    egress.admit(&url).map_err(|refused| {
        TargetError::invalid(FIELD, format!("requests may not go there: {refused}"), refused.help())
    })?;
    Ok(url)
}

fn method(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Head => reqwest::Method::HEAD,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
        Method::Options => reqwest::Method::OPTIONS,
    }
}

fn headers(definition: &Http) -> Result<HeaderMap, TargetError> {
    if definition.headers.len() > MAX_HEADERS {
        let problem = format!("{} headers are given", definition.headers.len());
        let help = format!("at most {MAX_HEADERS} are sent");
        return Err(TargetError::invalid("http.headers", problem, help));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in &definition.headers {
        let (name, value) = header(name, value)?;
        if headers.insert(&name, value).is_some() {
            let help = "write it once, in any case";
            return Err(TargetError::invalid(field(name.as_str()), "is given twice", help));
        }
    }
    Ok(headers)
}

fn field(header: &str) -> String {
    format!("http.headers.{header}")
}

fn header(name: &str, value: &SecretText) -> Result<(HeaderName, HeaderValue), TargetError> {
    let Ok(parsed) = HeaderName::try_from(name) else {
        let shown: String = name.chars().take(64).collect();
        let problem = format!("{shown:?} is not a header name");
        let help = "use letters, digits and hyphens";
        return Err(TargetError::invalid("http.headers", problem, help));
    };
    if RESERVED.contains(&parsed.as_str()) || parsed.as_str().starts_with("proxy-") {
        return Err(TargetError::invalid(field(name), "is set by Carillon", "leave it out"));
    }
    // The message leaves the value out, because it may be a secret.
    let mut value = HeaderValue::try_from(value.expose()).map_err(|_| {
        let problem = "its value has a character that a header cannot hold";
        TargetError::invalid(field(name), problem, "use printable ASCII, without line ends")
    })?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

fn signer(secret: &SecretText) -> Result<Signer, TargetError> {
    Signer::new(secret).map_err(|reason| {
        TargetError::invalid(
            "http.signing_secret",
            format!("not a signing secret: {reason}"),
            "write whsec_ and 24 to 64 random bytes in base64",
        )
    })
}

fn identity(definition: &Http) -> Result<Option<ClientCertificate>, TargetError> {
    let given = definition.client_certificate.as_ref().filter(|pem| !pem.expose().is_empty());
    let identity = given.map(|pem| {
        ClientCertificate::from_pem(pem.expose()).map_err(|problem| {
            TargetError::invalid(
                "http.client_certificate",
                problem,
                "give the secret the certificate, those between it and its authority, and its \
                 private key, in PEM",
            )
        })
    });
    identity.transpose()
}

fn check_body(definition: &Http) -> Result<(), TargetError> {
    let Some(body) = &definition.body else { return Ok(()) };
    let bytes = body.as_str().map_or_else(|| body.to_string().len(), str::len);
    if bytes > MAX_BODY_BYTES {
        let problem = format!("the body has {bytes} bytes");
        let help = format!("at most {MAX_BODY_BYTES} are sent");
        return Err(TargetError::invalid("http.body", problem, help));
    }
    Ok(())
}

#[cfg(test)]
#[path = "prepare_tests.rs"]
mod tests;
