//! All fields of the schema with arguments and selections, made from its own types.

use std::collections::HashMap;

use carillon::store::namespaces;
use entity::{Timestamp, alert, run, task_log, task_run};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, sea_query::Expr,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::{Desk, noon};

/// What passes through: in contexts, outputs, errors and logs.
pub(super) const PAYLOAD: &str = "4111-passes-through";

const TYPE: &str = "kind name ofType { kind name ofType { kind name ofType { kind name } } }";

/// The types of the schema, and the keys of what is there.
pub(super) struct Walk {
    types: HashMap<String, Value>,
    /// By the word that a field has in its name.
    pub(super) keys: Vec<(&'static str, String)>,
}

/// A field of a root, as it is asked.
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) text: String,
}

impl Walk {
    /// In a namespace that has one of each.
    pub(super) async fn begin(desk: &Desk) -> Self {
        let schedule = desk.schedule("nightly", "0 2 * * *").await;
        let run = plant(desk, &schedule).await;
        let skip = "mutation ($id: UUID!) { skipNext(id: $id, reason: \"x\") { skippedAt } }";
        desk.ask(skip, json!({ "id": schedule })).await;
        let fires = "query ($id: UUID!) { fires(scheduleId: $id) { nodes { id } } }";
        let fires = desk.ask(fires, json!({ "id": schedule })).await;
        let fire = fires["fires"]["nodes"][0]["id"].as_str().unwrap().to_owned();
        let made = desk
            .ask(
                "mutation ($id: UUID!) {
                    createCalendar(input: { name: \"holidays\", mode: EXCLUDE }) { calendar { id } }
                    createConcurrencyGroup(input: { name: \"g\", maxRuns: 1 }) { group { id } }
                    createWorkflow(input: {
                        name: \"w\", tasks: [{ name: \"main\", target: { noop: {} } }]
                    }) { workflow { id } }
                    createBackfill(
                        scheduleId: $id, from: \"2026-02-01T00:00:00Z\", to: \"2026-02-02T00:00:00Z\",
                        reason: \"walk\", context: { card: \"4111-passes-through\" }
                    ) { backfill { id } }
                    createServiceAccount(input: { name: \"bob\" }) { user { id } }
                    createNamespace(name: \"other\") { namespace { id } }
                }",
                json!({ "id": schedule }),
            )
            .await;
        let of = |path: &str| made.pointer(path).unwrap().as_str().unwrap().to_owned();
        let token = desk
            .ask(
                "mutation { createApiToken(input: {
                    name: \"ci\", role: VIEWER, serviceAccount: \"bob\"
                }) { apiToken { id } } }",
                json!({}),
            )
            .await;
        let token = token["createApiToken"]["apiToken"]["id"].as_str().unwrap().to_owned();
        let (rule, alert, notification) = plant_alerts(desk).await;
        let keys = vec![
            ("channel", notification.1),
            ("rule", rule),
            ("alert", alert),
            ("notification", notification.0),
            ("calendar", of("/createCalendar/calendar/id")),
            ("concurrencygroup", of("/createConcurrencyGroup/group/id")),
            ("workflow", of("/createWorkflow/workflow/id")),
            ("backfill", of("/createBackfill/backfill/id")),
            ("user", of("/createServiceAccount/user/id")),
            ("token", token),
            ("schedule", schedule.clone()),
            ("buffer", schedule.clone()),
            ("skipnext", schedule.clone()),
            ("resumepreview", schedule.clone()),
            ("run", run),
            ("fire", fire),
        ];
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
        Self { types: types.iter().map(named).collect(), keys }
    }

    /// All fields of a root type, with arguments.
    pub(super) fn fields(&self, root: &str) -> Vec<Asked> {
        let fields = self.types[root]["fields"].as_array().unwrap();
        fields.iter().map(|field| self.asked(field)).collect()
    }

    /// All fields of a query's root type, with what is in their answers, and in those.
    pub(super) fn deep_fields(&self) -> Vec<Asked> {
        let fields = self.types["Query"]["fields"].as_array().unwrap();
        let deep = |field| {
            let Asked { name, text } = self.asked(field);
            let selection = self.selection(named(field), 2);
            Asked { text: text.replace(" { __typename }", &selection), name }
        };
        fields.iter().map(deep).collect()
    }

    /// What an object has, and what the objects in it have, `levels` deep.
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
        self.literal(field, of["name"].as_str().unwrap(), &of["type"])
    }

    fn literal(&self, field: &str, name: &str, of: &Value) -> String {
        match (of["kind"].as_str().unwrap(), of["name"].as_str().unwrap_or_default()) {
            ("NON_NULL", _) => self.literal(field, name, &of["ofType"]),
            ("LIST", _) => format!("[{}]", self.literal(field, name, &of["ofType"])),
            ("ENUM", word) => {
                self.types[word]["enumValues"][0]["name"].as_str().unwrap().to_owned()
            }
            ("INPUT_OBJECT", "TargetInput") => "{ noop: {} }".to_owned(),
            ("INPUT_OBJECT", word) => {
                let fields = self.types[word]["inputFields"].as_array().unwrap();
                let wanted = |of: &&Value| {
                    is_required(of) || of["name"] == "namespace" || of["name"] == "workflow"
                };
                let inner = fields.iter().filter(wanted);
                let inner: Vec<String> = inner
                    .map(|of| {
                        format!("{}: {}", of["name"].as_str().unwrap(), self.value(field, of))
                    })
                    .collect();
                format!("{{ {} }}", inner.join(", "))
            }
            (_, "UUID") => {
                let words = [name.to_lowercase(), field.to_lowercase()];
                let found = words.iter().find_map(|word| {
                    self.keys.iter().find(|(of, _)| word.contains(of)).map(|(_, key)| key)
                });
                format!("\"{}\"", found.unwrap_or_else(|| panic!("no key for {field}.{name}")))
            }
            (_, "Int" | "Float") => "1".to_owned(),
            (_, "Boolean") => "true".to_owned(),
            (_, "JSON") => "{}".to_owned(),
            (_, "DateTime") if name == "to" => "\"2026-02-02T00:00:00Z\"".to_owned(),
            (_, "DateTime") => "\"2026-02-01T00:00:00Z\"".to_owned(),
            _ => {
                let text = match name {
                    "namespace" => "default",
                    "expressions" => "@daily",
                    "source" => "module: walk\\nnamespace: default\\n",
                    "user" => "bob",
                    "workflow" => "w",
                    "newPassword" | "password" | "oldPassword" => "correct horse battery",
                    _ => "x1",
                };
                format!("\"{text}\"")
            }
        }
    }
}

/// The name of a field's type, without what is around it.
fn named(field: &Value) -> &str {
    let mut result = &field["type"];
    while !result["ofType"].is_null() {
        result = &result["ofType"];
    }
    result["name"].as_str().unwrap()
}

/// A run of the schedule that has ended badly and said much, and a context before that.
async fn plant(desk: &Desk, schedule: &str) -> String {
    let edit = "mutation ($id: UUID!, $context: JSON!) {
        updateSchedule(input: { id: $id, expectedVersion: 1, context: $context }) { schedule { id } } }";
    let context = json!({ "card": PAYLOAD });
    desk.ask(edit, json!({ "id": schedule, "context": context })).await;
    let run = desk.trigger(schedule).await;
    let (id, at): (Uuid, _) = (run.parse().unwrap(), Timestamp::from(noon()));
    let attempt = task_run::Model {
        run_id: id,
        task: "main".to_owned(),
        attempt: 1,
        state: task_run::State::Succeeded,
        node_id: Uuid::from_u128(1),
        started_at: at,
        finished_at: Some(at),
        error: Some(format!("exit code 1: {PAYLOAD}")),
        output: Some(json!({ "result": { "card": PAYLOAD } })),
    };
    let line = task_log::Model {
        run_id: id,
        seq: 1,
        task: "main".to_owned(),
        attempt: 1,
        at,
        stream: task_log::Stream::Stderr,
        text: PAYLOAD.to_owned(),
    };
    let tx = desk.database.store.begin().await.unwrap();
    attempt.into_active_model().insert(&tx).await.unwrap();
    line.into_active_model().insert(&tx).await.unwrap();
    let error = Expr::value(format!("exit code 1: {PAYLOAD}"));
    let ended = run::Entity::update_many().col_expr(run::Column::Error, error);
    ended.filter(run::Column::Id.eq(id)).exec(&tx).await.unwrap();
    desk.database.store.commit(tx).await.unwrap();
    run
}

/// A rule, what it has taken note of, and a message of its, with the channel of that.
async fn plant_alerts(desk: &Desk) -> (String, String, (String, String)) {
    let made = desk
        .ask(
            "mutation { createAlertChannel(input: {
                name: \"hook\", kind: WEBHOOK, url: \"https://hooks.example/\"
            }) { channel { id } } }",
            json!({}),
        )
        .await;
    let channel = made["createAlertChannel"]["channel"]["id"].as_str().unwrap().to_owned();
    let made = desk
        .ask(
            "mutation ($channel: UUID!) {
                createAlertRule(input: { name: \"all\", on: [FAILED], channelIds: [$channel] }) {
                    rule { id } }
                testAlertChannel(id: $channel) { notification { id } }
            }",
            json!({ "channel": channel }),
        )
        .await;
    let of = |path: &str| made.pointer(path).unwrap().as_str().unwrap().to_owned();
    let rule = of("/createAlertRule/rule/id");
    let home = namespaces::by_name(desk.database.store.read(), "default").await.unwrap().unwrap();
    let at = Timestamp::from(noon());
    let row = alert::Model {
        id: Uuid::now_v7(),
        namespace_id: home.id,
        rule_id: rule.parse().unwrap(),
        kind: alert::Kind::Failed,
        occurrence: "failed:walk".to_owned(),
        schedule_id: None,
        subject: "nightly".to_owned(),
        run_id: None,
        fire_id: None,
        detail: Some(format!("exit code 1: {PAYLOAD}")),
        count: 1,
        began_at: at,
        last_at: at,
        ended_at: None,
        tell_at: None,
        told_at: None,
        acknowledged_at: None,
        acknowledged_by: None,
    };
    let tx = desk.database.store.begin().await.unwrap();
    let row = row.into_active_model().insert(&tx).await.unwrap();
    desk.database.store.commit(tx).await.unwrap();
    (rule, row.id.to_string(), (of("/testAlertChannel/notification/id"), channel))
}

/// Whether a caller must give it.
fn is_required(of: &Value) -> bool {
    of["type"]["kind"] == "NON_NULL" && of["defaultValue"].is_null()
}

/// Optional arguments that name something.
fn telling(name: &Value) -> bool {
    let name = name.as_str().unwrap();
    ["namespace", "id", "add"].contains(&name) || name.ends_with("Id")
}
