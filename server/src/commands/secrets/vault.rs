//! Sets and deletes secrets. No value is ever returned or written to the audit log.

use std::ops::RangeInclusive;

use entity::secret::{ActiveModel, Model};
use sea_orm::Set;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    access::Admin,
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    model::check,
    random::new_id,
    store::{Constraint, DatabaseTransaction, StoreError, secrets},
    vault::{Sealed, SecretScope, Vault, VaultError},
};

/// The permitted length in bytes. A shorter value could not be distinguished from other text when
/// output is masked.
const BYTES: RangeInclusive<usize> = 6..=64 * 1024;

/// Maximum number of lines of a value: each is masked separately in every line that a task prints.
const LINES: usize = 500;

/// A secret value for tasks to use.
#[derive(Debug)]
pub struct NewSecret {
    /// The namespace, by name.
    pub namespace: String,
    /// The secret's name in templates.
    pub name: String,
    /// The secret's value.
    pub value: SecretString,
    /// Why.
    pub reason: Option<String>,
}

impl Commands {
    /// Sets the keys of this server.
    pub fn with_vault(self, vault: Vault) -> Self {
        Self { vault, ..self }
    }

    /// Whether this server has a key, without which it refuses to set secrets.
    pub fn has_secrets_key(&self) -> bool {
        self.vault.current().is_ok()
    }

    /// Creates a secret, or sets another value.
    pub async fn set_secret(
        &self,
        right: &Admin,
        new: NewSecret,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            self.is_still(&tx, right, earlier, &new.value).await?;
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), &new.namespace).await?;
        check_name(&new.name)?;
        check_value(&new.value)?;
        let reason = new.reason.as_deref();
        check::optional_reason(reason)?;
        let place = SecretScope::Secret { namespace, name: &new.name };
        // If its key differs, this server and those with the right key could not decrypt each
        // other's secrets. For the same reason, two servers with different keys must not both set
        // the first secret.
        secrets::lock_sealing(&tx, self.store.dialect()).await?;
        self.vault.check_in(&tx).await.map_err(refused)?;
        let Sealed { key_id, text } = self.vault.seal(place, &new.value).map_err(refused)?;
        let before = secrets::lock(&tx, namespace, &new.name).await?;
        let now = self.clock.now();
        let (id, version) =
            before.as_ref().map_or_else(|| (new_id(now), 1), |row| (row.id, row.version + 1));
        let after = json!({ "version": version, "key": key_id });
        let row = ActiveModel {
            key_id: Set(key_id),
            sealed: Set(text),
            version: Set(version),
            set_by: Set(right.who().name.clone()),
            updated_at: Set(now.into()),
            ..ActiveModel::default()
        };
        match &before {
            Some(_) => secrets::update(&tx, id, row).await?,
            None => {
                let row = ActiveModel {
                    id: Set(id),
                    namespace_id: Set(namespace),
                    name: Set(new.name.clone()),
                    created_at: Set(now.into()),
                    ..row
                };
                secrets::insert(&tx, row).await.map_err(|error| set_at_once(error, &new.name))?;
            }
        }
        let entry = AuditEntry {
            action: "secret.set",
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: &new.name,
            reason,
            before: before.as_ref().map(shown),
            after: Some(after),
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }

    /// Deletes a secret. Tasks that use it fail from now on.
    pub async fn delete_secret(
        &self,
        right: &Admin,
        namespace: &str,
        name: &str,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), namespace).await?;
        let row = secrets::lock(&tx, namespace, name).await?;
        let row = row.ok_or_else(|| CommandError::not_found("secret", name))?;
        secrets::delete(&tx, row.id).await?;
        let entry = AuditEntry {
            action: "secret.delete",
            namespace: Some(namespace),
            subject_id: Some(row.id),
            subject: name,
            reason,
            before: Some(shown(&row)),
            after: None,
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &row.id).await?;
        self.store.commit(tx).await?;
        Ok(row.id)
    }

    /// Refuses to answer a repeated call whose value is not the current one. Repeated calls are
    /// recognised by their arguments without the value. The comparison would let callers who lost
    /// access to the namespace guess the value, so it is made only for those who may set it.
    async fn is_still(
        &self,
        tx: &DatabaseTransaction,
        right: &Admin,
        id: Uuid,
        value: &SecretString,
    ) -> Result<(), CommandError> {
        let row = secrets::by_id(tx, id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("secret", id))?;
        right.permit().over(row.namespace_id, "secret", id)?;
        let place = SecretScope::Secret { namespace: row.namespace_id, name: &row.name };
        let there = self.vault.open(place, &sealed(&row)).map_err(refused)?;
        if there.expose_secret() == value.expose_secret() {
            return Ok(());
        }
        let problem = "the idempotency key was used for another value, or the secret was set since";
        Err(CommandError::conflict(problem, "use a new key for each call"))
    }
}

pub(in crate::commands) fn sealed(row: &Model) -> Sealed {
    Sealed { key_id: row.key_id.clone(), text: row.sealed.clone() }
}

fn shown(row: &Model) -> Value {
    json!({ "version": row.version, "key": row.key_id })
}

/// Checks that the name can be written after `secrets.` in templates.
fn check_name(name: &str) -> Result<(), BadInput> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let problem = if name.is_empty() {
        "is empty"
    } else if name.len() > 64 {
        "is longer than 64 characters"
    } else if !name.bytes().all(is_word) || name.as_bytes()[0].is_ascii_digit() {
        "is not a valid secret name"
    } else {
        return Ok(());
    };
    let help = "use 1 to 64 letters, digits and _, no digit first";
    Err(BadInput::new("name", name, problem, help))
}

fn check_value(value: &SecretString) -> Result<(), BadInput> {
    let value = value.expose_secret();
    let problem = if !BYTES.contains(&value.len()) {
        let (least, most) = (BYTES.start(), BYTES.end());
        format!("has {} bytes; give {least} to {most}", value.len())
    } else if value.contains('\0') {
        "has a NUL character".to_owned()
    } else if value.lines().count() > LINES {
        format!("has {} lines; give at most {LINES}", value.lines().count())
    } else {
        return Ok(());
    };
    let help = "what is shorter could not be masked in logs; keep what is larger in a file";
    Err(BadInput::new("value", "", problem, help))
}

fn set_at_once(error: StoreError, name: &str) -> CommandError {
    if matches!(error, StoreError::Broken { constraint: Constraint::SecretName }) {
        let problem = format!("another user set the secret {name:?} at the same moment");
        return CommandError::conflict(problem, "decide whose value is right, and set it again");
    }
    error.into()
}

/// The error if the server's configuration prevents the command.
pub(in crate::commands) fn refused(error: VaultError) -> CommandError {
    match error {
        VaultError::Store(error) => error.into(),
        error @ (VaultError::NoKey
        | VaultError::OtherKey { .. }
        | VaultError::Broken { .. }
        | VaultError::Missing { .. }
        | VaultError::NoRandom) => {
            CommandError::conflict(format!("cannot {error}"), "see docs/secrets.md")
        }
    }
}
