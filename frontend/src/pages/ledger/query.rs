//! What narrows the ledger: one query. The page itself reads the terms `verdict:` and `reason:`; the rest selects
//! schedules, in the server's search language. Links may give a verdict and a reason as parameters of their own.

use leptos::prelude::*;

use crate::{
    api::LedgerQuery,
    components::{FieldTerm, QueryBar, QueryField, QueryView, SplitQuery, field_term, split_query},
    data::Listing,
    model::{Failure, LedgerRow, ReasonCode, Verdict},
    pages::{filters::Filters, narrowing::Narrowing, place, suggest, views::use_views},
    state::Range,
};

pub(super) const NAMES: [&str; 4] = [VERDICT, REASON, "q", COLUMNS];
/// What the address holds of the table, which narrows nothing.
pub(super) const COLUMNS: &str = "columns";
const VERDICT: &str = "verdict";
const REASON: &str = "reason";

/// The verdicts by their names in a term: groups first, named as in the totals.
const VERDICTS: [(&str, &[Verdict]); 7] = [
    ("ran", &[Verdict::Started]),
    ("skipped", &[Verdict::Skipped]),
    ("lost", &[Verdict::Missed, Verdict::Collapsed, Verdict::Abandoned]),
    ("open", &[Verdict::Pending]),
    ("missed", &[Verdict::Missed]),
    ("collapsed", &[Verdict::Collapsed]),
    ("abandoned", &[Verdict::Abandoned]),
];
/// The names that links use for some of them.
const LINKED: [(&str, &str); 2] = [("missed", "lost"), ("started", "ran")];

/// Views that every user has.
const VIEWS: [QueryView; 6] = [
    ("Lost", "verdict:lost"),
    ("Open", "verdict:open"),
    ("Late", "verdict:ran reason:late,caught_up,recovered"),
    ("Overlaps", "reason:overlap,buffer_full,replaced"),
    ("Paused or by calendar", "reason:paused,calendar"),
    ("No scheduler was running", "reason:outage,catch_up_window,catch_up_limit"),
];

const FIELDS: [QueryField; 13] = [
    QueryField::new(
        VERDICT,
        "what became of the fire",
        &["ran", "skipped", "lost", "open", "missed", "collapsed", "abandoned"],
    ),
    QueryField::new(REASON, "why", &[]),
    QueryField::new("schedule", "its schedule", &[]),
    QueryField::new("name", "a part of its schedule's name", &[]),
    QueryField::new("tag", "one of its schedule's tags", &[]),
    QueryField::new("workflow", "what it runs", &[]),
    QueryField::new("group", "its schedule's concurrency group", &[]),
    QueryField::new("module", "the module that declares its schedule", &[]),
    QueryField::new("calendar", "one of its schedule's calendars", &[]),
    QueryField::new("zone", "the time zone of its schedule", &[]),
    QueryField::new("note", "a part of its schedule's note", &[]),
    QueryField::new(
        "state",
        "the state of its schedule, or of the last run",
        &["active", "paused", "finished", "exhausted", "failed", "timed_out", "running"],
    ),
    QueryField::new(
        "no",
        "what its schedule lacks",
        &["tag", "module", "group", "calendar", "note"],
    ),
];

/// What a query selects. An empty list selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Narrowed {
    verdicts: Vec<Verdict>,
    reasons: Vec<ReasonCode>,
    search: Option<String>,
}

impl Narrowed {
    /// The query for the list; tracked.
    pub(super) fn rows(self, filters: Filters, range: Range) -> LedgerQuery {
        let (verdicts, reasons) = (self.verdicts.clone(), self.reasons.clone());
        let place = place(filters.address());
        LedgerQuery { verdicts, reasons, place, ..self.totals(filters, range) }
    }

    /// The query for the totals, which covers all verdicts: the totals always add up, and link from one verdict to
    /// another. Tracked.
    pub(super) fn totals(self, filters: Filters, range: Range) -> LedgerQuery {
        let (after, before) = range.bounds();
        LedgerQuery {
            namespace: filters.address().namespace(),
            search: self.search,
            after,
            before,
            ..LedgerQuery::default()
        }
    }
}

/// Whether the address holds a query; tracked.
pub(super) fn is_narrowed(filters: Filters) -> bool {
    [VERDICT, REASON, "q"].into_iter().any(|name| filters.some(name).is_some())
}

/// The address of the ledger without a query; tracked.
pub(super) fn cleared(filters: Filters) -> String {
    filters.href(&[(VERDICT, ""), (REASON, ""), ("q", "")])
}

/// The query that the address holds; tracked.
pub(super) fn text(filters: Filters) -> String {
    whole(&filters.get(VERDICT), &filters.get(REASON), filters.get("q"))
}

fn whole(verdict: &str, reason: &str, query: String) -> String {
    let linked = LINKED.iter().find(|(linked, _)| *linked == verdict);
    let verdict = linked.map_or(verdict, |(_, term)| *term);
    let term = |field: &str, value: &str| (!value.is_empty()).then(|| field_term(field, value));
    let query = (!query.is_empty()).then_some(query);
    let parts = [term(VERDICT, verdict), term(REASON, reason), query];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The terms of the address that select schedules; tracked.
pub(super) fn of_schedules(filters: Filters) -> String {
    split(&filters.get("q")).others()
}

fn split(query: &str) -> SplitQuery {
    split_query(query, &[VERDICT, REASON])
}

/// Reads a query.
///
/// # Errors
/// Fails at the first term that names an unknown verdict or reason, or that excludes all of them.
pub(super) fn read(text: &str) -> Result<Narrowed, Failure> {
    let query = split(text);
    let verdicts = VERDICTS.map(|(name, verdicts)| (name, verdicts.to_vec()));
    let reasons = ReasonCode::ALL.map(|(code, name, _)| (name, vec![code]));
    let of = |field: &'static str| query.terms.iter().filter(move |term| term.field == field);
    Ok(Narrowed {
        verdicts: selected(of(VERDICT), &verdicts)?,
        reasons: selected(of(REASON), &reasons)?,
        // The terms that were read are blank in it: an error's position is that in the whole query.
        search: (!query.rest.trim().is_empty()).then(|| query.rest.clone()),
    })
}

/// What all the terms leave; empty without terms.
fn selected<'a, T: Copy + PartialEq>(
    terms: impl Iterator<Item = &'a FieldTerm>,
    known: &[(&str, Vec<T>)],
) -> Result<Vec<T>, Failure> {
    let mut left = None::<Vec<T>>;
    for term in terms {
        let named = named(term, known)?;
        let mut kept = left.unwrap_or_else(|| all(known));
        kept.retain(|one| named.contains(one) != term.is_negated);
        if kept.is_empty() {
            let why = format!("This leaves no {}: the terms exclude each other.", term.field);
            return Err(term.failure(why));
        }
        left = Some(kept);
    }
    Ok(left.unwrap_or_default())
}

fn named<T: Copy>(term: &FieldTerm, known: &[(&str, Vec<T>)]) -> Result<Vec<T>, Failure> {
    let mut named = Vec::new();
    for value in &term.values {
        let Some((_, of)) = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(value)) else {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let begin = if value.is_empty() {
                "A value is missing.".to_owned()
            } else {
                format!("There is no {} '{value}'.", term.field)
            };
            return Err(term.failure(format!("{begin} It is one of {}.", names.join(", "))));
        };
        named.extend_from_slice(of);
    }
    Ok(named)
}

fn all<T: Copy + PartialEq>(known: &[(&str, Vec<T>)]) -> Vec<T> {
    let mut all = Vec::new();
    for one in known.iter().flat_map(|(_, of)| of) {
        if !all.contains(one) {
            all.push(*one);
        }
    }
    all
}

/// The query bar. It filters while the user types, without adding to the history.
pub(super) fn bar(
    fires: Listing<LedgerRow>,
    filters: Filters,
    narrowing: Narrowing<Narrowed>,
) -> AnyView {
    let search = Callback::new(move |text: String| {
        filters.set(&[(VERDICT, ""), (REASON, ""), ("q", &text)]);
    });
    let calendars = suggest::calendars_in(narrowing.text.into());
    view! {
        <QueryBar
            label="Search the ledger"
            placeholder="verdict:lost -reason:calendar tag:billing"
            value=narrowing.text
            loading=narrowing.waiting(fires.load.loading)
            search=search
            fields=&FIELDS
            views=&VIEWS
            own=use_views("ledger")
            known=Signal::derive(move || known(fires, calendars.get()))
        />
    }
    .into_any()
}

/// All reasons and calendars, and the schedules and zones of the visible rows.
fn known(fires: Listing<LedgerRow>, calendars: Vec<String>) -> Vec<(&'static str, Vec<String>)> {
    let of = |take: &dyn Fn(&LedgerRow) -> Option<String>| fires.distinct(take);
    let reasons = ReasonCode::ALL.map(|(_, name, _)| name.to_owned());
    vec![
        (REASON, reasons.to_vec()),
        ("calendar", calendars),
        ("schedule", of(&|row| row.more.schedule.as_ref().map(|schedule| schedule.name.clone()))),
        (
            "zone",
            of(&|row| row.more.schedule.as_ref().map(|schedule| schedule.timing.zone.clone())),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_and_the_bar_say_the_same() {
        assert_eq!(whole("missed", "outage", String::new()), "verdict:lost reason:outage");
        assert_eq!(whole("skipped", "", "tag:a ".to_owned()), "verdict:skipped tag:a ");
        assert_eq!(whole("", "", " as typed ".to_owned()), " as typed ");
    }

    #[test]
    fn verdicts_and_reasons_are_read_and_the_rest_is_for_the_server() {
        let narrowed = read("verdict:lost tag:a -verdict:missed reason:Outage").unwrap();
        assert_eq!(narrowed.verdicts, [Verdict::Collapsed, Verdict::Abandoned]);
        assert_eq!(narrowed.reasons, [ReasonCode::Outage]);
        assert_eq!(narrowed.search.as_deref().map(str::trim), Some("tag:a"));
        let narrowed = read("-verdict:ran").unwrap();
        assert_eq!((narrowed.verdicts.len(), narrowed.search), (5, None));
        assert_eq!(read(""), Ok(Narrowed::default()));
    }

    #[test]
    fn a_wrong_term_is_refused_at_its_place() {
        let refused = |text: &str| read(text).unwrap_err();
        let unknown = refused("tag:a verdict:gone");
        assert!(unknown.message.starts_with("There is no verdict 'gone'. It is one of ran, "));
        assert_eq!(unknown.position, Some((6, 18)));
        assert!(unknown.is_of_search());
        assert!(refused("reason:").message.starts_with("A value is missing."));
        assert!(refused("verdict:ran verdict:lost").message.contains("exclude each other"));
    }
}
