//! Tests the model against the schema. For each operation, a sample answer is generated from the schema, once with
//! every optional field and once without, and the model must be able to read it.

use std::{collections::BTreeMap, fs};

use graphql_parser::{
    query::{
        Definition, Document, OperationDefinition, Selection, SelectionSet, TypeCondition,
        parse_query,
    },
    schema::{self, Type, TypeDefinition, parse_schema},
};
use serde_json::{Map, Value, json};

use super::{
    ask::{self, pluck},
    operations,
};
use crate::model::ScheduleDetail;

type Fields<'a> = BTreeMap<&'a str, &'a Type<'a, &'a str>>;

/// The types of the schema.
struct World<'a> {
    fields: BTreeMap<&'a str, Fields<'a>>,
    /// The first value of each enum.
    enums: BTreeMap<&'a str, &'a str>,
    members: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> World<'a> {
    fn of(document: &'a schema::Document<'a, &'a str>) -> Self {
        let mut world =
            Self { fields: BTreeMap::new(), enums: BTreeMap::new(), members: BTreeMap::new() };
        for definition in &document.definitions {
            let schema::Definition::TypeDefinition(definition) = definition else { continue };
            match definition {
                TypeDefinition::Object(object) => {
                    let fields = object.fields.iter().map(|field| (field.name, &field.field_type));
                    world.fields.insert(object.name, fields.collect());
                }
                TypeDefinition::Enum(values) => {
                    world.enums.insert(values.name, values.values[0].name);
                }
                TypeDefinition::Union(union) => {
                    world.members.insert(union.name, union.types.clone());
                }
                TypeDefinition::Scalar(_)
                | TypeDefinition::Interface(_)
                | TypeDefinition::InputObject(_) => {}
            }
        }
        world
    }
}

/// A way to build an answer: with or without optional fields, and with one of the members of each union.
struct Sample<'a> {
    world: &'a World<'a>,
    fragments: BTreeMap<&'a str, &'a SelectionSet<'a, &'a str>>,
    is_full: bool,
    member: usize,
}

impl<'a> Sample<'a> {
    fn object(&self, name: &'a str, selection: &SelectionSet<'a, &'a str>) -> Value {
        let name = match self.world.members.get(name) {
            Some(members) => members[self.member % members.len()],
            // For an interface, take the type that the query names in a fragment.
            None => narrowed(selection).unwrap_or(name),
        };
        let mut object = Map::new();
        self.fill(&mut object, name, selection);
        Value::Object(object)
    }

    fn fill(
        &self,
        object: &mut Map<String, Value>,
        name: &'a str,
        selection: &SelectionSet<'a, &'a str>,
    ) {
        for item in &selection.items {
            match item {
                Selection::Field(field) if field.name == "__typename" => {
                    object.insert("__typename".to_owned(), name.into());
                }
                Selection::Field(field) => {
                    let kind = self.world.fields[name][field.name];
                    let key = field.alias.unwrap_or(field.name).to_owned();
                    object.insert(key, self.value(kind, &field.selection_set, false));
                }
                Selection::FragmentSpread(spread) => {
                    self.fill(object, name, self.fragments[spread.fragment_name]);
                }
                Selection::InlineFragment(inline) => {
                    let fits = match inline.type_condition {
                        Some(TypeCondition::On(wanted)) => wanted == name,
                        None => true,
                    };
                    if fits {
                        self.fill(object, name, &inline.selection_set);
                    }
                }
            }
        }
    }

    fn value(
        &self,
        kind: &'a Type<'a, &'a str>,
        selection: &SelectionSet<'a, &'a str>,
        is_there: bool,
    ) -> Value {
        match kind {
            Type::NonNullType(kind) => self.value(kind, selection, true),
            _ if !is_there && !self.is_full => Value::Null,
            Type::ListType(kind) => json!([self.value(kind, selection, true)]),
            Type::NamedType(name) => match *name {
                "Int" => json!(7),
                "Long" => json!(9_007_199_254_740_991_i64),
                "Float" => json!(1.5),
                "Boolean" => json!(true),
                "String" | "UUID" | "ID" => json!("x"),
                "DateTime" => json!("2026-11-21T09:33:30.123456Z"),
                "JSON" => json!({ "any": [1] }),
                name => match self.world.enums.get(name) {
                    Some(value) => json!(value),
                    None => self.object(name, selection),
                },
            },
        }
    }
}

/// The type of the first inline fragment.
fn narrowed<'a>(selection: &SelectionSet<'a, &'a str>) -> Option<&'a str> {
    selection.items.iter().find_map(|item| match item {
        Selection::InlineFragment(inline) => {
            inline.type_condition.as_ref().map(|TypeCondition::On(name)| *name)
        }
        Selection::Field(_) | Selection::FragmentSpread(_) => None,
    })
}

/// The root type and selection of a document's only operation.
fn root<'a>(document: &'a Document<'a, &'a str>) -> (&'a str, &'a SelectionSet<'a, &'a str>) {
    let operation = document.definitions.iter().find_map(|definition| match definition {
        Definition::Operation(operation) => Some(operation),
        Definition::Fragment(_) => None,
    });
    match operation.expect("a document has an operation") {
        OperationDefinition::Query(query) => ("Query", &query.selection_set),
        OperationDefinition::Mutation(mutation) => ("Mutation", &mutation.selection_set),
        OperationDefinition::Subscription(events) => ("Subscription", &events.selection_set),
        OperationDefinition::SelectionSet(selection) => ("Query", selection),
    }
}

/// Leaks a value, because all types of the parser share one lifetime. This is acceptable in a test.
fn kept<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

#[test]
fn every_answer_that_the_schema_promises_is_read() {
    let text = kept(fs::read_to_string("../server/schema.graphql").expect("the schema is there"));
    let world = kept(World::of(kept(parse_schema::<&str>(text).expect("the schema is one"))));
    let all = [
        operations::ALL,
        operations::alerts::ALL,
        operations::planning::ALL,
        operations::settings::ALL,
        operations::workers::ALL,
    ];
    for (file, at, read) in all.into_iter().flatten() {
        let text = kept(fs::read_to_string(file).expect("the operation is there"));
        let query = kept(parse_query::<&str>(text).expect("the operation is one"));
        let (root, selection) = root(query);
        let fragments = query.definitions.iter().filter_map(|definition| match definition {
            Definition::Fragment(fragment) => Some((fragment.name, &fragment.selection_set)),
            Definition::Operation(_) => None,
        });
        let fragments: BTreeMap<_, _> = fragments.collect();
        for (is_full, member) in [(true, 0), (true, 1), (true, 2), (false, 0)] {
            let sample = Sample { world, fragments: fragments.clone(), is_full, member };
            let mut data = sample.object(root, selection);
            // A null root means that nothing was found, so there is no answer to deserialize.
            let Some(answer) = pluck(&mut data, at) else {
                assert!(!is_full, "{file}: nothing stands at {at}");
                continue;
            };
            assert_eq!(read(answer.clone()), None, "{file}: {answer:#}");
            // The console reads the tasks of a schedule only where it shows them.
            if *file == "graphql/schedule.graphql" {
                let schedule: ScheduleDetail = ask::read(answer).expect("it is read");
                let tasks = schedule.more.work.tasks();
                assert_eq!(tasks.map(|tasks| tasks.len()), Ok(1), "{file}");
            }
        }
    }
}
