//! The ledger, the fires of a schedule, and the audit log.

use super::{
    super::{
        Ask,
        operations::{self, AuditEvents, Fires},
    },
    within,
};
use crate::{
    model::{
        AuditEvent, Fire, LedgerRow, LedgerTotals, Page, PageArguments, Place, ReasonCode, Verdict,
    },
    time::Moment,
};

/// Selects fires of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FireQuery {
    pub(crate) schedule: String,
    /// Empty for all verdicts.
    pub(crate) verdicts: Vec<Verdict>,
    /// Only fires that are scheduled at this instant or later, and before the other one.
    pub(crate) from: Option<Moment>,
    pub(crate) until: Option<Moment>,
    pub(crate) place: Place,
}

pub(crate) fn fires(query: FireQuery, size: usize) -> Ask<Page<Fire>> {
    let FireQuery { schedule, verdicts, from, until, place } = query;
    let PageArguments { first, after, last, before } = place.arguments(size);
    Ask::new::<Fires>(operations::fires::Variables {
        schedule_id: schedule,
        verdicts: (!verdicts.is_empty()).then_some(verdicts),
        from,
        until,
        first,
        after,
        last,
        before,
    })
}

/// Filters of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerQuery {
    pub(crate) namespace: String,
    /// A search that selects the schedules, in the search language.
    pub(crate) search: Option<String>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) reasons: Vec<ReasonCode>,
    pub(crate) after: Option<Moment>,
    pub(crate) before: Option<Moment>,
    pub(crate) place: Place,
}

pub(crate) fn ledger(query: LedgerQuery, size: usize) -> Ask<Page<LedgerRow>> {
    let PageArguments { first, after, last, before } = query.place.arguments(size);
    let filter = operations::ledger::LedgerFilter {
        verdicts: (!query.verdicts.is_empty()).then_some(query.verdicts),
        reasons: (!query.reasons.is_empty()).then_some(query.reasons),
        schedule_ids: None,
        after: query.after,
        before: query.before,
    };
    let (namespace, filter, search) = (within(query.namespace), Some(filter), query.search);
    let variables =
        operations::ledger::Variables { namespace, filter, search, first, after, last, before };
    Ask::new::<operations::Ledger>(variables)
}

/// One row of the ledger. It is not found once its retention is over, nor in a namespace that the user may not see.
pub(crate) fn fire(id: String) -> Ask<LedgerRow> {
    Ask::new::<operations::LedgerFire>(operations::ledger_fire::Variables { id })
}

/// The totals of a range of the ledger, over all verdicts.
pub(crate) fn ledger_totals(query: LedgerQuery) -> Ask<LedgerTotals> {
    let filter = operations::ledger_totals::LedgerFilter {
        verdicts: None,
        reasons: None,
        schedule_ids: None,
        after: query.after,
        before: query.before,
    };
    let (namespace, filter, search) = (within(query.namespace), Some(filter), query.search);
    let variables = operations::ledger_totals::Variables { namespace, filter, search };
    Ask::new::<operations::LedgerTotals>(variables)
}

/// Filters of the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuditQuery {
    pub(crate) namespace: String,
    pub(crate) kind: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) actor: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) subject_id: Option<String>,
    pub(crate) after: Option<Moment>,
    pub(crate) before: Option<Moment>,
    pub(crate) place: Place,
}

/// Audit events of the namespace; only its administrators may read them.
pub(crate) fn audit_events(query: AuditQuery, size: usize) -> Ask<Page<AuditEvent>> {
    let PageArguments { first, after, last, before } = query.place.arguments(size);
    let filter = operations::audit_events::AuditFilter {
        actor: query.actor,
        action: query.action,
        kind: query.kind,
        subject_id: query.subject_id,
        subject: query.subject,
        after: query.after,
        before: query.before,
    };
    let (namespace, filter) = (within(query.namespace), Some(filter));
    let variables =
        operations::audit_events::Variables { namespace, filter, first, after, last, before };
    Ask::new::<AuditEvents>(variables)
}
