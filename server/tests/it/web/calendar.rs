//! Calendars of upcoming runs, read by a program that has their address.

use std::collections::BTreeSet;

use carillon::clock::Clock;
use chrono::{DateTime, Datelike, TimeDelta, Utc, Weekday};
use icalendar::{Calendar, CalendarComponent, CalendarDateTime, Component, DatePerhapsTime, Event};
use reqwest::{StatusCode, header};
use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase, cookie, on_both};

on_both!(
    a_calendar_shows_what_is_to_come_to_whoever_has_its_address,
    a_calendar_shows_what_does_not_run_and_why,
    a_calendar_shows_a_maintenance_window_once_and_no_run_in_it,
    a_badge_says_how_the_last_runs_went_to_whoever_has_its_address,
    a_badge_of_a_namespace_counts_schedules_that_do_not_fire_again,
);

const PASSWORD: &str = "correct horse battery";

async fn signed_in(server: &Server, database: &TestDatabase, name: &str, role: &str) -> String {
    let add = ["user", "add", name, "--role", role, "--password-stdin", "--own-password"];
    Command::new(&add).on(database).input(format!("{PASSWORD}\n")).run().done();
    cookie(&server.sign_in(name, PASSWORD).await)
}

async fn ask(server: &Server, cookie: &str, query: &str, variables: Value) -> Value {
    let body = json!({ "query": query, "variables": variables });
    let request = server.post("/graphql").header(header::COOKIE, cookie).json(&body);
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    assert!(answer["errors"].is_null(), "{query}: {answer}");
    answer["data"].clone()
}

async fn schedule(server: &Server, cookie: &str, input: Value) -> String {
    let create = "mutation ($input: CreateScheduleInput!) {
        createSchedule(input: $input) { schedule { id } } }";
    let made = ask(server, cookie, create, json!({ "input": input })).await;
    made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned()
}

async fn feed(server: &Server, cookie: &str, input: Value) -> (String, String) {
    let create = "mutation ($input: CreateCalendarFeedInput!) {
        createCalendarFeed(input: $input) { path calendarFeed { id } } }";
    let made = ask(server, cookie, create, json!({ "input": input })).await;
    let made = &made["createCalendarFeed"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&made["calendarFeed"]["id"]), text(&made["path"]))
}

/// The events that a third-party parser finds.
async fn events(server: &Server, path: &str) -> Vec<Event> {
    let answer = server.get(path).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK, "{answer:?}");
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/calendar; charset=utf-8");
    let text = answer.text().await.unwrap();
    assert!(text.split("\r\n").all(|line| line.len() <= 75 && !line.contains('\n')), "{text}");
    let calendar: Calendar = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
    let events = calendar.components.into_iter().map(|component| {
        let CalendarComponent::Event(event) = component else { panic!("{component:?}") };
        event
    });
    events.collect()
}

fn of(events: &[Event], summary: &str) -> Vec<Event> {
    let found = events.iter().filter(|event| event.get_summary().unwrap().starts_with(summary));
    found.cloned().collect()
}

const STRANGE: &str = "a; b, c\\d\r\nEND:VCALENDAR ünïcödé ünïcödé ünïcödé ünïcödé ünïcödé ünïcödé";

async fn a_calendar_shows_what_is_to_come_to_whoever_has_its_address(database: TestDatabase) {
    let server = Server::start(&database);
    let ada = signed_in(&server, &database, "ada", "admin").await;
    let input = |name: &str, expression: &str| {
        json!({
            "name": name, "note": STRANGE, "tags": [name, "all"],
            "timing": { "expressions": [expression], "zone": "Europe/Berlin" },
            "task": { "target": { "noop": {} } },
        })
    };
    let daily = schedule(&server, &ada, input("daily", "30 9 * * *")).await;
    schedule(&server, &ada, input("busy", "* * * * * *")).await;
    schedule(&server, &ada, input("soon", "@every 2h")).await;
    let pause =
        "mutation ($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    let paused = schedule(&server, &ada, input("paused", "@daily")).await;
    ask(&server, &ada, pause, json!({ "id": paused })).await;

    let (_, all) = feed(&server, &ada, json!({ "name": "all" })).await;
    let shown = events(&server, &all).await;
    // A schedule that seldom fires has an event for each fire that the calculator computes.
    let fires = ask(
        &server,
        &ada,
        "query ($id: UUID!) { schedule(id: $id) { timing { description } nextFires(count: 20) { at } } }",
        json!({ "id": daily }),
    )
    .await;
    let expected: BTreeSet<DateTime<Utc>> = fires["schedule"]["nextFires"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fire| fire["at"].as_str().unwrap().parse().unwrap())
        .collect();
    let each = of(&shown, "daily");
    let starts: BTreeSet<DateTime<Utc>> = each
        .iter()
        .map(|event| {
            let start = event.get_start().unwrap();
            let DatePerhapsTime::DateTime(CalendarDateTime::Utc(at)) = start else { panic!() };
            at
        })
        .collect();
    assert!(expected.is_subset(&starts) && starts.len() < 40, "{starts:?}");
    for event in &each {
        let at = event.get_start().unwrap();
        let DatePerhapsTime::DateTime(CalendarDateTime::Utc(at)) = at else { panic!() };
        let uid = format!("{daily}-{}@carillon", at.timestamp());
        assert_eq!(event.get_uid(), Some(&*uid), "the key that the receiver gets");
        let description = event.get_description().unwrap().replace('\r', "");
        assert!(description.ends_with(&STRANGE.replace('\r', "")), "{description:?}");
    }
    // A schedule that fires every second has one event a day, which says how often it fires.
    let busy = of(&shown, "busy");
    assert!((31..=32).contains(&busy.len()), "{}", busy.len());
    assert!(busy.iter().any(|event| event.get_summary() == Some("busy: 86400 runs")));
    assert!(busy.iter().all(|event| matches!(event.get_start(), Some(DatePerhapsTime::Date(_)))));
    assert!(of(&shown, "soon").len() > 300);
    // A paused schedule has no runs, but an event for its pause.
    let paused = of(&shown, "paused");
    assert_eq!(paused.len(), 1, "{paused:?}");
    assert_eq!(paused[0].get_summary(), Some("paused: paused until it is resumed"));
    let uids: BTreeSet<_> = shown.iter().map(|event| event.get_uid().unwrap()).collect();
    assert_eq!(uids.len(), shown.len(), "one event, one key");

    // One feed is of a tag, another one of a schedule.
    let (_, tagged) = feed(&server, &ada, json!({ "name": "tag", "search": "tag:daily" })).await;
    assert_eq!(events(&server, &tagged).await.len(), each.len());
    let (id, single) = feed(&server, &ada, json!({ "name": "one", "schedule": "daily" })).await;
    let answer = server.get(&single).send().await.unwrap();
    let tag = answer.headers()[header::ETAG].to_str().unwrap().to_owned();
    assert!(!answer.text().await.unwrap().contains("busy"));
    let again = server.get(&single).header(header::IF_NONE_MATCH, &tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);

    // The database stores the key as a hash, and the key is not accepted as a token elsewhere.
    let token = single.split_once("token=").unwrap().1;
    let answer =
        server.post("/graphql").bearer_auth(token).json(&json!({ "query": "{ me { name } }" }));
    assert_eq!(answer.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let listed =
        ask(&server, &ada, "{ calendarFeeds { id name namespace search usedAt } }", json!({}))
            .await;
    assert_eq!(listed["calendarFeeds"].as_array().unwrap().len(), 3);
    assert!(!listed.to_string().contains(token));
    let log =
        ask(&server, &ada, "{ auditEvents { nodes { action subject after } } }", json!({})).await;
    assert!(log.to_string().contains("feed.create") && !log.to_string().contains(token), "{log}");

    // A revoked feed no longer exists.
    let revoke = "mutation ($id: UUID!) { revokeCalendarFeed(id: $id) { id } }";
    ask(&server, &ada, revoke, json!({ "id": id })).await;
    assert_eq!(server.get(&single).send().await.unwrap().status(), StatusCode::NOT_FOUND);

    // A feed shows only schedules that its owner may see at present.
    let bob = signed_in(&server, &database, "bob", "viewer").await;
    let (_, bobs) = feed(&server, &bob, json!({ "name": "all" })).await;
    assert!(!events(&server, &bobs).await.is_empty());
    let users = ask(&server, &ada, "{ users { nodes { id name } } }", json!({})).await;
    let nodes = users["users"]["nodes"].as_array().unwrap();
    let bob = nodes.iter().find(|user| user["name"] == "bob").unwrap()["id"].clone();
    let lower = "mutation ($id: UUID!) { setUserRole(userId: $id, role: null) { user { id } } }";
    ask(&server, &ada, lower, json!({ "id": bob })).await;
    assert_eq!(server.get(&bobs).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let raise = "mutation ($id: UUID!) { setUserRole(userId: $id, role: VIEWER) { user { id } } }";
    ask(&server, &ada, raise, json!({ "id": bob })).await;
    assert_eq!(server.get(&bobs).send().await.unwrap().status(), StatusCode::OK);
    Command::new(&["user", "disable", "bob"]).on(&database).run().done();
    assert_eq!(server.get(&bobs).send().await.unwrap().status(), StatusCode::NOT_FOUND);

    // Wrong keys are limited per address. Clients at other addresses, with a valid key, are not
    // affected.
    let guess = |n: usize| server.get(&format!("/calendar.ics?token=carfeed_{n}")).send();
    let mut codes = BTreeSet::new();
    for n in 0..40 {
        codes.insert(guess(n).await.unwrap().status());
    }
    assert_eq!(codes, BTreeSet::from([StatusCode::NOT_FOUND, StatusCode::TOO_MANY_REQUESTS]));
    let nothing = server.get("/calendar.ics").send().await.unwrap();
    assert_eq!(nothing.status(), StatusCode::BAD_REQUEST);
}

async fn a_calendar_shows_what_does_not_run_and_why(database: TestDatabase) {
    let server = Server::start(&database);
    let ada = signed_in(&server, &database, "ada", "admin").await;
    let create = "mutation ($input: CreateCalendarInput!) {
        createCalendar(input: $input) { calendar { id } } }";
    let weekends = json!({ "name": "weekends", "mode": "EXCLUDE", "weekdays": ["SAT", "SUN"] });
    let made = ask(&server, &ada, create, json!({ "input": weekends })).await;
    let calendar = made["createCalendar"]["calendar"]["id"].as_str().unwrap().to_owned();
    let input = |name: &str| {
        json!({
            "name": name, "tags": [name], "calendars": ["weekends"],
            "timing": { "expressions": ["0 9 * * *"], "zone": "Europe/Berlin" },
            "task": { "target": { "noop": {} } },
        })
    };
    schedule(&server, &ada, input("first")).await;
    schedule(&server, &ada, input("second")).await;
    let moved = schedule(&server, &ada, input("moved")).await;
    let pause = "mutation ($id: UUID!) { pauseSchedule(
        id: $id, reason: \"the move\", until: \"2099-01-01T00:00:00Z\") { schedule { id } } }";
    ask(&server, &ada, pause, json!({ "id": moved })).await;

    let (_, path) = feed(&server, &ada, json!({ "name": "all" })).await;
    let shown = events(&server, &path).await;
    // Weekends suppress the fires of both schedules; there is one event for each day.
    let suppressed = of(&shown, "weekends");
    assert!((8..=10).contains(&suppressed.len()), "{suppressed:?}");
    for event in &suppressed {
        assert_eq!(event.get_summary(), Some("weekends: 2 fires suppressed"));
        let words = event.get_description().unwrap();
        assert!(words.contains("first") && words.contains("second"), "{words}");
        let Some(DatePerhapsTime::Date(date)) = event.get_start() else { panic!("{event:?}") };
        assert!(matches!(date.weekday(), Weekday::Sat | Weekday::Sun), "{date}");
        let uid = format!("{calendar}-{}@carillon", date.format("%Y%m%d"));
        assert_eq!(event.get_uid(), Some(&*uid));
    }
    // A pause lasts from its begin to its end, and says why.
    let paused = of(&shown, "moved");
    assert_eq!(paused.len(), 1, "{paused:?}");
    assert_eq!(paused[0].get_summary(), Some("moved: paused"));
    assert!(paused[0].get_description().unwrap().starts_with("the move ("), "{paused:?}");
    let text = server.get(&path).send().await.unwrap().text().await.unwrap();
    let text = text.replace("\r\n ", "");
    for line in [
        "DTEND:20990101T000000Z",
        "CATEGORIES:pause,moved",
        "CATEGORIES:run,first",
        "CATEGORIES:calendar",
    ] {
        assert!(text.contains(&format!("{line}\r\n")), "{line}: {text}");
    }

    // The address determines which of these events a program gets.
    let runs = events(&server, &format!("{path}&include=runs")).await;
    assert_eq!(runs.len() + suppressed.len() + paused.len(), shown.len());
    let others = events(&server, &format!("{path}&include=pauses,calendars")).await;
    assert_eq!(others.len(), suppressed.len() + paused.len());
    let unknown = server.get(&format!("{path}&include=fires")).send().await.unwrap();
    assert_eq!(unknown.status(), StatusCode::BAD_REQUEST);

    // The feed of a paused schedule has only the pause.
    let (_, single) = feed(&server, &ada, json!({ "name": "one", "schedule": "moved" })).await;
    assert_eq!(events(&server, &single).await.len(), 1);
}

async fn a_calendar_shows_a_maintenance_window_once_and_no_run_in_it(database: TestDatabase) {
    let server = Server::start(&database);
    let ada = signed_in(&server, &database, "ada", "admin").await;
    let input = |name: &str| {
        json!({
            "name": name, "timing": { "expressions": ["0 */3 * * *"] },
            "task": { "target": { "noop": {} } },
        })
    };
    let first = schedule(&server, &ada, input("first")).await;
    let second = schedule(&server, &ada, input("second")).await;
    let now = Clock::system().now();
    let (from, until) = (now + TimeDelta::days(2), now + TimeDelta::days(4));
    let plan = "mutation ($from: DateTime!, $until: DateTime!) { planMaintenance(input: {
        title: \"Upgrade\", ticket: \"OPS-7\", startsAt: $from, endsAt: $until }) {
        window { id } } }";
    let range = json!({ "from": from.to_rfc3339(), "until": until.to_rfc3339() });
    ask(&server, &ada, plan, range).await;
    let marked = "query ($id: UUID!) { schedule(id: $id) { plannedPause { from } } }";
    for id in [first, second] {
        let is_marked = async {
            loop {
                let seen = ask(&server, &ada, marked, json!({ "id": id })).await;
                if !seen["schedule"]["plannedPause"].is_null() {
                    return;
                }
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), is_marked).await.unwrap();
    }
    let (_, path) = feed(&server, &ada, json!({ "name": "all" })).await;
    let shown = events(&server, &path).await;
    let windows = of(&shown, "Maintenance: Upgrade");
    assert_eq!(windows.len(), 1, "{windows:?}");
    assert!(windows[0].get_description().unwrap().starts_with("OPS-7"), "{windows:?}");
    let is_run = |event: &&Event| !event.get_summary().unwrap().starts_with("Maintenance");
    let starts = shown.iter().filter(is_run).map(|event| {
        let start = event.get_start().unwrap();
        let DatePerhapsTime::DateTime(CalendarDateTime::Utc(at)) = start else {
            panic!("{event:?}")
        };
        at
    });
    let starts: Vec<_> = starts.collect();
    assert!(starts.iter().any(|at| *at < from) && starts.iter().any(|at| *at > until));
    assert!(starts.iter().all(|at| *at < from || until <= *at), "{starts:?}");
}

/// Triggers the schedule, and waits until that run has ended.
async fn has_run(server: &Server, cookie: &str, schedule: &str) {
    let trigger = "mutation ($id: UUID!) { triggerSchedule(id: $id) { run { id } } }";
    let made = ask(server, cookie, trigger, json!({ "id": schedule })).await;
    let run = made["triggerSchedule"]["run"]["id"].clone();
    let state = "query ($id: UUID!) { run(id: $id) { finishedAt } }";
    let ended = async {
        loop {
            let answer = ask(server, cookie, state, json!({ "id": run })).await;
            if !answer["run"]["finishedAt"].is_null() {
                return;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), ended).await.unwrap();
}

async fn a_badge_says_how_the_last_runs_went_to_whoever_has_its_address(database: TestDatabase) {
    let server = Server::start(&database);
    let ada = signed_in(&server, &database, "ada", "admin").await;
    let input = |name: &str, target: Value| {
        json!({
            "name": name, "tags": ["all"], "timing": { "expressions": ["0 0 1 1 *"] },
            "task": { "target": target },
        })
    };
    let good = schedule(&server, &ada, input("good", json!({ "noop": {} }))).await;
    let away = json!({ "http": { "url": "http://nobody.invalid/" } });
    let bad = schedule(&server, &ada, input("bad", away)).await;

    let badge = async |name: &str, more: Value| {
        let mut input = json!({ "name": name, "kind": "BADGE" });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        feed(&server, &ada, input).await.1
    };
    let of_good = badge("good", json!({ "schedule": "good" })).await;
    let of_all = badge("everything", json!({ "search": "tag:all" })).await;
    assert!(of_good.starts_with("/badge.svg?token="), "{of_good}");
    let said = async |path: &str| {
        let answer = server.get(&path.replace("badge.svg", "badge.json")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let said: Value = answer.json().await.unwrap();
        (said["label"].clone(), said["message"].clone(), said["color"].clone())
    };
    let told =
        |label: &str, message: &str, color: &str| (json!(label), json!(message), json!(color));
    assert_eq!(said(&of_good).await, told("good", "no runs yet", "inactive"));
    has_run(&server, &ada, &good).await;
    has_run(&server, &ada, &bad).await;
    assert_eq!(said(&of_good).await, told("good", "passing", "success"));
    assert_eq!(said(&of_all).await, told("everything", "1 of 2 failing", "critical"));
    assert_eq!(said(&format!("{of_all}&label=jobs")).await.0, "jobs");
    let strange = server.get(&format!("{of_all}&label=%3Cb%3E%22")).send().await.unwrap();
    let strange = strange.text().await.unwrap();
    assert!(strange.contains("<title>&lt;b&gt;&quot;: 1 of 2 failing</title>"), "{strange}");

    let answer = server.get(&of_good).send().await.unwrap();
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "image/svg+xml; charset=utf-8");
    assert_eq!(answer.headers()["cross-origin-resource-policy"], "cross-origin");
    assert_eq!(answer.headers()[header::CONTENT_SECURITY_POLICY], "default-src 'none'");
    let tag = answer.headers()[header::ETAG].clone();
    let picture = answer.text().await.unwrap();
    assert!(picture.contains("<title>good: passing</title>"), "{picture}");
    let again = server.get(&of_good).header(header::IF_NONE_MATCH, tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);

    let remove = "mutation ($id: UUID!) { deleteSchedule(id: $id) { id } }";
    ask(&server, &ada, remove, json!({ "id": good })).await;
    assert_eq!(said(&of_good).await, told("good", "deleted", "inactive"));
    assert_eq!(said(&of_all).await.1, "1 of 1 failing");

    // The key of a badge does not open a calendar, nor the other way round.
    let as_calendar = of_good.replace("badge.svg", "calendar.ics");
    assert_eq!(server.get(&as_calendar).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let (_, calendar) = feed(&server, &ada, json!({ "name": "calendar" })).await;
    let as_badge = calendar.replace("calendar.ics", "badge.svg");
    assert_eq!(server.get(&as_badge).send().await.unwrap().status(), StatusCode::NOT_FOUND);
}

async fn a_badge_of_a_namespace_counts_schedules_that_do_not_fire_again(database: TestDatabase) {
    let server = Server::start(&database);
    let ada = signed_in(&server, &database, "ada", "admin").await;
    let (timing, away) = (json!({ "expressions": ["@at 0"] }), "http://nobody.invalid/");
    let target = json!({ "http": { "url": away } });
    let input = json!({ "name": "once", "timing": timing, "task": { "target": target } });
    let once = schedule(&server, &ada, input).await;
    let (_, badge) = feed(&server, &ada, json!({ "name": "all", "kind": "BADGE" })).await;
    let message = async || {
        let answer = server.get(&badge.replace("badge.svg", "badge.json")).send().await.unwrap();
        let said: Value = answer.json().await.unwrap();
        said["message"].clone()
    };
    assert_eq!(message().await, "no runs yet");
    has_run(&server, &ada, &once).await;
    assert_eq!(message().await, "1 of 1 failing");
    let pause =
        "mutation ($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    ask(&server, &ada, pause, json!({ "id": once })).await;
    assert_eq!(message().await, "1 paused");
}
