use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use openidconnect::{
    AdditionalClaims, ClaimsVerificationError, EmptyExtraTokenFields, IdToken, IdTokenClaims,
    IdTokenFields, IdTokenVerifier, Nonce, StandardTokenResponse,
    core::{
        CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm as Algorithm, CoreTokenType,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config;

/// Maximum clock difference.
const SKEW: TimeDelta = TimeDelta::seconds(60);
/// Maximum age of a token at a sign-in.
const OLDEST: TimeDelta = TimeDelta::minutes(10);
/// Maximum number of groups.
const MAX_GROUPS: usize = 2_000;

/// Signature algorithms that only the provider can use. Excluded are `none` and those with the
/// client's secret.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RsaSsaPkcs1V15Sha256,
    Algorithm::RsaSsaPkcs1V15Sha384,
    Algorithm::RsaSsaPkcs1V15Sha512,
    Algorithm::RsaSsaPssSha256,
    Algorithm::RsaSsaPssSha384,
    Algorithm::RsaSsaPssSha512,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaP384Sha384,
    Algorithm::EdDsa,
];

/// Whether this algorithm is accepted.
pub(super) fn counts(algorithm: &Algorithm) -> bool {
    ALGORITHMS.contains(algorithm)
}

/// A person at the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The provider.
    pub issuer: String,
    /// The user's permanent identifier.
    pub subject: String,
    /// The user's current name.
    pub name: Option<String>,
    /// The user's current groups.
    pub groups: Vec<String>,
    /// The token itself, for signing out at the provider.
    pub id_token: String,
}

/// The claims of a token that are not standard claims.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct ExtraClaims(HashMap<String, Value>);

impl AdditionalClaims for ExtraClaims {}

type Encryption = CoreJweContentEncryptionAlgorithm;
pub(super) type SignedIdToken = IdToken<ExtraClaims, CoreGenderClaim, Encryption, Algorithm>;
type Fields =
    IdTokenFields<ExtraClaims, EmptyExtraTokenFields, CoreGenderClaim, Encryption, Algorithm>;
pub(super) type Response = StandardTokenResponse<Fields, CoreTokenType>;
type Claims = IdTokenClaims<ExtraClaims, CoreGenderClaim>;

/// The claims of a valid token that belongs to the sign-in with this nonce.
pub(super) fn verified<'t>(
    token: &'t SignedIdToken,
    verifier: IdTokenVerifier<'_, CoreJsonWebKey>,
    nonce: &Nonce,
    now: DateTime<Utc>,
) -> Result<&'t Claims, ClaimsVerificationError> {
    let is_fresh = move |issued: DateTime<Utc>| {
        if issued > now + SKEW {
            Err(format!("it was issued at {issued}, and here it is {now}"))
        } else if issued < now - OLDEST {
            Err(format!("it was issued at {issued}, which is too long ago"))
        } else {
            Ok(())
        }
    };
    let verifier = verifier
        .set_allowed_algs(ALGORITHMS)
        .set_time_fn(move || now - SKEW)
        .set_issue_time_verifier_fn(is_fresh);
    token.claims(&verifier, nonce)
}

/// All claims about a person as one JSON object.
pub(super) fn told(claims: &impl Serialize) -> Value {
    serde_json::to_value(claims).unwrap_or_default()
}

/// Whether the claims suffice for a sign-in here.
pub(super) fn is_enough(told: &Value, settings: &config::Oidc) -> bool {
    let has = |claim: &str| !told[claim].is_null();
    has(&settings.name_claim) && (settings.grants.is_empty() || has(&settings.groups_claim))
}

/// Adds the claims of `more` to `told`. The claims of `told` take precedence.
pub(super) fn with_more(told: Value, more: Value) -> Value {
    match (told, more) {
        (Value::Object(told), Value::Object(mut more)) => {
            more.extend(told);
            Value::Object(more)
        }
        (told, _) => told,
    }
}

/// The person described by the claims.
pub(super) fn identity(
    claims: &Claims,
    told: &Value,
    settings: &config::Oidc,
    id_token: String,
) -> Identity {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let groups = match &told[settings.groups_claim.as_str()] {
        Value::Array(groups) => groups.iter().take(MAX_GROUPS).filter_map(text).collect(),
        Value::String(group) => vec![group.clone()],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    Identity {
        issuer: claims.issuer().to_string(),
        subject: claims.subject().to_string(),
        name: text(&told[settings.name_claim.as_str()]),
        groups,
        id_token,
    }
}
