use entity::{
    Timestamp,
    user::{ActiveModel, Model, Role},
};
use sea_orm::{ActiveEnum, Set};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use uuid::Uuid;

use super::{PeopleError, check_name, commit_rights, name_key, password, record};
use crate::{
    access::Owner,
    clock::Clock,
    store::{DatabaseTransaction, Store, StoreError, sessions, tokens, users},
};

/// What happens to a user's API tokens when their password changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// The tokens keep working, because programs use them.
    Kept,
    /// The tokens are revoked in the same transaction, because one of them may have leaked.
    Revoked,
}

/// How long a user keeps a password that was set beside the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordUse {
    /// It is the user's own: they keep it.
    Own,
    /// It is for the first sign-in: then the user must choose another one.
    Once,
    /// The user's own if the server has no other person, who could have set it for them; otherwise
    /// for the first sign-in.
    OwnIfAlone,
}

impl PasswordUse {
    /// Whether the user with this key must choose another password at the first sign-in.
    async fn must_change(self, tx: &DatabaseTransaction, user: Uuid) -> Result<bool, StoreError> {
        match self {
            Self::Own => Ok(false),
            Self::Once => Ok(true),
            Self::OwnIfAlone => users::has_another_person(tx, user).await,
        }
    }
}

/// A person to create.
#[derive(Debug)]
pub struct NewUser {
    /// Unique.
    pub name: String,
    /// The password, at least 12 characters long.
    pub password: SecretString,
    /// How long the user keeps the password.
    pub password_use: PasswordUse,
    /// The user's role everywhere.
    pub role: Role,
    /// Whether the user may see contexts, outputs and logs; editors always may.
    pub sees_payloads: bool,
}

/// Adds a user. Returns whether they must choose another password at the first sign-in.
pub async fn add_user(
    owner: &Owner,
    store: &Store,
    clock: &Clock,
    user: NewUser,
) -> Result<bool, PeopleError> {
    check_name("name", &user.name)?;
    password::check(&user.password, &user.name)?;
    let id = Uuid::now_v7();
    let password_hash = password::hash(user.password).await?;
    let tx = store.begin().await?;
    let must_change = user.password_use.must_change(&tx, id).await?;
    let row = ActiveModel {
        id: Set(id),
        name: Set(user.name.clone()),
        name_key: Set(name_key(&user.name)),
        password_hash: Set(password_hash),
        must_change_password: Set(must_change),
        role: Set(Some(user.role)),
        sees_payloads: Set(user.sees_payloads || user.role >= Role::Editor),
        is_service: Set(false),
        created_at: Set(Timestamp::from(clock.now())),
        disabled_at: Set(None),
        sessions_from: Set(None),
        signed_in_at: Set(None),
        ..ActiveModel::default()
    };
    users::insert(&tx, row).await.map_err(PeopleError::adding("user", &user.name))?;
    let after = json!({ "role": user.role.to_value(), "mustChangePassword": must_change });
    record(&tx, clock, owner.who(), "user.add", id, &user.name, Some(after)).await?;
    store.commit(tx).await?;
    Ok(must_change)
}

/// The effects of a new password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordSet {
    /// Whether the user must choose another one at the first sign-in.
    pub must_change: bool,
    /// How many of the user's API tokens keep working.
    pub live_tokens: u64,
}

/// Sets a user's password. Their sessions end, and their API tokens if `fate` says so.
pub async fn set_password(
    owner: &Owner,
    store: &Store,
    clock: &Clock,
    name: &str,
    password: SecretString,
    password_use: PasswordUse,
    fate: Tokens,
) -> Result<PasswordSet, PeopleError> {
    password::check(&password, name)?;
    let user = named(store, name).await?;
    if user.is_service {
        let (value, problem) = (name.to_owned(), "is a service account".to_owned());
        let help = "no one can sign in as a service account: create a token for it";
        return Err(PeopleError::BadInput { field: "user", value, problem, help });
    }
    let hash = password::hash(password).await?;
    let tx = store.begin().await?;
    let must_change = password_use.must_change(&tx, user.id).await?;
    users::set_password_hash(&tx, user.id, hash, must_change).await?;
    sessions::delete_all_of(&tx, user.id, None).await?;
    let after = json!({ "mustChangePassword": must_change });
    record(&tx, clock, owner.who(), "user.passwd", user.id, name, Some(after)).await?;
    if fate == Tokens::Revoked {
        tokens::revoke_all_of(&tx, user.id, clock.now().into()).await?;
        record(&tx, clock, owner.who(), "user.revokeTokens", user.id, name, None).await?;
    }
    let live_tokens = tokens::count_of(&tx, user.id).await?;
    commit_rights(store, tx).await?;
    Ok(PasswordSet { must_change, live_tokens })
}

/// Whether a user may sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The user may sign in.
    Given,
    /// The user may not sign in. Refused for the last administrator who can sign in.
    Taken,
    /// The user may not sign in, even if this is the last administrator.
    TakenByForce,
}

/// Disables a user, which ends their sessions, or enables them again.
pub async fn set_access(
    owner: &Owner,
    store: &Store,
    clock: &Clock,
    name: &str,
    access: Access,
) -> Result<(), PeopleError> {
    let user = named(store, name).await?;
    let is_taken = access != Access::Given;
    let at = is_taken.then(|| Timestamp::from(clock.now()));
    let tx = store.begin().await?;
    if access == Access::Taken {
        let administrators = users::lock_administrators(&tx).await?;
        if matches!(&*administrators, [only] if only.id == user.id) {
            return Err(PeopleError::LastAdministrator { name: user.name });
        }
    }
    users::set_disabled(&tx, user.id, at).await?;
    if is_taken {
        sessions::delete_all_of(&tx, user.id, None).await?;
    }
    let action = if is_taken { "user.disable" } else { "user.enable" };
    record(&tx, clock, owner.who(), action, user.id, name, None).await?;
    Ok(commit_rights(store, tx).await?)
}

/// The user, if the password is correct and they may sign in.
pub async fn sign_in(
    store: &Store,
    clock: &Clock,
    name: &str,
    password: SecretString,
) -> Result<Option<Model>, PeopleError> {
    // No password is longer, and the server must not hash megabytes for an unauthenticated caller.
    // No name contains NUL.
    let sane = password.expose_secret().len() <= 1024 && !name.contains('\0');
    let user = if sane { users::by_name(store.read(), name).await? } else { None };
    let user = user.filter(|user| user.disabled_at.is_none() && !user.password_hash.is_empty());
    let hash = user.as_ref().map(|user| user.password_hash.clone());
    let password = if sane { password } else { SecretString::default() };
    if !password::verify(password, hash).await? {
        return Ok(None);
    }
    if let Some(user) = &user {
        let tx = store.begin().await?;
        users::stamp_sign_in(&tx, user.id, Timestamp::from(clock.now())).await?;
        tx.commit().await?;
    }
    Ok(user)
}

async fn named(store: &Store, name: &str) -> Result<Model, PeopleError> {
    let found: Result<_, StoreError> = users::by_name(store.read(), name).await;
    found?.ok_or_else(|| PeopleError::NotFound { what: "user", name: name.to_owned() })
}
