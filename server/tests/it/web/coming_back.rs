//! Followers whose sockets are closed at random, while schedules fire and runs are in progress.

use std::collections::{BTreeMap, HashSet};

use carillon::store::Cursor;
use entity::{run, schedule};
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use crate::support::{Command, Server, Socket, TestDatabase, on_both};

on_both!(followers_whose_sockets_drop_at_random_under_load_miss_nothing_and_see_nothing_twice);

const SCHEDULES: usize = 6;
/// The number of runs that are started by hand while the schedules fire.
const BY_HAND: usize = 60;

/// A server under load, and a viewer of it.
struct House {
    server: Server,
    token: String,
}

impl House {
    async fn ask(&self, query: &str, variables: Value) -> Value {
        let body = json!({ "query": query, "variables": variables });
        let request = self.server.post("/graphql").bearer_auth(&self.token).json(&body);
        let mut answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["errors"], Value::Null, "{query}");
        answer["data"].take()
    }

    /// A socket that receives the events after a cursor.
    async fn follow(&self, query: &str, variables: Value) -> Socket {
        let mut socket = Socket::open(Socket::request(&self.server, "/graphql/ws")).await;
        let answer = socket.init(json!({ "token": self.token })).await.unwrap();
        assert_eq!(answer["type"], "connection_ack");
        let payload = json!({ "query": query, "variables": variables });
        socket.send(json!({ "id": "1", "type": "subscribe", "payload": payload })).await;
        socket
    }

    /// All events received by a follower that reconnects repeatedly, once `is_all` holds.
    async fn join(
        &self,
        query: &str,
        variables: Value,
        seed: u32,
        mut is_all: impl FnMut(&Value) -> bool,
    ) {
        let (mut since, mut random) = (json!(Cursor::START.to_string()), seed);
        let mut seen = HashSet::new();
        loop {
            let mut variables = variables.clone();
            variables["since"] = since.clone();
            let mut socket = self.follow(query, variables).await;
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Some sockets are closed before they have received anything.
            for _ in 0..(random >> 16) % 9 {
                let message = socket.next().await.unwrap();
                if message["type"] == "complete" {
                    return;
                }
                assert_eq!(message["type"], "next", "{message}");
                let data = message["payload"]["data"].as_object().unwrap();
                let event = data.values().next().unwrap();
                since = event["cursor"].clone();
                assert!(seen.insert(since.to_string()), "seen twice: {event}");
                if is_all(event) {
                    return;
                }
            }
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

async fn followers_whose_sockets_drop_at_random_under_load_miss_nothing_and_see_nothing_twice(
    database: TestDatabase,
) {
    let create = ["token", "create", "follower", "--role", "editor"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let house = House { server: Server::start_with(&database, &["--allow-commands"]), token };
    let mut schedules = Vec::new();
    for number in 0..SCHEDULES {
        let input = json!({
            "name": format!("tick-{number}"), "timing": { "expressions": ["@every 1s"] },
            "overlap": "ALLOW",
            "task": { "target": { "command": {
                "script": "for i in $(seq 40); do echo $i; done",
            } } },
        });
        let make = "mutation($input: CreateScheduleInput!) {
            createSchedule(input: $input) { schedule { id } } }";
        let made = house.ask(make, json!({ "input": input })).await;
        schedules.push(text(&made["createSchedule"]["schedule"]["id"]));
    }
    let load = async {
        let trigger = "mutation($id: UUID!) { triggerSchedule(id: $id) { run { id } } }";
        let mut last = String::new();
        for number in 0..BY_HAND {
            let id = &schedules[number % SCHEDULES];
            let run = house.ask(trigger, json!({ "id": id })).await;
            last = text(&run["triggerSchedule"]["run"]["id"]);
        }
        let pause = "mutation { pauseSchedules(which: { search: \"name:tick\" }, reason: \"x\") {
            done } }";
        assert_eq!(house.ask(pause, json!({})).await["pauseSchedules"]["done"], SCHEDULES);
        // The runs that wait for a node get their turn. After that, nothing changes any more.
        let live = "{ overview { liveRuns } }";
        while house.ask(live, json!({})).await["overview"]["liveRuns"] != 0 {}
        // The followers stop at a run and a schedule that are created last.
        let cancelled = house.ask(trigger, json!({ "id": schedules[0] })).await;
        let end = text(&cancelled["triggerSchedule"]["run"]["id"]);
        let wait = "query($id: UUID!) { run(id: $id) { state } }";
        while house.ask(wait, json!({ "id": end })).await["run"]["state"] != "SUCCEEDED" {}
        let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
        house.ask(delete, json!({ "id": schedules[SCHEDULES - 1] })).await;
        (last, end)
    };
    let (mut runs, mut states) = (BTreeMap::new(), BTreeMap::new());
    let query = "subscription($since: String) {
        runEvents(since: $since) { cursor run { id state trigger } } }";
    let by_hand = std::cell::Cell::new(0);
    let following_runs = house.join(query, json!({}), 7, |event| {
        let (id, state) = (text(&event["run"]["id"]), text(&event["run"]["state"]));
        if event["run"]["trigger"] == "MANUAL" && !runs.contains_key(&id) {
            by_hand.set(by_hand.get() + 1);
        }
        runs.insert(id, state);
        by_hand.get() == BY_HAND + 1 && runs.values().all(|state| state == "SUCCEEDED")
    });
    let query = "subscription($since: String) {
        scheduleEvents(since: $since) { cursor scheduleId schedule { state } } }";
    let following_schedules = house.join(query, json!({}), 11, |event| {
        let state = event["schedule"]["state"].as_str().unwrap_or("deleted").to_owned();
        let is_last = state == "deleted";
        states.insert(text(&event["scheduleId"]), state);
        is_last
    });
    let ((last, _), (), ()) = tokio::join!(load, following_runs, following_schedules);

    let store = &database.store;
    let ledger = run::Entity::find().all(store.read()).await.unwrap();
    assert!(ledger.len() > BY_HAND, "the schedules fired, too");
    let expected: BTreeMap<_, _> =
        ledger.iter().map(|run| (run.id.to_string(), "SUCCEEDED".to_owned())).collect();
    assert_eq!(runs, expected);
    let rows = schedule::Entity::find().all(store.read()).await.unwrap();
    let expected: BTreeMap<_, _> = rows
        .iter()
        .map(|row| {
            (row.id.to_string(), if row.deleted_at.is_some() { "deleted" } else { "PAUSED" })
        })
        .map(|(id, state)| (id, state.to_owned()))
        .collect();
    assert_eq!(states, expected);

    let query = "subscription($id: UUID!, $since: String) {
        taskLog(runId: $id, since: $since) { cursor line { text } } }";
    let mut lines = Vec::new();
    let from_the_start = json!({ "id": last });
    house.follow_log(query, from_the_start, &mut lines).await;
    let kept = store.lines_after(last.parse().unwrap(), i64::MIN, 1_000).await.unwrap();
    let kept: Vec<_> = kept.into_iter().map(|line| line.text).collect();
    assert_eq!(kept.len(), 40);
    assert_eq!(lines, kept);
}

impl House {
    /// Reads the lines of a log, with a follower that reconnects until the log ends.
    async fn follow_log(&self, query: &str, variables: Value, lines: &mut Vec<String>) {
        let mut since = Value::Null;
        for turn in 0_usize.. {
            let mut variables = variables.clone();
            variables["since"] = since.clone();
            let mut socket = self.follow(query, variables).await;
            for _ in 0..turn * 13 % 11 + 1 {
                let message = socket.next().await.unwrap();
                if message["type"] == "complete" {
                    return;
                }
                let event = &message["payload"]["data"]["taskLog"];
                since = event["cursor"].clone();
                lines.push(text(&event["line"]["text"]));
            }
        }
    }
}
