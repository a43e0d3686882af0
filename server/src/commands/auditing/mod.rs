//! Reading the audit log: who may read which part, and how it is exported.
//!
//! Administrators of a namespace read the entries that concern it; administrators of the instance
//! read everything. Secrets are masked before they are written, and texts under secret names are
//! masked once more here.
//!
//! - `lines`: the export as JSON lines and CSV

mod lines;

use entity::audit_event::Model;
use uuid::Uuid;

pub use lines::{CSV_HEAD, csv_line, json_line};

use super::{BadInput, CommandError, secrets};
use crate::{
    access::Viewer,
    store::{Page, PageWindow, Store, StoreError, audit, deleted_namespaces, namespaces},
};

/// The part of the log that a caller may read. Only created by [`audit_scope`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditScope(Option<Uuid>);

/// An entry, and the name of its namespace.
#[derive(Clone, Debug)]
pub struct NamedAuditEvent {
    /// The entry, with texts under secret names masked.
    pub row: Model,
    /// The namespace that the entry concerns.
    pub namespace: Option<String>,
}

/// Returns the right to read the log of a namespace, or of all namespaces.
pub async fn audit_scope(
    store: &Store,
    who: &Viewer,
    namespace: Option<&str>,
) -> Result<AuditScope, CommandError> {
    let Some(name) = namespace else {
        who.owner()?;
        return Ok(AuditScope(None));
    };
    let right = who.admin()?;
    let found = namespaces::by_name(store.read(), name).await?;
    let id = found.ok_or_else(|| CommandError::not_found("namespace", name))?.id;
    right.permit().over(id, "namespace", name)?;
    Ok(AuditScope(Some(id)))
}

/// Refuses filters that can never match.
pub fn check_audit_filter(filter: &audit::Filter) -> Result<(), BadInput> {
    let letter = |b: u8| b.is_ascii_lowercase() || b == b'_';
    let plain = |word: &str| !word.is_empty() && word.bytes().all(letter);
    match &filter.kind {
        Some(kind) if !plain(kind) => {
            let help = "give the first part of an action, such as schedule, user or token";
            Err(BadInput::new("kind", kind, "is not a kind of subject", help))
        }
        Some(_) | None => Ok(()),
    }
}

/// A page of the log, newest first.
pub async fn audit_page(
    store: &Store,
    AuditScope(namespace): AuditScope,
    filter: audit::Filter,
    window: &PageWindow<Uuid>,
) -> Result<Page<NamedAuditEvent>, CommandError> {
    check_audit_filter(&filter)?;
    let filter = audit::Filter { namespace, ..filter };
    let page = audit::page(store.read(), &filter, window).await?;
    let (has_previous, has_next, total) = (page.has_previous, page.has_next, page.total);
    let rows = named(store, page.rows).await?;
    Ok(Page { rows, has_previous, has_next, total })
}

async fn named(store: &Store, rows: Vec<Model>) -> Result<Vec<NamedAuditEvent>, StoreError> {
    let mut ids: Vec<Uuid> = rows.iter().filter_map(|row| row.namespace_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let known = namespaces::by_ids(store.read(), &ids).await?;
    let named = rows.into_iter().map(|mut row| {
        row.before = row.before.as_ref().map(secrets::masked_json);
        row.after = row.after.as_ref().map(secrets::masked_json);
        let namespace = known.iter().find(|known| Some(known.id) == row.namespace_id);
        NamedAuditEvent { namespace: namespace.cloned().map(deleted_namespaces::known_name), row }
    });
    Ok(named.collect())
}
