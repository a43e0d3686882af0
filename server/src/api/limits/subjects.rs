//! The namespaces and schedules that a request's computing fields are asked about, by which it
//! shares places for computing (see `aside`).

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    convert::Infallible,
};

use async_graphql::{
    Name, Value, Variables,
    parser::types::{ExecutableDocument, Field, OperationDefinition, Selection, SelectionSet},
};
use uuid::Uuid;

use super::{heavy, introspection::SelectionKind};

/// Maximum number of names, and of keys, that are looked up for a request: a request may have as
/// many computing fields.
const MAX_LOOKUPS: usize = 20;

/// The fields of an input that are read.
const READ: [&str; 3] = ["namespace", "scheduleId", "id"];
/// The largest text of a variable that is read; longer ones are no names.
const MAX_TEXT: usize = 256;

/// What the computing fields of a request are asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::api) struct Subjects {
    /// The namespaces, by name.
    pub(in crate::api) namespaces: BTreeSet<String>,
    /// The keys of what may be schedules.
    pub(in crate::api) schedules: BTreeSet<Uuid>,
    /// Whether a field names neither, so that it may be about anything that the caller sees.
    pub(in crate::api) is_open: bool,
}

impl Subjects {
    /// The subjects of a request that has not been read.
    pub(super) fn unknown() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    /// The subjects of those fields of the operations that compute or contain a field that does;
    /// of all fields if there are none, because then the request is heavy by its length. The
    /// document's nesting was limited before.
    pub(super) fn of(document: &ExecutableDocument, variables: &Variables) -> Self {
        let find = |kept: Kept| {
            let mut finder = SubjectFinder {
                document,
                variables,
                kept,
                computing: HashMap::new(),
                roots: HashSet::new(),
                found: None,
            };
            for (_, operation) in document.operations.iter() {
                let operation = &operation.node;
                finder.roots.clear();
                finder.add_all(operation, &operation.selection_set.node);
            }
            finder.found
        };
        let found = find(Kept::Computing).or_else(|| find(Kept::All));
        let found = found.unwrap_or_else(Self::unknown);
        let has_many = found.namespaces.len() > MAX_LOOKUPS || found.schedules.len() > MAX_LOOKUPS;
        if has_many { Self::unknown() } else { found }
    }

    fn add(&mut self, namespace: Option<String>, key: Option<Uuid>) {
        self.is_open |= namespace.is_none() && key.is_none();
        self.namespaces.extend(namespace);
        self.schedules.extend(key);
    }
}

/// Which fields of an operation count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    All,
    Computing,
}

struct SubjectFinder<'a> {
    document: &'a ExecutableDocument,
    variables: &'a Variables,
    kept: Kept,
    /// Whether a fragment contains a field that computes.
    computing: HashMap<(&'a Name, SelectionKind), bool>,
    /// The fragments of the current operation whose fields have been added.
    roots: HashSet<&'a Name>,
    found: Option<Subjects>,
}

impl<'a> SubjectFinder<'a> {
    /// Adds the subjects of the fields of an operation, `set` or a fragment in it.
    fn add_all(&mut self, operation: &'a OperationDefinition, set: &'a SelectionSet) {
        for item in &set.items {
            match &item.node {
                Selection::Field(field) => self.add(operation, &field.node),
                Selection::InlineFragment(fragment) => {
                    self.add_all(operation, &fragment.node.selection_set.node);
                }
                Selection::FragmentSpread(spread) => {
                    let (document, name) = (self.document, &spread.node.fragment_name.node);
                    if let Some(fragment) = document.fragments.get(name)
                        && self.roots.insert(name)
                    {
                        self.add_all(operation, &fragment.node.selection_set.node);
                    }
                }
            }
        }
    }

    fn add(&mut self, operation: &'a OperationDefinition, field: &'a Field) {
        if self.kept == Kept::Computing && !self.computes(field, SelectionKind::Data) {
            return;
        }
        let arguments = Arguments { operation, variables: self.variables, field };
        let key = ["scheduleId", "id"].into_iter().find_map(|name| arguments.text(name));
        let key = key.and_then(|key| Uuid::parse_str(&key).ok());
        self.found.get_or_insert_default().add(arguments.text("namespace"), key);
    }

    fn computes(&mut self, field: &'a Field, within: SelectionKind) -> bool {
        let name = field.name.node.as_str();
        // A field that nests too deep is refused later. Introspection computes as well.
        let Some(inside) = within.enter(name) else { return true };
        heavy::is(within, name)
            || matches!(inside, SelectionKind::Schema(_))
            || self.any_computes(&field.selection_set.node, inside)
    }

    fn any_computes(&mut self, set: &'a SelectionSet, within: SelectionKind) -> bool {
        set.items.iter().any(|item| match &item.node {
            Selection::Field(field) => self.computes(&field.node, within),
            Selection::InlineFragment(fragment) => {
                let on = fragment.node.type_condition.as_ref();
                let inside = on.map_or(within, |on| within.narrow(&on.node.on.node));
                self.any_computes(&fragment.node.selection_set.node, inside)
            }
            Selection::FragmentSpread(spread) => {
                self.fragment_computes(&spread.node.fragment_name.node, within)
            }
        })
    }

    fn fragment_computes(&mut self, name: &'a Name, within: SelectionKind) -> bool {
        if let Some(known) = self.computing.get(&(name, within)) {
            return *known;
        }
        let document = self.document;
        let Some(fragment) = document.fragments.get(name) else { return false };
        let inside = within.narrow(&fragment.node.type_condition.node.on.node);
        let computes = self.any_computes(&fragment.node.selection_set.node, inside);
        self.computing.insert((name, within), computes);
        computes
    }
}

/// The arguments of a field.
struct Arguments<'a> {
    operation: &'a OperationDefinition,
    variables: &'a Variables,
    field: &'a Field,
}

impl Arguments<'_> {
    /// The text of an argument, or of a field of the argument `input`.
    fn text(&self, name: &str) -> Option<String> {
        let given = self.value(name).or_else(|| {
            let Value::Object(fields) = self.value("input")? else { return None };
            fields.get(name).cloned()
        });
        if let Value::String(text) = given? { Some(text) } else { None }
    }

    fn value(&self, name: &str) -> Option<Value> {
        let given = self.field.get_argument(name)?.node.clone();
        given.into_const_with(|name| Ok::<_, Infallible>(self.variable(&name))).ok()
    }

    /// What is read of a variable's value: it may be large.
    fn variable(&self, name: &Name) -> Value {
        let value = self.variables.get(name).or_else(|| {
            let mut definitions = self.operation.variable_definitions.iter();
            let definition = definitions.find(|definition| definition.node.name.node == *name)?;
            definition.node.default_value.as_ref().map(|value| &value.node)
        });
        match value {
            Some(Value::Object(fields)) => {
                let named = READ.into_iter().filter_map(|name| {
                    let value = short(fields.get(name)?);
                    Some((Name::new(name), value))
                });
                Value::Object(named.collect())
            }
            Some(value) => short(value),
            None => Value::Null,
        }
    }
}

/// The value if it is a short text.
fn short(value: &Value) -> Value {
    if let Value::String(text) = value
        && text.len() <= MAX_TEXT
    {
        return value.clone();
    }
    Value::Null
}

#[cfg(test)]
mod tests {
    use async_graphql::{Request, value};

    use super::*;

    const KEY: Uuid = Uuid::from_u128(7);

    fn subjects(query: &str, variables: Value) -> Subjects {
        let mut request = Request::new(query);
        let variables = Variables::from_value(variables);
        Subjects::of(request.parsed_query().unwrap(), &variables)
    }

    fn about(namespaces: &[&str], schedules: &[Uuid], is_open: bool) -> Subjects {
        let namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
        Subjects { namespaces, schedules: schedules.iter().copied().collect(), is_open }
    }

    #[test]
    fn a_computing_field_is_about_the_namespace_that_it_names() {
        for (query, variables) in [
            ("{ me { id } upcoming(namespace: \"a\") { total } }", value!({})),
            ("query($n: String) { upcoming(namespace: $n) { total } }", value!({ "n": "a" })),
            ("query($n: String = \"a\") { upcoming(namespace: $n) { total } }", value!({})),
            ("{ ...f } fragment f on Query { upcoming(namespace: \"a\") { total } }", value!({})),
            ("{ schedules(namespace: \"a\") { nodes { nextFires { at } } } }", value!({})),
            (
                "{ schedules(namespace: \"a\") { nodes { ...f } } runs(namespace: \"b\") { n } }
                 fragment f on Schedule { timing { ...g } } fragment g on Timing { warnings }",
                value!({}),
            ),
            (
                "query($i: X) { alertRulePreview(input: $i) { total } }",
                value!({ "i": { "namespace": "a", "name": "x" } }),
            ),
            (
                "query($n: String) { alertRulePreview(input: { namespace: $n }) { total } }",
                value!({ "n": "a" }),
            ),
        ] {
            assert_eq!(subjects(query, variables), about(&["a"], &[], false), "{query}");
        }
    }

    #[test]
    fn a_computing_field_is_about_its_schedule() {
        let key = KEY.to_string();
        let query = "query($id: UUID!) { schedule(id: $id) { nextFires { at } } }";
        assert_eq!(subjects(query, value!({ "id": key.clone() })), about(&[], &[KEY], false));
        let query =
            "query($id: UUID!) { schedulePreview(scheduleId: $id, namespace: \"a\") { at } }";
        assert_eq!(subjects(query, value!({ "id": key })), about(&["a"], &[KEY], false));
    }

    #[test]
    fn a_field_that_names_nothing_may_be_about_anything() {
        for query in [
            "{ timezones }",
            "{ __schema { types { name } } }",
            "{ upcoming(namespace: null) { total } }",
            "{ schedule(id: \"x\") { nextFires { at } } }",
        ] {
            assert_eq!(subjects(query, value!({})), about(&[], &[], true), "{query}");
        }
        let both = "{ timezones upcoming(namespace: \"a\") { total } }";
        assert_eq!(subjects(both, value!({})), about(&["a"], &[], true));
        let many: String = (0..=MAX_LOOKUPS)
            .map(|number| format!("a{number}: upcoming(namespace: \"n{number}\") {{ total }} "))
            .collect();
        assert_eq!(subjects(&format!("{{ {many} }}"), value!({})), Subjects::unknown());
    }

    #[test]
    fn a_request_that_is_heavy_by_its_length_is_about_all_that_its_fields_name() {
        let query = "mutation($i: X) { createSchedule(input: $i) { schedule { id } } }";
        let long = "x".repeat(MAX_TEXT + 1);
        let input = value!({ "namespace": "a", "note": long.clone() });
        assert_eq!(subjects(query, value!({ "i": input })), about(&["a"], &[], false));
        let input = value!({ "namespace": long });
        assert_eq!(subjects(query, value!({ "i": input })), about(&[], &[], true));
    }
}
