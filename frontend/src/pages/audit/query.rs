//! What narrows the audit log: one query, which the page reads itself, because the server takes one value per field.
//! Links may give each field as a parameter of its own.

use leptos::prelude::*;

use crate::{
    api::AuditQuery,
    components::{
        FieldTerm, QueryBar, QueryField, QueryView, SplitQuery, field_term, is_id, plain_words,
        split_query,
    },
    data::Listing,
    model::{AuditEvent, Failure},
    pages::{filters::Filters, narrowing::Narrowing, place, views::use_views},
    state::Range,
};

pub(super) const NAMES: [&str; 6] = ["kind", "action", "actor", "subject", "id", "q"];
/// The parameters that are terms of the query, too.
const FIELD_NAMES: [&str; 5] = ["kind", "action", "actor", "subject", "id"];

/// The prefixes of actions.
const KINDS: [&str; 25] = [
    "schedule",
    "buffer",
    "run",
    "backfill",
    "workflow",
    "calendar",
    "maintenance",
    "group",
    "module",
    "alert",
    "alert_rule",
    "alert_channel",
    "notification",
    "problem",
    "secret",
    "user",
    "membership",
    "token",
    "session",
    "namespace",
    "node",
    "worker_queue",
    "health_budget",
    "target",
    "feed",
];

/// Views that every user has.
const VIEWS: [QueryView; 7] = [
    ("Schedules", "kind:schedule"),
    ("Deleted schedules", "action:schedule.delete"),
    ("Deployments", "kind:module"),
    ("People", "kind:user"),
    ("Roles", "kind:membership"),
    ("Secrets", "kind:secret"),
    ("Command line", "actor:cli"),
];

const FIELDS: [QueryField; 5] = [
    QueryField { name: "kind", hint: "what was changed", values: &KINDS },
    QueryField { name: "action", hint: "what was done, such as schedule.pause", values: &[] },
    QueryField { name: "actor", hint: "who did it", values: &["cli", "system"] },
    QueryField { name: "subject", hint: "the name of what was changed", values: &[] },
    QueryField { name: "id", hint: "the id of what was changed", values: &[] },
];

/// What a query selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Narrowed {
    kind: Option<String>,
    action: Option<String>,
    actor: Option<String>,
    subject: Option<String>,
    id: Option<String>,
}

impl Narrowed {
    /// The query for the list; tracked.
    pub(super) fn rows(self, filters: Filters, range: Range) -> AuditQuery {
        let (after, before) = range.bounds();
        let Self { kind, action, actor, subject, id } = self;
        AuditQuery {
            namespace: filters.address().namespace(),
            kind,
            action,
            actor,
            subject,
            subject_id: id,
            after,
            before,
            place: place(filters.address()),
        }
    }

    fn field(&mut self, name: &str) -> &mut Option<String> {
        match name {
            "kind" => &mut self.kind,
            "action" => &mut self.action,
            "actor" => &mut self.actor,
            "id" => &mut self.id,
            _ => &mut self.subject,
        }
    }
}

/// The query that the address holds; tracked.
pub(super) fn text(filters: Filters) -> String {
    let term = |name: &str| filters.some(name).map(|value| field_term(name, &value));
    let terms = FIELD_NAMES.into_iter().filter_map(term);
    terms.chain(filters.some("q")).collect::<Vec<_>>().join(" ")
}

/// The address of the page with another value of a field, in place of the one in the query; tracked.
pub(super) fn href(filters: Filters, name: &'static str, value: &str) -> String {
    let others = split_query(&filters.get("q"), &[name]).others();
    filters.href(&[(name, value), ("q", &others)])
}

/// Reads a query. Words without a field are a subject.
///
/// # Errors
/// The first term that the server could not answer.
pub(super) fn read(text: &str) -> Result<Narrowed, Failure> {
    let query = split_query(text, &FIELD_NAMES);
    let mut narrowed = Narrowed::default();
    for term in &query.terms {
        let value = value(term)?;
        if narrowed.field(term.field).replace(value).is_some() {
            return Err(term.failure(format!("Name one {} only.", term.field)));
        }
    }
    if let Some(words) = words(&query)?
        && narrowed.subject.replace(words).is_some()
    {
        return Err(query.failure("Name one subject only. Words without a field are a subject."));
    }
    Ok(narrowed)
}

/// The value of a term, if the server can search by it.
fn value(term: &FieldTerm) -> Result<String, Failure> {
    let field = term.field;
    if term.is_negated {
        return Err(
            term.failure("The audit log is only searched for what it has: leave the - out.")
        );
    }
    let [value] = term.values.as_slice() else {
        return Err(term.failure(format!("Name one {field} only.")));
    };
    let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let why = match field {
        _ if value.is_empty() => "A value is missing.",
        "kind" if !is_plain(value) => "A kind is the first part of an action, such as schedule.",
        "id" if !is_id(value) => "An id looks like 01a1fdd1-d28b-752d-ae50-549f33dabb5f.",
        _ => return Ok(value.clone()),
    };
    Err(term.failure(why))
}

/// The words without a field, if there are any.
fn words(query: &SplitQuery) -> Result<Option<String>, Failure> {
    let words = query.other_terms();
    let has_field =
        |word: &&str| !word.starts_with('"') && (word.contains(':') || word.starts_with('-'));
    if words.iter().any(has_field) {
        let fields = FIELD_NAMES.join(", ");
        let why = format!("The fields of the audit log are {fields}. A subject may be in quotes.");
        return Err(query.failure(why));
    }
    Ok((!words.is_empty()).then(|| plain_words(&words.join(" "))))
}

/// The query bar. It filters while the user types, without adding to the history.
pub(super) fn bar(
    events: Listing<AuditEvent>,
    filters: Filters,
    narrowing: Narrowing<Narrowed>,
) -> AnyView {
    let search = Callback::new(move |text: String| {
        let mut changes = FIELD_NAMES.map(|name| (name, "")).to_vec();
        changes.push(("q", text.as_str()));
        filters.set(&changes);
    });
    view! {
        <QueryBar
            label="Search the audit log"
            placeholder="nightly-report kind:schedule actor:ada"
            value=narrowing.text
            loading=narrowing.waiting(events.load.loading)
            search=search
            fields=&FIELDS
            views=&VIEWS
            own=use_views("audit")
            known=Signal::derive(move || known(events))
        />
    }
    .into_any()
}

/// The actors, actions and subjects of the visible entries.
fn known(events: Listing<AuditEvent>) -> Vec<(&'static str, Vec<String>)> {
    let of = |take: &dyn Fn(&AuditEvent) -> Option<String>| events.distinct(take);
    vec![
        ("action", of(&|event| Some(event.action.clone()))),
        ("actor", of(&|event| Some(event.actor.clone()))),
        ("subject", of(&|event| Some(event.subject.clone()))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_term_fills_its_field_and_plain_words_are_a_subject() {
        let narrowed = read(r#"kind:alert_rule "two words" actor:"ada/a token""#).unwrap();
        assert_eq!(narrowed.kind.as_deref(), Some("alert_rule"));
        assert_eq!(narrowed.subject.as_deref(), Some("two words"));
        assert_eq!(narrowed.actor.as_deref(), Some("ada/a token"));
        assert_eq!(read(r#""say a:b -c""#).unwrap().subject.as_deref(), Some("say a:b -c"));
        assert_eq!(read("a b").unwrap().subject.as_deref(), Some("a b"));
        assert_eq!(read(" "), Ok(Narrowed::default()));
    }

    #[test]
    fn what_the_server_cannot_answer_is_refused_at_its_place() {
        let place = |text: &str| read(text).unwrap_err().position;
        assert_eq!(place("kind:run kind:user"), Some((9, 18)));
        assert_eq!(place("nightly -actor:ada"), Some((8, 18)));
        assert_eq!(place("actor:ada,eve"), Some((0, 13)));
        assert_eq!(place("kind:Run"), Some((0, 8)));
        assert_eq!(place("actor:"), Some((0, 6)));
        assert_eq!(place("id:7"), Some((0, 4)));
        assert_eq!(place("kind:run tag:x"), Some((9, 14)));
        assert_eq!(place("one subject:two"), Some((0, 3)));
    }
}
