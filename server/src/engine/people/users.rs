use entity::{
    Timestamp,
    user::{ActiveModel, Model, Role},
};
use sea_orm::{ActiveEnum, Set};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use uuid::Uuid;

use super::{PeopleError, error::check_name, password, record};
use crate::{
    clock::Clock,
    engine::commands::Admin,
    store::{Store, StoreError, users},
};

/// A person to be.
#[derive(Debug)]
pub struct NewUser {
    /// Unique.
    pub name: String,
    /// At least 12 characters.
    pub password: SecretString,
    /// What they may do.
    pub role: Role,
}

/// Adds a user.
pub async fn add_user(
    admin: &Admin,
    store: &Store,
    clock: &Clock,
    user: NewUser,
) -> Result<Uuid, PeopleError> {
    check_name("name", &user.name)?;
    password::check(&user.password)?;
    let id = Uuid::now_v7();
    let row = ActiveModel {
        id: Set(id),
        name: Set(user.name.clone()),
        password_hash: Set(password::hash(user.password).await?),
        role: Set(user.role),
        created_at: Set(Timestamp::from(clock.now())),
        disabled_at: Set(None),
        sessions_from: Set(None),
        signed_in_at: Set(None),
    };
    let tx = store.begin().await?;
    users::insert(&tx, row).await.map_err(PeopleError::adding("user", &user.name))?;
    let after = json!({ "role": user.role.to_value() });
    record(&tx, clock, admin.who(), "user.add", (id, &user.name), Some(after)).await?;
    store.commit(tx).await?;
    Ok(id)
}

/// Gives a user another password. Their sessions end.
pub async fn set_password(
    admin: &Admin,
    store: &Store,
    clock: &Clock,
    name: &str,
    password: SecretString,
) -> Result<(), PeopleError> {
    password::check(&password)?;
    let user = named(store, name).await?;
    let hash = password::hash(password).await?;
    let tx = store.begin().await?;
    users::set_password_hash(&tx, user.id, hash).await?;
    record(&tx, clock, admin.who(), "user.passwd", (user.id, name), None).await?;
    Ok(store.commit(tx).await?)
}

/// Takes the right to sign in, or gives it back. Their sessions end.
pub async fn set_disabled(
    admin: &Admin,
    store: &Store,
    clock: &Clock,
    name: &str,
    disabled: bool,
) -> Result<(), PeopleError> {
    let user = named(store, name).await?;
    let at = disabled.then(|| Timestamp::from(clock.now()));
    let tx = store.begin().await?;
    users::set_disabled(&tx, user.id, at).await?;
    let action = if disabled { "user.disable" } else { "user.enable" };
    record(&tx, clock, admin.who(), action, (user.id, name), None).await?;
    Ok(store.commit(tx).await?)
}

/// The user, if the password is theirs and they may sign in.
pub async fn sign_in(
    store: &Store,
    clock: &Clock,
    name: &str,
    password: SecretString,
) -> Result<Option<Model>, PeopleError> {
    // No password is so long: nobody hashes megabytes for a stranger. No name has a NUL.
    let sane = password.expose_secret().len() <= 1024 && !name.contains('\0');
    let user = if sane { users::by_name(store.read(), name).await? } else { None };
    let user = user.filter(|user| user.disabled_at.is_none());
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
