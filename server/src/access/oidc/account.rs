//! Finds or adds the user for an identity, and grants what its groups give.

use entity::{
    Timestamp, audit_event,
    user::{ActiveModel, GivenElsewhere, GivenGrant, Model, Role},
};
use sea_orm::{ActiveModelTrait, Set};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Identity;
use crate::{
    access::{check_name, name_key, wait_until_rights_apply},
    clock::Clock,
    config::{GroupGrant, GroupRole},
    random::new_id,
    store::{
        Constraint, DatabaseTransaction, Store, StoreError, audit, memberships, namespaces, users,
    },
};

/// The user who signed in through the provider, or why the sign-in failed.
#[derive(Debug)]
pub enum SignInOutcome {
    /// The user may sign in.
    User(Box<Model>),
    /// An administrator has disabled the user.
    Disabled,
    /// The user has no grants, neither from groups nor from an administrator of this server.
    NoGroup,
}

/// Finds the user with this identity, or adds one, and replaces the grants from their previous
/// groups by those from the current ones.
pub async fn join(
    store: &Store,
    clock: &Clock,
    identity: &Identity,
    mapping: &[GroupGrant],
    source: &str,
) -> Result<SignInOutcome, StoreError> {
    match once(store, clock, identity, mapping, source).await {
        // A user with this identity or name was added at the same moment.
        Err(StoreError::Broken { constraint: Constraint::UserIdentity | Constraint::UserName }) => {
            once(store, clock, identity, mapping, source).await
        }
        joined => joined,
    }
}

async fn once(
    store: &Store,
    clock: &Clock,
    identity: &Identity,
    mapping: &[GroupGrant],
    source: &str,
) -> Result<SignInOutcome, StoreError> {
    let tx = store.begin().await?;
    let given = given(&tx, identity, mapping).await?;
    let now = clock.now();
    let mut had_or_has = false;
    let found = users::lock_by_identity(&tx, &identity.issuer, &identity.subject).await?;
    let joined = match found {
        Some(user) if user.disabled_at.is_some() => SignInOutcome::Disabled,
        Some(mut user) => {
            let before = user.given_elsewhere.clone().unwrap_or_default();
            users::set_given_elsewhere(&tx, user.id, given.clone(), now.into()).await?;
            (user.given_elsewhere, user.given_at) = (Some(given.clone()), Some(now.into()));
            // Grants that had lapsed take effect again, even if they are the same as before.
            had_or_has = !(before.0.is_empty() && given.0.is_empty());
            if before != given {
                audit::insert(
                    &tx,
                    entry(clock, &user, source, "user.groups", Some(json!(before)), json!(&given)),
                )
                .await?;
            }
            let own = user.role.is_some() || !memberships::of_user(&tx, user.id).await?.is_empty();
            if own || !given.0.is_empty() {
                users::stamp_sign_in(&tx, user.id, Timestamp::from(now)).await?;
                SignInOutcome::User(Box::new(user))
            } else {
                SignInOutcome::NoGroup
            }
        }
        // A person without any grants is not stored, because a provider may know very many people.
        None if given.0.is_empty() => SignInOutcome::NoGroup,
        None => {
            let name = free_name(&tx, identity).await?;
            let user = Model {
                id: new_id(now),
                name_key: name_key(&name),
                name,
                password_hash: String::new(),
                must_change_password: false,
                role: None,
                sees_payloads: false,
                is_service: false,
                created_at: now.into(),
                disabled_at: None,
                sessions_from: None,
                signed_in_at: Some(now.into()),
                issuer: Some(identity.issuer.clone()),
                subject: Some(identity.subject.clone()),
                given_elsewhere: Some(given.clone()),
                given_at: Some(now.into()),
            };
            users::insert(&tx, ActiveModel::from(user.clone()).reset_all()).await?;
            let after = json!({
                "issuer": identity.issuer, "subject": identity.subject, "groups": given,
            });
            audit::insert(&tx, entry(clock, &user, source, "user.add", None, after)).await?;
            SignInOutcome::User(Box::new(user))
        }
    };
    store.commit(tx).await?;
    if had_or_has {
        wait_until_rights_apply().await;
    }
    Ok(joined)
}

/// The grants from the groups. A namespace that does not exist yet is left out.
async fn given(
    tx: &DatabaseTransaction,
    identity: &Identity,
    mapping: &[GroupGrant],
) -> Result<GivenElsewhere, StoreError> {
    let mut given: Vec<GivenGrant> = Vec::new();
    for grant in mapping.iter().filter(|grant| identity.groups.contains(&grant.group)) {
        let namespace = match &grant.namespace {
            None => None,
            Some(name) => match namespaces::by_name(tx, name).await? {
                Some(row) => Some(row.id),
                None => {
                    tracing::warn!(namespace = name, "oidc.grants names an unknown namespace");
                    continue;
                }
            },
        };
        let (role, sees_payloads) = (role(grant.role), grant.sees_payloads);
        match given.iter_mut().find(|there| there.namespace == namespace) {
            Some(there) => {
                there.role = there.role.max(role);
                there.sees_payloads |= sees_payloads;
            }
            None => given.push(GivenGrant { namespace, role, sees_payloads }),
        }
    }
    given.sort_by_key(|grant| grant.namespace);
    Ok(GivenElsewhere(given))
}

fn role(role: GroupRole) -> Role {
    match role {
        GroupRole::Viewer => Role::Viewer,
        GroupRole::Operator => Role::Operator,
        GroupRole::Editor => Role::Editor,
        GroupRole::Admin => Role::Admin,
    }
}

/// The person's name at the provider, or a unique variant if that name is taken.
async fn free_name(tx: &DatabaseTransaction, identity: &Identity) -> Result<String, StoreError> {
    let name = usable(identity.name.as_deref().unwrap_or_default());
    if !users::is_name_taken(tx, &name_key(&name)).await? {
        return Ok(name);
    }
    let digest = Sha256::digest(format!("{} {}", identity.issuer, identity.subject));
    let mark: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{name}-{mark}"))
}

/// A name without the characters that our names may not contain.
fn usable(name: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || "._@+-".contains(*c);
    let name: String = name.chars().filter(kept).take(48).collect();
    if check_name("name", &name).is_ok() { name } else { "user".to_owned() }
}

fn entry(
    clock: &Clock,
    user: &Model,
    source: &str,
    action: &str,
    before: Option<Value>,
    after: Value,
) -> audit_event::ActiveModel {
    audit_event::ActiveModel {
        id: Set(Uuid::now_v7()),
        namespace_id: Set(None),
        at: Set(Timestamp::from(clock.now())),
        actor: Set(user.name.clone()),
        source: Set(source.to_owned()),
        action: Set(action.to_owned()),
        subject_id: Set(Some(user.id)),
        subject: Set(user.name.clone()),
        reason: Set(Some("sign-in by the identity provider".to_owned())),
        before: Set(before),
        after: Set(Some(after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_elsewhere_becomes_one_that_can_be_here() {
        for (given, name) in [
            ("ada", "ada"),
            ("Ada Lovelace", "AdaLovelace"),
            ("ada@example.org", "ada@example.org"),
            ("token", "user"),
            ("CLI", "user"),
            ("token/ci", "tokenci"),
            ("<script>", "script"),
            ("", "user"),
            ("\u{202e}", "user"),
        ] {
            assert_eq!(usable(given), name, "{given}");
        }
        assert_eq!(usable(&"x".repeat(100)).len(), 48);
    }
}
