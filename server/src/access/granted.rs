use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use entity::user::{self, GivenGrant};
use sea_orm::ConnectionTrait;

use crate::{
    access::{Grant, Grants, Viewer, ViewerKind},
    clock::Clock,
    config::Config,
    store::{Store, StoreError, deleted_namespaces, memberships},
};

/// Limits on grants from a user's groups at an identity provider. The server learns the groups only
/// at a sign-in. So the grants expire some time after the sign-in, or when the provider is no
/// longer configured; otherwise tokens would keep them for ever.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupGrantLimits<'a> {
    /// The provider of this server.
    pub issuer: Option<&'a str>,
    /// How long the grants last after a sign-in.
    pub lasts: Duration,
}

impl<'a> GroupGrantLimits<'a> {
    /// The configured limits: grants last as long as a session.
    pub fn of(config: &'a Config) -> Self {
        let issuer = config.oidc.as_ref().map(|oidc| &*oidc.issuer);
        Self { issuer, lasts: config.session.absolute.0 }
    }

    /// The grants that currently apply to a user.
    pub fn given<'u>(&self, user: &'u user::Model, now: DateTime<Utc>) -> &'u [GivenGrant] {
        let plain = |issuer: &'_ str| issuer.trim_end_matches('/').to_owned();
        let theirs = user.issuer.as_deref().map(plain);
        let lasts = TimeDelta::from_std(self.lasts).unwrap_or(TimeDelta::MAX);
        let is_fresh = user.given_at.is_some_and(|at| now - at.utc() <= lasts);
        match &user.given_elsewhere {
            Some(given) if is_fresh && theirs.is_some() && theirs == self.issuer.map(plain) => {
                &given.0
            }
            Some(_) | None => &[],
        }
    }
}

/// A user's grants everywhere, and in the namespaces of which they are a member, except in deleted
/// ones.
pub async fn grants_of<C: ConnectionTrait>(
    connection: &C,
    user: &user::Model,
    elsewhere: GroupGrantLimits<'_>,
    now: DateTime<Utc>,
) -> Result<Grants, StoreError> {
    let sees_payloads = user.sees_payloads;
    let everywhere = user.role.map(|role| Grant { role, sees_payloads });
    let memberships = memberships::of_user(connection, user.id).await?;
    let there = memberships.into_iter().map(|row| {
        let grant = Grant { role: row.role, sees_payloads: row.sees_payloads };
        (row.namespace_id, grant)
    });
    let elsewhere = elsewhere.given(user, now).iter().map(|given| {
        let grant = Grant { role: given.role, sees_payloads: given.sees_payloads };
        (given.namespace, grant)
    });
    let hidden = deleted_namespaces::hidden(connection).await?;
    Ok(Grants::new(everywhere, there).with(elsewhere).without(hidden))
}

/// A signed-in person, with their current grants.
pub async fn user_viewer(
    store: &Store,
    clock: &Clock,
    elsewhere: GroupGrantLimits<'_>,
    user: user::Model,
    source: String,
) -> Result<Viewer, StoreError> {
    let grants = grants_of(store.read(), &user, elsewhere, clock.now()).await?;
    Ok(Viewer::new(user.id, user.name, ViewerKind::User, grants, source))
}
