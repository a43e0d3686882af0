//! The identity provider: its discovery document, its keys, and the requests of a sign-in.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use openidconnect::{
    AccessToken, AsyncHttpClient, AuthType, AuthorizationCode, ClaimsVerificationError, ClientId,
    ClientSecret, CsrfToken, DiscoveryError, EndpointMaybeSet, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, IssuerUrl, LogoutRequest, Nonce, OAuth2TokenResponse,
    PkceCodeChallenge, PkceCodeVerifier, PostLogoutRedirectUrl, ProviderMetadataWithLogout,
    RedirectUrl, RequestTokenError, Scope, SignatureVerificationError, StandardErrorResponse,
    SubjectIdentifier, TokenResponse, UserInfoClaims, UserInfoError,
    core::{
        CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreClientAuthMethod,
        CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm,
        CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse,
    },
    http::{Response as HttpAnswer, header::CONTENT_TYPE},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::sync::{Mutex, watch};
use url::Url;

use super::{
    Identity, OidcError,
    token::{self, ExtraClaims, Response},
};
use crate::{clock::Clock, config, target::Fetcher};

/// How long the provider's metadata is cached.
const LASTS: Duration = Duration::from_secs(60 * 60);
/// Minimum interval between two refreshes of the keys. A signature with an unknown key causes a
/// refresh.
const REFRESH: Duration = Duration::from_secs(1);
/// How long no request is sent to the provider after one has failed.
const REST: Duration = Duration::from_secs(3);

type Client = openidconnect::Client<
    ExtraClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Response,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The identity provider, as this server uses it.
#[derive(Debug)]
pub struct Provider {
    settings: config::Oidc,
    secret: Option<SecretString>,
    /// The address of this server for browsers.
    home: String,
    clock: Clock,
    outgoing: Outgoing,
    known: Mutex<CachedMetadata>,
    /// The latest metadata, for callers that do not wait.
    latest: watch::Sender<Option<Arc<ProviderMetadataWithLogout>>>,
}

/// A sign-in in progress: where to send the browser, and the values to expect afterwards.
#[derive(Debug)]
pub struct StartedSignIn {
    /// The provider's page.
    pub url: Url,
    /// The value that the browser brings back.
    pub state: String,
    /// The value that the token must contain.
    pub nonce: String,
    /// The PKCE verifier, which proves that this server began the sign-in.
    pub verifier: String,
}

/// The cached metadata, and the time of the last failed try.
#[derive(Debug, Default)]
struct CachedMetadata {
    metadata: Option<(Arc<ProviderMetadataWithLogout>, Instant)>,
    failed: Option<Instant>,
}

impl Provider {
    /// The configured provider. No request is sent yet, because it may be unavailable when this
    /// server starts.
    pub fn new(
        settings: config::Oidc,
        secret: Option<SecretString>,
        home: String,
        fetcher: Fetcher,
        clock: Clock,
    ) -> Self {
        let outgoing = Outgoing(Arc::new(fetcher));
        Self {
            settings,
            secret,
            home,
            clock,
            outgoing,
            known: Mutex::default(),
            latest: watch::Sender::default(),
        }
    }

    /// The provider's configuration.
    pub fn settings(&self) -> &config::Oidc {
        &self.settings
    }

    /// Fetches the provider's metadata, and fails if it does not suffice for a sign-in.
    pub async fn look(&self) -> Result<(), OidcError> {
        let metadata = self.metadata(None).await?;
        self.client(&metadata)?;
        let lacks = |what: &str| Err(OidcError::Metadata(format!("it names no {what}")));
        let algorithms = metadata.id_token_signing_alg_values_supported();
        if metadata.token_endpoint().is_none() {
            lacks("token endpoint")
        } else if metadata.jwks().keys().is_empty() {
            lacks("key with which it signs")
        } else if !algorithms.iter().any(token::counts) {
            lacks("signature that counts here (RS256, PS256, ES256, EdDSA or longer ones)")
        } else {
            Ok(())
        }
    }

    /// Begins a sign-in.
    pub async fn begin(&self) -> Result<StartedSignIn, OidcError> {
        let client = self.client(&*self.metadata(None).await?)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let request = client.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
        let wanted = self.settings.scopes.iter().filter(|scope| *scope != "openid");
        let request = request.add_scopes(wanted.cloned().map(Scope::new));
        let (url, state, nonce) = request.set_pkce_challenge(challenge).url();
        Ok(StartedSignIn {
            url,
            state: state.secret().clone(),
            nonce: nonce.secret().clone(),
            verifier: verifier.secret().clone(),
        })
    }

    /// Exchanges the code of a sign-in for the person's identity.
    pub async fn finish(
        &self,
        code: String,
        nonce: String,
        verifier: String,
    ) -> Result<Identity, OidcError> {
        let metadata = self.metadata(None).await?;
        let client = self.client(&metadata)?;
        let request = client.exchange_code(AuthorizationCode::new(code));
        let request = request.map_err(|error| OidcError::Metadata(error.to_string()))?;
        let request = request.set_pkce_verifier(PkceCodeVerifier::new(verifier));
        let response = request.request_async(&self.outgoing).await.map_err(not_exchanged)?;
        let token = response.id_token();
        let token = token.ok_or_else(|| OidcError::Answer("there is no ID token".to_owned()))?;
        let nonce = Nonce::new(nonce);
        let mut verified =
            token::verified(token, client.id_token_verifier(), &nonce, self.clock.now());
        // The provider may have signed with a new key, so try once more with its current keys.
        if verified.as_ref().is_err_and(is_about_keys) {
            let newer = self.client(&*self.metadata(Some(&metadata)).await?)?;
            verified = token::verified(token, newer.id_token_verifier(), &nonce, self.clock.now());
        }
        let claims = verified.map_err(|error| {
            if let ClaimsVerificationError::SignatureVerification(why) = &error {
                return OidcError::Token(format!("its signature: {why}"));
            }
            OidcError::Token(error.to_string())
        })?;
        let mut told = token::told(claims);
        if !token::is_enough(&told, &self.settings) {
            let (access, subject) = (response.access_token().clone(), claims.subject().clone());
            told = token::with_more(told, self.asked_for(&client, access, subject).await?);
        }
        Ok(token::identity(claims, &told, &self.settings, token.to_string()))
    }

    /// The provider's claims about a person in addition to those in the token: according to the
    /// standard, the userinfo endpoint returns the claims of scopes. `Null` if there is no such
    /// endpoint.
    async fn asked_for(
        &self,
        client: &Client,
        access: AccessToken,
        subject: SubjectIdentifier,
    ) -> Result<Value, OidcError> {
        // The library refuses a response about another subject.
        let Ok(request) = client.user_info(access, Some(subject)) else { return Ok(Value::Null) };
        let answer: Result<UserInfoClaims<ExtraClaims, CoreGenderClaim>, _> =
            request.request_async(&self.outgoing).await;
        Ok(token::told(&answer.map_err(not_told)?))
    }

    /// The provider's sign-out URL, if it is known to have one. No request is sent, so that signing
    /// out does not wait for the provider.
    pub fn sign_out_url(&self, id_token: &str) -> Option<Url> {
        let metadata = self.latest.borrow().clone()?;
        let url = metadata.additional_metadata().end_session_endpoint.clone()?;
        let home = PostLogoutRedirectUrl::new(format!("{}/", self.home)).ok()?;
        let id_token = id_token.parse::<token::SignedIdToken>().ok()?;
        let request = LogoutRequest::from(url)
            .set_client_id(ClientId::new(self.settings.client_id.clone()))
            .set_id_token_hint(&id_token)
            .set_post_logout_redirect_uri(home);
        Some(request.http_get_url())
    }

    fn client(&self, metadata: &ProviderMetadataWithLogout) -> Result<Client, OidcError> {
        let secret =
            self.secret.as_ref().map(|text| ClientSecret::new(text.expose_secret().to_owned()));
        let id = ClientId::new(self.settings.client_id.clone());
        let back = RedirectUrl::new(format!("{}/auth/oidc/callback", self.home));
        let back = back.map_err(|error| OidcError::Metadata(error.to_string()))?;
        let client = Client::from_provider_metadata(metadata.clone(), id, secret);
        let methods = metadata.token_endpoint_auth_methods_supported();
        let in_body = methods.is_some_and(|methods| {
            !methods.contains(&CoreClientAuthMethod::ClientSecretBasic)
                && methods.contains(&CoreClientAuthMethod::ClientSecretPost)
        });
        let how = if in_body { AuthType::RequestBody } else { AuthType::BasicAuth };
        Ok(client.set_redirect_uri(back).set_auth_type(how))
    }

    /// The provider's metadata. Fetches it again if `than` is the cached metadata and is old enough
    /// to be refreshed.
    async fn metadata(
        &self,
        than: Option<&Arc<ProviderMetadataWithLogout>>,
    ) -> Result<Arc<ProviderMetadataWithLogout>, OidcError> {
        // One caller fetches the metadata, and the others wait for its result.
        let mut known = self.known.lock().await;
        let now = self.clock.instant();
        let age = |at: &Instant| now.saturating_duration_since(*at);
        if let Some((metadata, at)) = &known.metadata {
            let is_wanted = than.is_none_or(|than| !Arc::ptr_eq(than, metadata));
            if (is_wanted && age(at) < LASTS) || (!is_wanted && age(at) < REFRESH) {
                return Ok(metadata.clone());
            }
        }
        if known.failed.as_ref().is_some_and(|at| age(at) < REST) {
            return Err(OidcError::Away);
        }
        let issuer = IssuerUrl::new(self.settings.issuer.clone());
        let issuer = issuer.map_err(|error| OidcError::Metadata(error.to_string()))?;
        let found = ProviderMetadataWithLogout::discover_async(issuer, &self.outgoing).await;
        // The fetch may have taken long, so `now` from before it is outdated.
        let now = self.clock.instant();
        match found {
            Ok(metadata) => {
                let metadata = Arc::new(metadata);
                self.latest.send_replace(Some(metadata.clone()));
                *known = CachedMetadata { metadata: Some((metadata.clone(), now)), failed: None };
                Ok(metadata)
            }
            Err(error) => {
                known.failed = Some(now);
                Err(not_discovered(error))
            }
        }
    }
}

/// Sends the requests of the sign-in, within the egress policy.
#[derive(Clone, Debug)]
struct Outgoing(Arc<Fetcher>);

impl<'c> AsyncHttpClient<'c> for Outgoing {
    type Error = OidcError;
    type Future = BoxFuture<'c, Result<HttpResponse, OidcError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let unusable = |error: &dyn std::fmt::Display| OidcError::Metadata(error.to_string());
            let request = reqwest::Request::try_from(request).map_err(|error| unusable(&error))?;
            let fetched = self.0.fetch(request).await?;
            let mut answer = HttpAnswer::builder().status(fetched.status);
            if let Some(content_type) = fetched.content_type {
                answer = answer.header(CONTENT_TYPE, content_type);
            }
            answer.body(fetched.body).map_err(|error| unusable(&error))
        })
    }
}

/// Whether the token may have been refused because its key is unknown here.
fn is_about_keys(error: &ClaimsVerificationError) -> bool {
    use SignatureVerificationError::{CryptoError, NoMatchingKey};
    matches!(error, ClaimsVerificationError::SignatureVerification(NoMatchingKey | CryptoError(_)))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the library may add kinds of errors")]
fn not_discovered(error: DiscoveryError<OidcError>) -> OidcError {
    match error {
        DiscoveryError::Request(error) => error,
        DiscoveryError::Response(status, _, _) => OidcError::Metadata(format!("status {status}")),
        other => OidcError::Metadata(other.to_string()),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the library may add kinds of errors")]
fn not_told(error: UserInfoError<OidcError>) -> OidcError {
    match error {
        UserInfoError::Request(error) => error,
        UserInfoError::ClaimsVerification(why) => {
            OidcError::Token(format!("what its userinfo endpoint adds: {why}"))
        }
        UserInfoError::Response(status, _, _) => {
            OidcError::Answer(format!("its userinfo endpoint says status {status}"))
        }
        _ => OidcError::Answer("its userinfo endpoint says nothing that can be read".to_owned()),
    }
}

type NotExchanged = RequestTokenError<OidcError, StandardErrorResponse<CoreErrorResponseType>>;

/// Leaves out the provider's message, which may repeat the request.
fn not_exchanged(error: NotExchanged) -> OidcError {
    match error {
        RequestTokenError::ServerResponse(answer) => OidcError::Code(answer.error().to_string()),
        RequestTokenError::Request(error) => error,
        RequestTokenError::Parse(why, _) => OidcError::Answer(why.to_string()),
        RequestTokenError::Other(why) => OidcError::Answer(why),
    }
}
