use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::expected::StatusSet;
use crate::target::SecretText;

/// A request to send.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// The address: `http://` or `https://`, without a user name or password.
    pub url: String,
    /// The method; `POST` if left out.
    #[serde(default)]
    pub method: Method,
    /// Headers of the request, in addition to those that Carillon sets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, SecretText>,
    /// The body. A text is sent as it is, any other value as JSON. A text that contains a JSON
    /// object or array is sent as `application/json` unless `headers` say otherwise. If the body is
    /// left out, `POST`, `PUT` and `PATCH` send a JSON object that identifies the fire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The statuses that count as success: 200-299 unless given.
    #[serde(default)]
    pub expected_status: StatusSet,
    /// A text that the response's body must contain to count as success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_body: Option<String>,
    /// How many redirects are followed: at most 5, which is also the default.
    #[serde(default = "most_redirects")]
    pub max_redirects: u8,
    /// What to do with the response; `keep` if left out.
    #[serde(default, skip_serializing_if = "Answers::is_keep")]
    pub output: Answers,
    /// Key of the Standard Webhooks signature: `whsec_` and base64. Unsigned unless given. Up to
    /// four, separated by spaces, sign at once while one replaces another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<SecretText>,
    /// The client certificate of the request (mTLS): `{{ secrets.name }}`, for a secret that
    /// contains the certificate, the intermediate certificates, and its private key, in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<SecretText>,
}

/// What to do with a response.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// It is stored with the attempt.
    #[default]
    Keep,
    /// It must be a JSON object, which is merged into the context of later tasks.
    Merge,
}

impl Answers {
    fn is_keep(&self) -> bool {
        *self == Self::Keep
    }
}

/// Maximum number of redirects that a target may follow.
pub(crate) const MAX_REDIRECTS: u8 = 5;

fn most_redirects() -> u8 {
    MAX_REDIRECTS
}

/// The method of an HTTP request.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the names are the standard's")]
pub enum Method {
    Get,
    Head,
    #[default]
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

impl Http {
    /// A `POST` to `url` with everything else at its default.
    pub fn post(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            method: Method::Post,
            headers: BTreeMap::new(),
            body: None,
            expected_status: StatusSet::default(),
            expected_body: None,
            max_redirects: MAX_REDIRECTS,
            output: Answers::Keep,
            signing_secret: None,
            client_certificate: None,
        }
    }
}

impl fmt::Debug for Http {
    /// Shows only the origin of the URL, and nothing of the body, because the rest may contain
    /// tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("url", &super::place::origin_of(&self.url))
            .field("method", &self.method)
            .field("headers", &self.headers)
            .field("body", &self.body.as_ref().map(|_| "***"))
            .field("expected_status", &self.expected_status)
            .field("expected_body", &self.expected_body)
            .field("max_redirects", &self.max_redirects)
            .field("output", &self.output)
            .field("signing_secret", &self.signing_secret)
            .field("client_certificate", &self.client_certificate)
            .finish()
    }
}
