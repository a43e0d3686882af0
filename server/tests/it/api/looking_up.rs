use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    modules_are_listed_by_name,
    users_are_found_by_a_part_of_their_names,
    members_are_found_by_a_part_of_their_names,
    tokens_are_found_by_a_part_of_their_names_or_their_owners,
    a_fire_is_found_by_its_key,
    upcoming_fires_are_counted_by_the_hour_and_listed,
);

async fn modules_are_listed_by_name(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let deploy = "mutation($source: String!) { deployModule(source: $source) { module } }";
    for name in ["mail", "billing"] {
        let source = format!(
            "module: {name}\nschedules:\n  {name}-nightly:\n    when: \"@daily\"\n    \
             task: {{ target: {{ noop: {{}} }} }}\n"
        );
        desk.ask(deploy, json!({ "source": source })).await;
    }
    desk.schedule("by-hand", "@daily").await;
    let query = "query($after: String) { modules(first: 1, after: $after) {
        nodes { name schedules changedAt } pageInfo { hasNextPage endCursor } } }";
    let first = desk.ask(query, json!({})).await;
    let first = &first["modules"];
    let at = "2026-03-01T12:00:00Z";
    let billing = json!({ "name": "billing", "schedules": 1, "changedAt": at });
    assert_eq!(first["nodes"], json!([billing]));
    assert_eq!(first["pageInfo"]["hasNextPage"], true);
    let second = desk.ask(query, json!({ "after": first["pageInfo"]["endCursor"] })).await;
    assert_eq!(second["modules"]["nodes"][0]["name"], "mail");
    assert_eq!(second["modules"]["pageInfo"]["hasNextPage"], false);

    let query = "query($text: String) { modules(text: $text) { totalCount nodes { name } } }";
    for (text, expected) in
        [("AI", &["mail"][..]), ("il", &["billing", "mail"][..]), ("_", &[][..])]
    {
        let found = desk.ask(query, json!({ "text": text })).await["modules"].take();
        let names = found["nodes"].as_array().unwrap().iter().map(|module| &module["name"]);
        assert_eq!(names.collect::<Vec<_>>(), expected, "{text}");
        assert_eq!(found["totalCount"], expected.len(), "{text}");
    }
    let error = desk.refused(query, json!({ "text": "x".repeat(201) })).await;
    assert_eq!(error["extensions"]["field"], "text");
}

async fn users_are_found_by_a_part_of_their_names(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for name in ["Ada.Byron", "ada_bot", "adaxbot", "grace"] {
        desk.account(name, None).await;
    }
    let query = "query($text: String, $first: Int, $after: String) {
        users(text: $text, first: $first, after: $after) {
            totalCount nodes { name } pageInfo { endCursor hasNextPage } } }";
    let found = async |variables: Value| {
        let page = desk.ask(query, variables).await["users"].clone();
        let nodes = page["nodes"].as_array().unwrap().iter();
        let names = nodes.map(|node| node["name"].as_str().unwrap().to_owned());
        // Users who are added in the same millisecond have no order.
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        (names, page)
    };
    let (names, all) = found(json!({ "text": "ADA" })).await;
    assert_eq!(names, ["Ada.Byron", "ada_bot", "adaxbot"]);
    assert_eq!(all["totalCount"], 3);
    // An underscore is no wildcard.
    assert_eq!(found(json!({ "text": "A_B" })).await.0, ["ada_bot"]);
    assert_eq!(found(json!({ "text": "" })).await.0.len(), 4);
    assert!(found(json!({ "text": "%" })).await.0.is_empty());
    let (first, page) = found(json!({ "text": "bot", "first": 1 })).await;
    assert_eq!((&page["totalCount"], &page["pageInfo"]["hasNextPage"]), (&json!(2), &json!(true)));
    let after = &page["pageInfo"]["endCursor"];
    let (second, last) = found(json!({ "text": "bot", "first": 1, "after": after })).await;
    let mut both = [first, second].concat();
    both.sort_unstable();
    assert_eq!(both, ["ada_bot", "adaxbot"]);
    assert_eq!(last["pageInfo"]["hasNextPage"], false);
    let error = desk.refused(query, json!({ "text": "x".repeat(201) })).await;
    assert_eq!(error["extensions"]["field"], "text");
}

async fn members_are_found_by_a_part_of_their_names(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let set = "mutation($user: String!, $namespace: String!) { setMembership(input: {
        user: $user, namespace: $namespace, role: VIEWER }) { membership { user } } }";
    for (user, namespace) in
        [("Ada.Byron", "other"), ("ada_bot", "other"), ("adaxbot", "default"), ("grace", "other")]
    {
        desk.account(user, None).await;
        desk.ask(set, json!({ "user": user, "namespace": namespace })).await;
    }
    let query = "query($text: String, $first: Int, $after: String) {
        memberships(namespace: \"other\", text: $text, first: $first, after: $after) {
            totalCount nodes { user } pageInfo { endCursor hasNextPage } } }";
    let found = async |variables: Value| {
        let page = desk.ask(query, variables).await["memberships"].clone();
        let nodes = page["nodes"].as_array().unwrap().iter();
        let names = nodes.map(|node| node["user"].as_str().unwrap().to_owned());
        // Users who are added in the same millisecond have no order.
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        (names, page)
    };
    let (names, page) = found(json!({ "text": "ADA" })).await;
    assert_eq!(names, ["Ada.Byron", "ada_bot"], "and nobody of another namespace");
    assert_eq!(page["totalCount"], 2);
    assert_eq!(found(json!({ "text": "A_B" })).await.0, ["ada_bot"], "_ is no wildcard");
    assert_eq!(found(json!({ "text": "" })).await.0.len(), 3);
    assert!(found(json!({ "text": "%" })).await.0.is_empty());
    let (first, page) = found(json!({ "text": "ada", "first": 1 })).await;
    assert_eq!((&page["totalCount"], &page["pageInfo"]["hasNextPage"]), (&json!(2), &json!(true)));
    let after = &page["pageInfo"]["endCursor"];
    let (second, last) = found(json!({ "text": "ada", "first": 1, "after": after })).await;
    let mut both = [first, second].concat();
    both.sort_unstable();
    assert_eq!(both, ["Ada.Byron", "ada_bot"]);
    assert_eq!(last["pageInfo"]["hasNextPage"], false);
    let error = desk.refused(query, json!({ "text": "x".repeat(201) })).await;
    assert_eq!(error["extensions"]["field"], "text");
}

async fn tokens_are_found_by_a_part_of_their_names_or_their_owners(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let create = "mutation($input: CreateApiTokenInput!) {
        createApiToken(input: $input) { apiToken { name } } }";
    for (owner, names) in
        [("Robot.One", &["deploy_a", "deployxb"][..]), ("robot-two", &["Deploy-c", "lamp"])]
    {
        desk.account(owner, Some("VIEWER")).await;
        for name in names {
            let input = json!({ "name": name, "role": "VIEWER", "serviceAccount": owner });
            desk.ask(create, json!({ "input": input })).await;
        }
    }
    let query = "query($text: String, $first: Int, $after: String) {
        apiTokens(all: true, text: $text, first: $first, after: $after) {
            totalCount nodes { name } pageInfo { endCursor hasNextPage } } }";
    let found = async |variables: Value| {
        let page = desk.ask(query, variables).await["apiTokens"].clone();
        let nodes = page["nodes"].as_array().unwrap().iter();
        let names = nodes.map(|node| node["name"].as_str().unwrap().to_owned());
        // Tokens that are created in the same millisecond have no order.
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        (names, page)
    };
    let (names, page) = found(json!({ "text": "DEPLOY" })).await;
    assert_eq!(names, ["Deploy-c", "deploy_a", "deployxb"]);
    assert_eq!(page["totalCount"], 3);
    // The name of the owner counts, too.
    assert_eq!(found(json!({ "text": "robot-T" })).await.0, ["Deploy-c", "lamp"]);
    assert_eq!(found(json!({ "text": "ROBOT" })).await.0.len(), 4);
    assert_eq!(found(json!({ "text": "y_a" })).await.0, ["deploy_a"], "_ is no wildcard");
    assert_eq!(found(json!({ "text": "" })).await.0.len(), 4);
    assert!(found(json!({ "text": "%" })).await.0.is_empty());
    let (first, page) = found(json!({ "text": "ploy", "first": 2 })).await;
    assert_eq!((&page["totalCount"], &page["pageInfo"]["hasNextPage"]), (&json!(3), &json!(true)));
    let after = &page["pageInfo"]["endCursor"];
    let (second, last) = found(json!({ "text": "ploy", "first": 2, "after": after })).await;
    let mut all = [first, second].concat();
    all.sort_unstable();
    assert_eq!(all, ["Deploy-c", "deploy_a", "deployxb"]);
    assert_eq!(last["pageInfo"]["hasNextPage"], false);
    // Without `all`, only the caller's own tokens are searched.
    let own = "{ apiTokens(text: \"deploy\") { totalCount } }";
    assert_eq!(desk.ask(own, json!({})).await["apiTokens"]["totalCount"], 0);
    let error = desk.refused(query, json!({ "text": "x".repeat(201) })).await;
    assert_eq!(error["extensions"]["field"], "text");
}

async fn a_fire_is_found_by_its_key(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@daily").await;
    let skip = "mutation($id: UUID!) { skipNext(id: $id, reason: \"x\") { skippedAt } }";
    desk.ask(skip, json!({ "id": id })).await;
    let list = "query($id: UUID!) { fires(scheduleId: $id) { nodes { id scheduledAt verdict } } }";
    let listed = desk.ask(list, json!({ "id": id })).await;
    let listed = &listed["fires"]["nodes"][0];
    let query = "query($id: UUID!) { fire(id: $id) { id scheduledAt verdict } }";
    assert_eq!(&desk.ask(query, json!({ "id": listed["id"] })).await["fire"], listed);
    let none = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(none["fire"], json!(null));
}

async fn upcoming_fires_are_counted_by_the_hour_and_listed(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("hourly", "@hourly").await;
    desk.schedule("minutely", "* * * * *").await;
    let twice = json!({ "input": {
        "name": "twice", "timing": { "expressions": ["* * * * *"] }, "maxFires": 2,
        "task": { "target": { "noop": {} } },
    } });
    desk.ask(CREATE, twice).await;
    let paused = desk.schedule("paused", "* * * * *").await;
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": paused })).await;

    let query =
        "query($from: DateTime, $hours: Int!) { upcoming(from: $from, hours: $hours, first: 6) {
        from to isComplete hours { at fires schedules } fires { at schedule { name } } } }";
    let answer = desk.ask(query, json!({ "hours": 3 })).await;
    let ahead = &answer["upcoming"];
    let hour = |at: &str, fires: u64, schedules: u64| json!({ "at": format!("2026-03-01T{at}:00:00Z"), "fires": fires, "schedules": schedules });
    assert_eq!(ahead["hours"], json!([hour("12", 61, 2), hour("13", 61, 2), hour("14", 61, 2)]));
    assert_eq!(
        (&ahead["isComplete"], &ahead["to"]),
        (&json!(true), &json!("2026-03-01T15:00:00Z"))
    );
    let fires = ahead["fires"].as_array().unwrap();
    let minutes: Vec<_> = fires.iter().map(|fire| &fire["at"].as_str().unwrap()[14..16]).collect();
    assert_eq!(minutes, ["01", "01", "02", "02", "03", "04"]);
    let named = |name: &str| fires.iter().filter(|fire| fire["schedule"]["name"] == name).count();
    assert_eq!((named("minutely"), named("twice"), named("paused")), (4, 2, 0));

    // With a later beginning, earlier instants are left out.
    let later = json!({ "from": "2026-03-01T13:30:00Z", "hours": 1 });
    let answer = desk.ask(query, later).await;
    assert_eq!(answer["upcoming"]["hours"], json!([hour("13", 30, 1)]));
    let far = json!({ "from": "2027-03-03T12:00:00Z", "hours": 1 });
    let error = desk.refused(query, far).await;
    assert_eq!(error["extensions"]["field"], "from");
    let error = desk.refused(query, json!({ "hours": 337 })).await;
    assert_eq!(error["extensions"]["field"], "hours");
}
