use async_graphql::{Context, InputObject, Object, SimpleObject};
use entity::api_token;
use secrecy::ExposeSecret;
use uuid::Uuid;

use crate::{
    api::{
        context::ContextExt,
        error::Result,
        loaders::{NamespaceName, UserRow},
        scalar::Instant,
        viewer::Role,
    },
    commands::{CommandError, MadeToken, NewApiToken},
    store::tokens,
};

/// A key with which a program authenticates.
pub(crate) struct ApiToken(pub(crate) api_token::Model);

/// A key with which a program authenticates.
#[Object]
impl ApiToken {
    async fn id(&self) -> Uuid {
        self.0.id
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// The user on whose behalf the token acts; it can never do more than its owner. Null for a
    /// token created with `carillon token create`.
    async fn owner(&self, cx: &Context<'_>) -> Result<Option<String>> {
        let Some(owner) = self.0.user_id else { return Ok(None) };
        Ok(cx.rows().load_one(UserRow(owner)).await?.map(|row| row.name))
    }

    /// The only namespace that the token gives access to; null for all that its owner may see.
    async fn namespace(&self, cx: &Context<'_>) -> Result<Option<String>> {
        let Some(id) = self.0.namespace_id else { return Ok(None) };
        Ok(cx.rows().load_one(NamespaceName(id)).await?)
    }

    /// The highest role that the token may use.
    async fn role(&self) -> Role {
        self.0.role.into()
    }

    /// The only queues that a worker may pull from with it; null unless it is a worker's token.
    async fn queues(&self) -> Option<Vec<String>> {
        self.0.queues.as_ref().map(|queues| queues.0.clone())
    }

    /// Whether the token may see contexts, outputs and logs; effective only if its owner may.
    async fn sees_payloads(&self) -> bool {
        self.0.sees_payloads
    }

    async fn created_by(&self) -> &str {
        &self.0.created_by
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    /// When the token expires.
    async fn expires_at(&self) -> Option<Instant> {
        self.0.expires_at.map(Into::into)
    }

    /// When the token was revoked.
    async fn revoked_at(&self) -> Option<Instant> {
        self.0.revoked_at.map(Into::into)
    }

    /// Last use, accurate to the minute.
    async fn used_at(&self) -> Option<Instant> {
        self.0.used_at.map(Into::into)
    }
}

/// A token to create.
#[derive(InputObject)]
pub(crate) struct CreateApiTokenInput {
    /// Unique; 1 to 64 characters without spaces.
    name: String,
    /// The highest role that the token may use; at most your own.
    role: Role,
    /// The only namespace that the token gives access to; if absent, all that its owner may see.
    namespace: Option<String>,
    /// For a worker: the queues that it may pull from, 1 to 32. Such a token gives access to
    /// nothing else, and its role must be at least OPERATOR.
    queues: Option<Vec<String>>,
    /// Whether the token may see contexts, outputs and logs; effective only if its owner may.
    #[graphql(default = false)]
    sees_payloads: bool,
    /// When the token expires; never if absent.
    expires_at: Option<Instant>,
    /// The name of the service account on whose behalf the token acts; if absent, it acts for you.
    service_account: Option<String>,
    /// Reason for the audit log: 0 to 500 characters.
    reason: Option<String>,
}

impl From<CreateApiTokenInput> for NewApiToken {
    fn from(input: CreateApiTokenInput) -> Self {
        Self {
            name: input.name,
            role: input.role.into(),
            namespace: input.namespace,
            queues: input.queues,
            sees_payloads: input.sees_payloads,
            expires_at: input.expires_at.map(|at| at.0),
            service_account: input.service_account,
            reason: input.reason,
        }
    }
}

/// A token that was created.
#[derive(SimpleObject)]
pub(crate) struct CreateApiTokenPayload {
    api_token: ApiToken,
    /// The secret to send as `Authorization: Bearer`. Returned only this once: null for a repeated
    /// call.
    secret: Option<String>,
}

impl CreateApiTokenPayload {
    pub(super) async fn of(cx: &Context<'_>, made: MadeToken) -> Result<Self> {
        let row = tokens::by_id(cx.store().read(), made.id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("token", made.id))?;
        let secret = made.text.map(|text| text.expose_secret().to_owned());
        Ok(Self { api_token: ApiToken(row), secret })
    }
}
