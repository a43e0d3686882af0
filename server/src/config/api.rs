use serde::Deserialize;
use url::Url;

use super::{BadSetting, listed};

/// The largest number of origins.
const MAX_ORIGINS: usize = 100;

/// The GraphQL endpoint.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Api {
    /// Who may introspect the schema.
    pub introspection: Introspection,
    /// Origins whose pages may call `/graphql` with a token: `https://app.example.org`.
    #[serde(deserialize_with = "listed")]
    pub cors_origins: Vec<String>,
}

/// Who may introspect the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Introspection {
    /// Authenticated callers.
    #[default]
    #[serde(rename = "signed-in")]
    SignedIn,
    /// All callers.
    #[serde(rename = "everyone")]
    Everyone,
}

impl Api {
    /// The first invalid setting of this section.
    pub(super) fn check(&self) -> Result<(), BadSetting> {
        let (field, origins) = ("api.cors_origins", &self.cors_origins);
        if origins.len() > MAX_ORIGINS {
            let help = format!("give at most {MAX_ORIGINS}");
            return Err(BadSetting::new(field, origins.len(), "are too many origins", help));
        }
        match origins.iter().find(|origin| !is_origin(origin)) {
            None => Ok(()),
            Some(origin) => {
                let help = "write it as browsers send it: https://app.example.org, without a path; \
                            there is no '*'";
                Err(BadSetting::new(field, origin.escape_debug(), "is not an origin", help))
            }
        }
    }
}

/// Whether a text is an origin as browsers send it.
fn is_origin(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == text
    })
}
