//! Tries each position for a key with the key of another namespace's object.
//!
//! A caller with all permissions in their own namespace sends the key of an object in another
//! namespace in one position, and keys of their own objects in all others. Positions are found in
//! arguments, nested inputs and optional fields. They come from the schema, so new positions are
//! tried as well; the test fails if one of the queries succeeds.

use carillon::access::{Grant, Grants, Viewer, ViewerKind};
use entity::user::Role;
use futures::{FutureExt, StreamExt, pin_mut, select_biased};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::Desk,
    walk::{Place, Walk},
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    no_argument_accepts_the_key_of_another_namespaces_object,
    no_subscription_accepts_the_key_of_another_namespaces_object,
    a_viewer_changes_nothing_by_any_key,
);

/// Positions that filter a list: the list does not contain objects of another namespace.
const NARROWING: [&str; 5] = [
    "runs.filter.scheduleId",
    "backfills.scheduleId",
    "alerts.filter.ruleId",
    "alerts.filter.scheduleId",
    "auditEvents.filter.subjectId",
];
/// A position that the server does not check: a preview sends nothing to the channels.
const UNREAD: &str = "alertRulePreview.input.channelIds";
/// Positions that need a waiting fire, which this test does not have.
const WAITING: [&str; 3] =
    ["purgeBuffer.fireIds", "reorderBuffer.fireIds", "reorderBuffer.scheduleId"];
/// Only an administrator of the instance can name other users or nodes here; other callers have
/// only themselves, and this caller is not in the database.
const OF_PEOPLE: [&str; 14] = [
    "sessions.userId",
    "calendarFeeds.userId",
    "setUserRole.userId",
    "disableUser.userId",
    "enableUser.userId",
    "deleteUser.userId",
    "resetPassword.userId",
    "revokeSessions.userId",
    "revokeApiToken.id",
    "revokeCalendarFeed.id",
    "deleteView.id",
    "setFavourite.scheduleId",
    "drainNode.id",
    "undrainNode.id",
];

/// An administrator of one namespace, without any role elsewhere.
pub(super) fn administrator_of(namespace: Uuid) -> Viewer {
    let grants = Grants::new(None, [(namespace, Grant { role: Role::Admin, sees_payloads: true })]);
    Viewer::new(Uuid::from_u128(8), "eve", ViewerKind::User, grants, "192.0.2.8")
}

pub(super) fn named(place: &Place) -> String {
    format!("{}.{}", place.field, place.path.join("."))
}

/// Why a caller is refused: `NOT_FOUND`, `FORBIDDEN`, that an object does not exist, or another
/// reason that has nothing to do with the key.
pub(super) async fn refusal(desk: &Desk, who: &Viewer, query: &str) -> Result<Value, String> {
    let response = desk.send_as(who, query, json!({})).await;
    let Some(error) = response.errors.first() else {
        return Ok(response.data.into_json().unwrap());
    };
    let error = serde_json::to_value(error).unwrap();
    let problem = error["extensions"]["problem"].as_str().unwrap_or_default();
    let code = error["extensions"]["code"].as_str().unwrap();
    let is_missing = ["does not exist", "does not wait"].iter().any(|what| problem.contains(what));
    Err(if is_missing { "NOT_FOUND".to_owned() } else { code.to_owned() })
}

pub(super) fn is_nothing(answer: &Value) -> bool {
    let items = answer["nodes"].as_array().or(answer.as_array());
    answer.is_null() || items.is_some_and(|items| items.iter().all(Value::is_null))
}

async fn no_argument_accepts_the_key_of_another_namespaces_object(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let theirs = Walk::begin(&desk).await;
    let own = theirs.beside(&desk, "other").await;
    let eve = administrator_of(namespace(&desk, "other").await);
    let mut tried = Vec::new();
    for (operation, root) in [("query", "Query"), ("mutation", "Mutation")] {
        for place in own.places(root) {
            let name = named(&place);
            if name == UNREAD {
                continue;
            }
            let text = own.with_key(root, &place, theirs.key(&place));
            let query = format!("{operation} {{ {text} }}");
            match refusal(&desk, &eve, &query).await {
                Ok(data) => {
                    let answer = &data[&*place.field];
                    assert!(is_nothing(answer), "{query} was answered: {data}");
                    let is_known = NARROWING.contains(&&*name) || operation == "query";
                    assert!(is_known, "{query} was done: {data}");
                }
                Err(code) => {
                    let refused = ["NOT_FOUND", "FORBIDDEN"].contains(&&*code);
                    assert!(refused, "{query}: {code}");
                }
            }
            tried.push((operation, root, place));
        }
    }
    let names: Vec<_> = tried.iter().map(|(_, _, place)| named(place)).collect();
    for nested in
        ["updateAlertRule.input.channelIds", "purgeBuffer.fireIds", "lint.scheduleId", "nodes.ids"]
    {
        assert!(names.iter().any(|name| name == nested), "{nested} is no place of {names:?}");
    }
    for known in NARROWING.iter().chain(&OF_PEOPLE) {
        assert!(names.iter().any(|name| name == known), "{known} is no place any more");
    }
    with_their_own(&desk, &eve, &own, tried).await;
}

/// Proves that the foreign key was the reason for each refusal: with keys of their own, the callers
/// are not refused in that way. Deletions come last, because other queries need the objects; a
/// deleted schedule is restored.
async fn with_their_own(
    desk: &Desk,
    eve: &Viewer,
    own: &Walk,
    mut tried: Vec<(&str, &str, Place)>,
) {
    tried.retain(|(_, _, place)| {
        let name = named(place);
        !OF_PEOPLE.contains(&&*name) && !WAITING.contains(&&*name)
    });
    tried.sort_by_key(|(_, _, place)| match place.field.as_str() {
        "deleteSchedule" => 1,
        "undeleteSchedule" => 2,
        other if other.starts_with("delete") => 3,
        _ => 0,
    });
    for (operation, root, place) in tried {
        let query = format!("{operation} {{ {} }}", own.with_key(root, &place, own.key(&place)));
        let answer = refusal(desk, eve, &query).await;
        let found = match &answer {
            Ok(data) => operation == "mutation" || !data[&*place.field].is_null(),
            Err(code) => !["NOT_FOUND", "FORBIDDEN"].contains(&&**code),
        };
        assert!(found, "{query}: {answer:?}");
    }
}

/// Mutations of objects that belong to one user, which no other user can reach.
const OWN: [&str; 4] = ["revokeApiToken", "revokeCalendarFeed", "deleteView", "setFavourite"];
/// Lists and queries that a viewer is refused, because they need another role or concern users.
const KEPT: [&str; 6] =
    ["auditEvents", "calendarFeeds", "sessions", "taskLog", "alertRulePreview", "readWorkflow"];

/// A viewer of one namespace tries the keys of existing objects of both namespaces in each
/// position: nothing changes, and the answers reveal nothing of the other namespace.
async fn a_viewer_changes_nothing_by_any_key(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let theirs = Walk::begin(&desk).await;
    let own = theirs.beside(&desk, "other").await;
    let viewer = member_of(namespace(&desk, "other").await, Role::Viewer);
    let facts =
        "{ auditEvents(first: 200) { nodes { id } } schedules(namespace: \"other\") { nodes {
        version state bufferSize } } runs(namespace: \"other\") { nodes { id state } } }";
    let before = desk.ask(facts, json!({})).await;
    let mut nested = 0;
    for (operation, root) in [("query", "Query"), ("mutation", "Mutation")] {
        for place in own.places(root) {
            let name = named(&place);
            nested += usize::from(place.path.len() > 1);
            for (walk, is_own) in [(&theirs, false), (&own, true)] {
                if is_own && OF_PEOPLE.contains(&&*name) {
                    continue;
                }
                let text = own.with_key(root, &place, walk.key(&place));
                let query = format!("{operation} {{ {text} }}");
                match refusal(&desk, &viewer, &query).await {
                    Ok(_) if operation == "mutation" => panic!("{query} was done"),
                    Ok(_) if name == UNREAD => {}
                    Ok(data) => {
                        let answer = &data[&*place.field];
                        assert!(is_own || is_nothing(answer), "{query}: {data}");
                    }
                    Err(code) if operation == "mutation" => {
                        let is_of_people = OWN.contains(&&*place.field) && code == "NOT_FOUND";
                        assert!(code == "FORBIDDEN" || is_of_people, "{query}: {code}");
                    }
                    Err(code) => {
                        let is_kept = KEPT.contains(&&*place.field) && code == "FORBIDDEN";
                        assert!(is_kept || !is_own && code == "NOT_FOUND", "{query}: {code}");
                    }
                }
            }
        }
    }
    assert!(nested > 10, "{nested}");
    assert_eq!(desk.ask(facts, json!({})).await, before);
}

/// The beginning of time, as a cursor.
const BEGIN: &str = "since: \"-1.00000000000000000000000000000000\"";
const BEGIN_OF_FIRES: &str = "since: \"-1.00000000000000000000000000000000_\
    -1.00000000000000000000000000000000\"";

async fn no_subscription_accepts_the_key_of_another_namespaces_object(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let theirs = Walk::begin(&desk).await;
    let own = theirs.beside(&desk, "other").await;
    let eve = administrator_of(namespace(&desk, "other").await);
    let follow = |text: String| {
        let begin = if text.starts_with("fireEvents") { BEGIN_OF_FIRES } else { BEGIN };
        let text = text.replacen('(', &format!("({begin}, "), 1);
        let request = async_graphql::Request::new(format!("subscription {{ {text} }}"));
        desk.schema.execute_stream(request.data(eve.clone()))
    };
    let mut known = 0;
    for place in own.places("Subscription") {
        let name = named(&place);
        let foreign = own.with_key("Subscription", &place, theirs.key(&place));
        if name == "taskLog.runId" {
            let answer = follow(foreign).next().await.unwrap();
            let errors = serde_json::to_value(&answer.errors).unwrap();
            assert_eq!(errors[0]["extensions"]["code"], "NOT_FOUND", "{name}: {errors}");
        } else {
            // The subscription with the caller's own key gets the event. By then, the subscription
            // with the other key has received nothing.
            let mine = own.with_key("Subscription", &place, own.key(&place));
            let (others, mine) = (follow(foreign), follow(mine));
            pin_mut!(others, mine);
            select_biased! {
                event = others.next().fuse() => panic!("{name} is answered: {event:?}"),
                event = mine.next().fuse() => assert!(event.unwrap().errors.is_empty(), "{name}"),
            }
        }
        known += 1;
    }
    assert_eq!(known, 7);
    // In a list of keys, only the key of the other namespace is refused.
    let keys = [&theirs, &own].map(|walk| {
        let key = walk.keys.iter().find(|(of, _)| *of == "schedule").unwrap();
        key.1.clone()
    });
    let text = format!(
        "scheduleEvents(namespace: \"other\", ids: [\"{}\", \"{}\"]) {{ scheduleId }}",
        keys[0], keys[1]
    );
    let first = follow(text).next().await.unwrap().data.into_json().unwrap();
    assert_eq!(first["scheduleEvents"]["scheduleId"], *keys[1]);
}
