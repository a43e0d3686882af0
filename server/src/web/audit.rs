use std::{io, vec};

use axum::{
    body::Body,
    extract::{Extension, Query, State, rejection::QueryRejection},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use chrono::{DateTime, Utc};
use futures::{Stream, StreamExt, stream};
use serde::Deserialize;
use uuid::Uuid;

use super::{Web, auth::Requester, refusal::Refusal};
use crate::{
    bulkhead::BulkheadPlace,
    commands::{
        AuditScope, CSV_HEAD, CommandError, NamedAuditEvent, audit_page, audit_scope,
        check_audit_filter, csv_line, json_line,
    },
    store::{PageWindow, audit},
};

/// Number of entries read at once, because one may have half a megabyte.
const BATCH: u64 = 20;
/// Seconds until a retry is worthwhile.
const PAUSE: u64 = 30;

/// Which entries to export, and in what format.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditExportQuery {
    #[serde(default)]
    format: Format,
    namespace: Option<String>,
    actor: Option<String>,
    action: Option<String>,
    kind: Option<String>,
    subject: Option<String>,
    subject_id: Option<Uuid>,
    after: Option<DateTime<Utc>>,
    before: Option<DateTime<Utc>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Jsonl,
    Csv,
}

impl Format {
    fn content_type(self) -> &'static str {
        match self {
            Self::Jsonl => "application/jsonl; charset=utf-8",
            Self::Csv => "text/csv; charset=utf-8; header=present",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::Jsonl => "attachment; filename=\"carillon-audit.jsonl\"",
            Self::Csv => "attachment; filename=\"carillon-audit.csv\"",
        }
    }

    fn line(self, entry: &NamedAuditEvent) -> String {
        match self {
            Self::Jsonl => json_line(entry),
            Self::Csv => csv_line(entry),
        }
    }
}

/// Exports the audit log as a file, newest first. Callers who may not read it are refused before it
/// begins.
pub(super) async fn export(
    State(web): State<Web>,
    Extension(asking): Extension<Requester>,
    wanted: Result<Query<AuditExportQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(wanted) = wanted.map_err(|rejection| {
        let text = format!(
            "{}; 'format' is jsonl or csv; 'namespace', 'actor', 'action', 'kind', 'subject', \
             'subject_id', 'after' and 'before' narrow it",
            rejection.body_text()
        );
        Refusal::new(StatusCode::BAD_REQUEST, text)
    })?;
    let place = web.exports.try_enter(asking.caller()).ok_or_else(|| {
        let text = "you, or this node, have the maximum number of exports in progress; try again \
                    later";
        Refusal::too_many(text, PAUSE)
    })?;
    let filter = audit::Filter {
        namespace: None,
        actor: wanted.actor,
        action: wanted.action,
        kind: wanted.kind,
        subject_id: wanted.subject_id,
        subject: wanted.subject,
        after: wanted.after.map(Into::into),
        before: wanted.before.map(Into::into),
    };
    check_audit_filter(&filter).map_err(|bad| refused(bad.into()))?;
    let format = wanted.format;
    let mut export = Export {
        web,
        asking,
        namespace: wanted.namespace,
        filter,
        scope: None,
        rows: vec![].into_iter(),
        next: None,
        _place: place,
    };
    // Reads the first batch before the response begins, because refusals and failures have their
    // own status.
    export.read(None).await?;
    let head = match format {
        Format::Jsonl => None,
        Format::Csv => Some(Ok(CSV_HEAD.to_owned())),
    };
    let lines = export.rows().map(move |row| row.map(|row| format.line(&row)));
    let body = Body::from_stream(stream::iter(head).chain(lines));
    let headers = [
        (header::CONTENT_TYPE, format.content_type()),
        (header::CONTENT_DISPOSITION, format.file()),
    ];
    Ok((headers, body).into_response())
}

/// An export in progress. Only one batch of the log is in memory.
struct Export {
    web: Web,
    asking: Requester,
    namespace: Option<String>,
    filter: audit::Filter,
    /// The part of the log that the caller could read at first; it never becomes larger.
    scope: Option<AuditScope>,
    rows: vec::IntoIter<NamedAuditEvent>,
    /// The entry after which to continue.
    next: Option<Uuid>,
    _place: BulkheadPlace,
}

impl Export {
    /// Reads a batch with the caller's current rights, so that an export does not outlive them.
    async fn read(&mut self, after: Option<Uuid>) -> Result<(), Refusal> {
        let Requester { credential, address, .. } = &self.asking;
        let who = credential.viewer(&self.web, *address).await?;
        let who = who.ok_or_else(|| Refusal::unauthenticated("sign in, or send a token"))?;
        let store = &self.web.store;
        let scope = audit_scope(store, &who, self.namespace.as_deref()).await.map_err(refused)?;
        if *self.scope.get_or_insert(scope) != scope {
            return Err(Refusal::new(StatusCode::CONFLICT, "the namespace has changed"));
        }
        let window = PageWindow { after, ..PageWindow::first(BATCH) };
        let page = audit_page(store, scope, self.filter.clone(), &window).await.map_err(refused)?;
        let last = page.rows.last().map(|entry| entry.row.id);
        self.next = last.filter(|_| page.has_next);
        self.rows = page.rows.into_iter();
        Ok(())
    }

    /// The log, entry by entry. It ends when the caller loses the right to read it.
    fn rows(self) -> impl Stream<Item = io::Result<NamedAuditEvent>> {
        stream::try_unfold(self, |mut export| async move {
            loop {
                if let Some(row) = export.rows.next() {
                    return Ok(Some((row, export)));
                }
                let Some(after) = export.next else { return Ok(None) };
                if let Err(refusal) = export.read(Some(after)).await {
                    tracing::warn!(?refusal, "an export of the audit log was interrupted");
                    return Err(io::Error::other("the export was interrupted"));
                }
            }
        })
    }
}

fn refused(error: CommandError) -> Refusal {
    let text = error.to_string();
    match error {
        CommandError::BadInput(_) => Refusal::new(StatusCode::BAD_REQUEST, text),
        CommandError::NotFound { .. } => Refusal::new(StatusCode::NOT_FOUND, text),
        CommandError::Unauthenticated => Refusal::unauthenticated(&text),
        CommandError::PasswordChangeRequired => Refusal::password_change(),
        CommandError::Forbidden { .. }
        | CommandError::OtherQueue { .. }
        | CommandError::Denied { .. } => Refusal::new(StatusCode::FORBIDDEN, text),
        CommandError::Conflict { .. } | CommandError::Quota { .. } => {
            Refusal::new(StatusCode::CONFLICT, text)
        }
        CommandError::TooOften(seconds) => Refusal::too_many(text, seconds),
        CommandError::Busy => Refusal::too_many(text, 1),
        error @ (CommandError::Unreadable { .. }
        | CommandError::Store(_)
        | CommandError::Engine(_)) => Refusal::internal(&error),
    }
}
