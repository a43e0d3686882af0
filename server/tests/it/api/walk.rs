//! All fields of the schema with arguments and selections, generated from its types.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Value, json};

use super::{desk::Desk, planted};

/// Fields that contain the name of an existing object, wherever they occur.
const NAMING: [&str; 5] = ["calendars", "group", "module", "schedule", "workflow"];
/// Root fields whose argument `name` is the name of an existing object.
const NAMED: [&str; 7] = [
    "adoptModuleDrift",
    "calendar",
    "deleteSecret",
    "moduleDrift",
    "revertModuleDrift",
    "schedule",
    "workflow",
];

const TYPE: &str = "kind name ofType { kind name ofType { kind name ofType { kind name } } }";

/// The types of the schema, and the keys of existing objects.
pub(super) struct Walk {
    types: Arc<HashMap<String, Value>>,
    /// The keys, each with a word: a field whose name contains the word takes this key.
    pub(super) keys: Vec<(&'static str, String)>,
    /// The namespace of the objects.
    namespace: &'static str,
}

/// A position for a key: a root field, one of its arguments, and the path inside the argument.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) field: String,
    pub(super) path: Vec<String>,
}

/// A field that returns a list.
pub(super) struct List {
    /// The list's name, such as `Run.tasks`.
    pub(super) name: String,
    /// The type of the list's items, or of the connection that contains the list.
    pub(super) kind: String,
    pub(super) args: Vec<String>,
}

/// A number in an answer.
pub(super) struct Told {
    /// The field's name, such as `Run.durationMs`.
    pub(super) field: String,
    pub(super) scalar: String,
    pub(super) number: f64,
}

/// A root field, as a query.
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) text: String,
}

impl Walk {
    /// Builds the walk in a namespace that has one of each object, beside another one that is
    /// empty.
    pub(super) async fn begin(desk: &Desk) -> Self {
        let mut keys = planted::one_of_each(desk, "default").await;
        let people = "mutation {
            createServiceAccount(input: { name: \"bob\" }) { user { id } }
            createNamespace(name: \"other\") { namespace { id } }
        }";
        let made = desk.ask(people, json!({})).await;
        let token = desk
            .ask(
                "mutation { createApiToken(input: {
                    name: \"ci\", role: VIEWER, serviceAccount: \"bob\"
                }) { apiToken { id } } }",
                json!({}),
            )
            .await;
        let of = |of: &Value, path: &str| of.pointer(path).unwrap().as_str().unwrap().to_owned();
        keys.push(("user", of(&made, "/createServiceAccount/user/id")));
        keys.push(("token", of(&token, "/createApiToken/apiToken/id")));
        keys.push(("deleteview", uuid::Uuid::nil().to_string()));
        let query = format!(
            "{{ __schema {{ types {{
                name kind
                fields {{ name type {{ {TYPE} }} args {{ name defaultValue type {{ {TYPE} }} }} }}
                inputFields {{ name defaultValue type {{ {TYPE} }} }}
                enumValues {{ name }}
            }} }} }}"
        );
        let answer = desk.ask(&query, json!({})).await;
        let types = answer["__schema"]["types"].as_array().unwrap();
        let named = |of: &Value| (of["name"].as_str().unwrap().to_owned(), of.clone());
        let types = Arc::new(types.iter().map(named).collect());
        Self { types, keys, namespace: "default" }
    }

    /// Creates one of each object in another namespace; returns a walk of that namespace.
    pub(super) async fn beside(&self, desk: &Desk, namespace: &'static str) -> Self {
        let keys = planted::one_of_each(desk, namespace).await;
        Self { types: self.types.clone(), keys, namespace }
    }

    /// All fields of a root type, with arguments.
    pub(super) fn fields(&self, root: &str) -> Vec<Asked> {
        let fields = self.types[root]["fields"].as_array().unwrap();
        fields.iter().map(|field| self.asked(field)).collect()
    }

    /// All fields of a query's root type, with nested selections.
    pub(super) fn deep_fields(&self) -> Vec<Asked> {
        let fields = self.types["Query"]["fields"].as_array().unwrap();
        let deep = |field| {
            let Asked { name, text } = self.asked(field);
            let selection = self.selection(named(field), 2);
            Asked { text: text.replace(" { __typename }", &selection), name }
        };
        fields.iter().map(deep).collect()
    }

    /// All numbers in an answer to a query.
    pub(super) fn numbers(&self, answer: &Value) -> Vec<Told> {
        let mut all = Vec::new();
        self.collect("Query", answer, &mut all);
        all
    }

    fn collect(&self, of: &str, answer: &Value, all: &mut Vec<Told>) {
        for field in self.types[of]["fields"].as_array().into_iter().flatten() {
            let (name, kind) = (field["name"].as_str().unwrap(), named(field));
            let answer = &answer[name];
            let items = answer.as_array().map_or(std::slice::from_ref(answer), Vec::as_slice);
            for item in items {
                match item.as_f64().filter(|_| kind != "JSON") {
                    Some(number) => {
                        let (field, scalar) = (format!("{of}.{name}"), kind.to_owned());
                        all.push(Told { field, scalar, number });
                    }
                    None if item.is_object() => self.collect(kind, item, all),
                    None => {}
                }
            }
        }
    }

    /// All fields that return a list, except those of the connections themselves.
    pub(super) fn lists(&self) -> Vec<List> {
        let mut lists = Vec::new();
        let ours = self
            .types
            .iter()
            .filter(|(of, _)| !of.starts_with("__") && !of.ends_with("Connection"));
        for (of, kind) in ours {
            for field in kind["fields"].as_array().into_iter().flatten() {
                let kind = named(field);
                let bare = match &field["type"] {
                    bare if bare["kind"] == "NON_NULL" => &bare["ofType"],
                    bare => bare,
                };
                if bare["kind"] == "LIST" || kind.ends_with("Connection") {
                    let args = field["args"].as_array().unwrap().iter();
                    lists.push(List {
                        name: format!("{of}.{}", field["name"].as_str().unwrap()),
                        kind: kind.to_owned(),
                        args: args.map(|arg| arg["name"].as_str().unwrap().to_owned()).collect(),
                    });
                }
            }
        }
        lists
    }

    /// All fields of objects whose names end like this, with the names of their types.
    pub(super) fn scalars(&self, end: &str) -> Vec<(String, &str)> {
        let mut all = Vec::new();
        for (of, kind) in self.types.iter() {
            for field in kind["fields"].as_array().into_iter().flatten() {
                let name = field["name"].as_str().unwrap();
                if name.ends_with(end) {
                    all.push((format!("{of}.{name}"), named(field)));
                }
            }
        }
        all
    }

    /// The selection of an object and of nested objects, `levels` deep.
    fn selection(&self, of: &str, levels: usize) -> String {
        let is_list = of.ends_with("Connection");
        let fields = self.types[of]["fields"].as_array().into_iter().flatten();
        let fields = fields.filter(|field| !is_list || field["name"] != "edges");
        let chosen: Vec<String> = fields
            .filter_map(|field| {
                let name = field["name"].as_str().unwrap();
                let inner = named(field);
                let kind = self.types[inner]["kind"].as_str().unwrap();
                let is_leaf = ["SCALAR", "ENUM"].contains(&kind);
                let args: Vec<String> = field["args"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|arg| {
                        is_required(arg) || arg["name"] == "first" || arg["name"] == "count"
                    })
                    .map(|arg| {
                        format!("{}: {}", arg["name"].as_str().unwrap(), self.value(name, arg))
                    })
                    .collect();
                let args =
                    if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
                match (is_leaf, levels) {
                    (true, _) => Some(format!("{name}{args}")),
                    (false, 0) => None,
                    (false, _) => {
                        let left = if is_list { levels } else { levels - 1 };
                        Some(format!("{name}{args}{}", self.selection(inner, left)))
                    }
                }
            })
            .collect();
        format!(" {{ __typename {} }}", chosen.join(" "))
    }

    /// All positions for keys in the arguments of a root's fields, including optional ones.
    pub(super) fn places(&self, root: &str) -> Vec<Place> {
        self.all_places(root, &|_, kind| ["UUID", "ID"].contains(&kind))
    }

    /// All positions for the names of existing objects.
    pub(super) fn places_for_names(&self, root: &str) -> Vec<Place> {
        self.all_places(root, &|place, kind| {
            let names_itself = place.path == ["name"] && is_among(&NAMED, &place.field);
            // Names inside a target, such as that of a queue's group, belong to the receiver and
            // not to Carillon.
            let is_of_receiver = place.path.iter().any(|part| part == "target");
            let is_name = names_itself || is_among(&NAMING, place.path.last().unwrap());
            kind == "String" && is_name && !is_of_receiver
        })
    }

    fn all_places(&self, root: &str, is_one: &dyn Fn(&Place, &str) -> bool) -> Vec<Place> {
        let mut places = Vec::new();
        for field in self.types[root]["fields"].as_array().unwrap() {
            for arg in field["args"].as_array().unwrap() {
                let field = field["name"].as_str().unwrap().to_owned();
                self.find(arg, Place { field, path: vec![] }, is_one, &mut places);
            }
        }
        places
    }

    fn find(
        &self,
        of: &Value,
        mut place: Place,
        is_one: &dyn Fn(&Place, &str) -> bool,
        places: &mut Vec<Place>,
    ) {
        place.path.push(of["name"].as_str().unwrap().to_owned());
        let kind = named(of);
        if is_one(&place, kind) {
            places.push(place);
            return;
        }
        for inner in self.types[kind]["inputFields"].as_array().into_iter().flatten() {
            self.find(inner, place.clone(), is_one, places);
        }
    }

    /// The query of a root field, with the given key or name in one position, and keys of this
    /// walk's namespace in all others.
    pub(super) fn with_key(&self, root: &str, place: &Place, key: &str) -> String {
        let fields = self.types[root]["fields"].as_array().unwrap();
        let field = fields.iter().find(|field| field["name"] == *place.field).unwrap();
        let args: Vec<String> = field["args"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|arg| {
                is_required(arg) || arg["name"] == "namespace" || arg["name"] == *place.path[0]
            })
            .map(|arg| {
                let value = self.value_at(&place.field, arg, Some((place.path.as_slice(), key)));
                format!("{}: {value}", arg["name"].as_str().unwrap())
            })
            .collect();
        let selection = match named(field) {
            kind if self.types[kind]["kind"] == "SCALAR" => "",
            kind if kind.ends_with("Connection") => " { nodes { __typename } }",
            _ => " { __typename }",
        };
        format!("{}({}){selection}", place.field, args.join(", "))
    }

    /// The key of an object in this walk's namespace that fits a position.
    pub(super) fn key(&self, place: &Place) -> &str {
        self.key_of(&place.field, place.path.last().unwrap())
    }

    fn key_of(&self, field: &str, name: &str) -> &str {
        let words = [name.to_lowercase(), field.to_lowercase()];
        let found = words.iter().find_map(|word| {
            self.keys.iter().find(|(of, _)| word.contains(of)).map(|(_, key)| key)
        });
        found.unwrap_or_else(|| panic!("no key for {field}.{name}"))
    }

    fn asked(&self, field: &Value) -> Asked {
        let name = field["name"].as_str().unwrap().to_owned();
        let args = field["args"].as_array().unwrap();
        let has_id = args.iter().any(|arg| arg["name"] == "id");
        let args: Vec<String> = args
            .iter()
            .filter(|arg| {
                is_required(arg) || telling(&arg["name"]) && !(has_id && arg["name"] == "name")
            })
            .map(|arg| format!("{}: {}", arg["name"].as_str().unwrap(), self.value(&name, arg)))
            .collect();
        let args = if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
        let selection =
            if self.types[named(field)]["fields"].is_null() { "" } else { " { __typename }" };
        Asked { text: format!("{name}{args}{selection}"), name }
    }

    /// A literal for an argument or an input's field.
    fn value(&self, field: &str, of: &Value) -> String {
        self.value_at(field, of, None)
    }

    /// A literal like that of [`Self::value`]; if the field leads to a position, the literal
    /// contains the given value at that position.
    fn value_at(&self, field: &str, of: &Value, given: Option<(&[String], &str)>) -> String {
        let name = of["name"].as_str().unwrap();
        let given = given.filter(|(path, _)| path.first().is_some_and(|first| first == name));
        self.literal(field, name, &of["type"], given.map(|(path, key)| (&path[1..], key)))
    }

    fn literal(
        &self,
        field: &str,
        name: &str,
        of: &Value,
        given: Option<(&[String], &str)>,
    ) -> String {
        match (of["kind"].as_str().unwrap(), of["name"].as_str().unwrap_or_default()) {
            ("NON_NULL", _) => self.literal(field, name, &of["ofType"], given),
            ("LIST", _) => format!("[{}]", self.literal(field, name, &of["ofType"], given)),
            ("ENUM", word) => {
                self.types[word]["enumValues"][0]["name"].as_str().unwrap().to_owned()
            }
            ("INPUT_OBJECT", "TargetInput") => "{ noop: {} }".to_owned(),
            ("INPUT_OBJECT", word) => {
                let next = given.and_then(|(path, _)| path.first());
                let wanted = |of: &&Value| {
                    is_required(of)
                        || of["name"] == "namespace"
                        || of["name"] == "workflow"
                        || next.is_some_and(|next| of["name"] == **next)
                };
                let fields = self.types[word]["inputFields"].as_array().unwrap();
                let inner: Vec<String> = fields
                    .iter()
                    .filter(wanted)
                    .map(|of| {
                        let value = self.value_at(field, of, given);
                        format!("{}: {value}", of["name"].as_str().unwrap())
                    })
                    .collect();
                format!("{{ {} }}", inner.join(", "))
            }
            (_, "UUID" | "ID") => {
                let key = given.map_or_else(|| self.key_of(field, name), |(_, key)| key);
                format!("\"{key}\"")
            }
            // The planted schedule was edited once, so its version is 2.
            (_, "Int") if (field, name) == ("updateSchedule", "expectedVersion") => "2".to_owned(),
            (_, "Int" | "Long" | "Float") => "1".to_owned(),
            (_, "Boolean") => "true".to_owned(),
            (_, "JSON") => "{}".to_owned(),
            // A maintenance window ends in the future.
            (_, "DateTime") if name == "endsAt" => "\"2026-03-02T00:00:00Z\"".to_owned(),
            (_, "DateTime") if name == "to" => "\"2026-02-02T00:00:00Z\"".to_owned(),
            (_, "DateTime") => "\"2026-02-01T00:00:00Z\"".to_owned(),
            _ => {
                let source = format!("module: walk\\nnamespace: {}\\n", self.namespace);
                let usual = match name {
                    "search" => "nightly",
                    "namespace" => self.namespace,
                    "expressions" => "@daily",
                    "source" => source.as_str(),
                    "user" => "bob",
                    "workflow" => "w",
                    "newPassword" | "password" | "oldPassword" => "correct horse battery",
                    _ => "x1",
                };
                let text =
                    given.filter(|(path, _)| path.is_empty()).map_or(usual, |(_, name)| name);
                format!("\"{text}\"")
            }
        }
    }
}

/// The name of a field's type, without its wrappers.
fn named(field: &Value) -> &str {
    let mut result = &field["type"];
    while !result["ofType"].is_null() {
        result = &result["ofType"];
    }
    result["name"].as_str().unwrap()
}

fn is_among(known: &[&str], name: &str) -> bool {
    known.contains(&name)
}

/// Whether a caller must provide the argument.
fn is_required(of: &Value) -> bool {
    of["type"]["kind"] == "NON_NULL" && of["defaultValue"].is_null()
}

/// Whether an optional argument is filled in because it names an object.
fn telling(name: &Value) -> bool {
    let name = name.as_str().unwrap();
    ["namespace", "id", "ids", "add", "first"].contains(&name) || name.ends_with("Id")
}
