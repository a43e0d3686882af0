use std::collections::BTreeSet;

use entity::user::Role;
use futures::StreamExt;
use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::TestDatabase;

const ID: &str = "\"00000000-0000-7000-8000-000000000001\"";
const WINDOW: &str = "from: \"2026-02-01T00:00:00Z\", to: \"2026-02-02T00:00:00Z\"";
const MAINTENANCE: &str = "input: { title: \"x\", startsAt: \"2026-03-02T00:00:00Z\", \
                           endsAt: \"2026-03-02T01:00:00Z\" }";
const TIMING: &str = "timing: { expressions: [\"@daily\"] }";

/// Every root field except `me`, as a query that the library accepts.
fn queries() -> Vec<(&'static str, String)> {
    vec![
        ("schedules", "schedules { totalCount }".into()),
        ("scheduleGroups", "scheduleGroups(by: TAG) { without }".into()),
        ("alertChannels", "alertChannels { id }".into()),
        ("alertRules", "alertRules { id }".into()),
        (
            "alertRulePreview",
            "alertRulePreview(input: { name: \"x\", on: [FAILED], channelIds: [] }) { alerts }"
                .into(),
        ),
        ("alerts", "alerts { nodes { id } }".into()),
        ("notifications", "notifications { nodes { id } }".into()),
        ("secrets", "secrets { nodes { name } }".into()),
        ("metrics", "metrics { totalSchedules }".into()),
        ("runStats", "runStats { stepSeconds }".into()),
        ("namespaceStats", "namespaceStats { stepSeconds }".into()),
        ("exportModules", "exportModules { __typename }".into()),
        ("moduleDrift", "moduleDrift(name: \"x\") { module }".into()),
        ("schedule", format!("schedule(id: {ID}) {{ id }}")),
        ("schedulePreview", format!("schedulePreview({TIMING}) {{ description }}")),
        ("lint", format!("lint({TIMING}) {{ code }}")),
        ("resumePreview", format!("resumePreview(id: {ID}) {{ paused }}")),
        ("calendars", "calendars { nodes { id } }".into()),
        ("calendar", "calendar(name: \"x\") { id }".into()),
        ("workflows", "workflows { nodes { id } }".into()),
        ("workflow", "workflow(name: \"x\") { id }".into()),
        ("runs", "runs { nodes { id } }".into()),
        ("run", format!("run(id: {ID}) {{ id }}")),
        ("fires", format!("fires(scheduleId: {ID}) {{ nodes {{ id }} }}")),
        ("backfills", "backfills { nodes { id } }".into()),
        ("backfill", format!("backfill(id: {ID}) {{ id }}")),
        ("previewBackfill", format!("previewBackfill(scheduleId: {ID}, {WINDOW}) {{ selected }}")),
        ("fire", format!("fire(id: {ID}) {{ id }}")),
        ("upcoming", "upcoming { isComplete }".into()),
        ("modules", "modules { nodes { name } }".into()),
        ("taskLog", format!("taskLog(runId: {ID}) {{ nodes {{ text }} }}")),
        ("concurrencyGroups", "concurrencyGroups { id }".into()),
        ("timezones", "timezones".into()),
        ("health", "health { healthy }".into()),
        ("healthBudgets", "healthBudgets { tag }".into()),
        ("serverNodes", "serverNodes { name }".into()),
        ("workers", "workers { name }".into()),
        ("workerQueues", "workerQueues { name }".into()),
        ("overview", "overview { schedules }".into()),
        ("node", format!("node(id: {ID}) {{ id }}")),
        ("nodes", format!("nodes(ids: [{ID}]) {{ id }}")),
        ("deletedSchedules", "deletedSchedules { nodes { id } }".into()),
        ("retention", "retention { effectiveDays }".into()),
        ("retentionPreview", "retentionPreview { partitions }".into()),
        ("namespaces", "namespaces { nodes { name } }".into()),
        ("users", "users { nodes { name } }".into()),
        ("deletedNamespaces", "deletedNamespaces { nodes { name } }".into()),
        ("namespaceImpact", "namespaceImpact(namespace: \"x\") { schedules }".into()),
        ("memberships", "memberships { nodes { user } }".into()),
        ("apiTokens", "apiTokens { nodes { name } }".into()),
        ("sessions", "sessions { id }".into()),
        ("auditEvents", "auditEvents { nodes { id } }".into()),
        ("calendarFeeds", "calendarFeeds { id }".into()),
        ("ledger", "ledger { nodes { id } }".into()),
        ("ledgerTotals", "ledgerTotals { expected }".into()),
        ("ledgerCheck", "ledgerCheck { expected }".into()),
        ("problems", "problems { count }".into()),
        ("shards", "shards { number }".into()),
        ("brokers", "brokers { kind }".into()),
        ("outagePreview", format!("outagePreview({WINDOW}) {{ hasMore }}")),
        ("pausePreview", format!("pausePreview(ids: [{ID}]) {{ fires }}")),
        ("maintenanceWindows", "maintenanceWindows { nodes { id } }".into()),
        ("maintenanceWindow", format!("maintenanceWindow(id: {ID}) {{ id }}")),
        ("maintenancePreview", format!("maintenancePreview({MAINTENANCE}) {{ scheduleCount }}")),
        ("upcomingByMinute", "upcomingByMinute { starts }".into()),
        ("timeline", format!("timeline({WINDOW}) {{ nodes {{ isComplete }} }}")),
        ("timelineLoad", format!("timelineLoad({WINDOW}) {{ isComplete }}")),
        ("clockChanges", "clockChanges { isComplete }".into()),
        (
            "definitionEffect",
            format!("definitionEffect(scheduleId: {ID}, {TIMING}) {{ isComplete }}"),
        ),
        ("readWorkflow", "readWorkflow(text: \"x\") { definition }".into()),
    ]
}

fn mutations() -> Vec<(&'static str, String)> {
    [
        mutations_of_schedules(),
        mutations_of_work(),
        bulk_mutations(),
        mutations_of_modules_and_alerts(),
        mutations_of_people(),
        mutations_of_namespaces_and_settings(),
    ]
    .concat()
}

/// Mutations of schedules and calendars.
fn mutations_of_schedules() -> Vec<(&'static str, String)> {
    let create = format!("input: {{ name: \"x\", {TIMING} }}");
    vec![
        ("createSchedule", format!("createSchedule({create}) {{ schedule {{ id }} }}")),
        (
            "createSchedules",
            format!("createSchedules(inputs: [{{ name: \"x\", {TIMING} }}]) {{ id }}"),
        ),
        (
            "updateSchedule",
            format!(
                "updateSchedule(input: {{ id: {ID}, expectedVersion: 1 }}) {{ schedule {{ id }} }}"
            ),
        ),
        (
            "pauseSchedule",
            format!("pauseSchedule(id: {ID}, reason: \"x\") {{ schedule {{ id }} }}"),
        ),
        ("resumeSchedule", format!("resumeSchedule(id: {ID}) {{ schedule {{ id }} }}")),
        ("deleteSchedule", format!("deleteSchedule(id: {ID}) {{ id }}")),
        ("undeleteSchedule", format!("undeleteSchedule(id: {ID}) {{ schedule {{ id }} }}")),
        ("skipNext", format!("skipNext(id: {ID}, reason: \"x\") {{ skippedAt }}")),
        (
            "rollbackSchedule",
            format!(
                "rollbackSchedule(id: {ID}, toVersion: 1, expectedVersion: 2) {{ schedule {{ id }} }}"
            ),
        ),
        (
            "createCalendar",
            "createCalendar(input: { name: \"x\", mode: EXCLUDE }) { calendar { id } }".into(),
        ),
        (
            "updateCalendar",
            format!(
                "updateCalendar(input: {{ id: {ID}, expectedVersion: 1 }}) {{ calendar {{ id }} }}"
            ),
        ),
        ("deleteCalendar", format!("deleteCalendar(id: {ID}, expectedVersion: 1) {{ id }}")),
    ]
}

/// Mutations of runs, buffers, groups, workflows and backfills.
fn mutations_of_work() -> Vec<(&'static str, String)> {
    vec![
        ("triggerSchedule", format!("triggerSchedule(id: {ID}) {{ run {{ id }} }}")),
        ("cancelRun", format!("cancelRun(id: {ID}) {{ run {{ id }} }}")),
        ("retryRun", format!("retryRun(id: {ID}) {{ run {{ id }} }}")),
        ("purgeBuffer", format!("purgeBuffer(scheduleId: {ID}) {{ purged }}")),
        ("reorderBuffer", format!("reorderBuffer(scheduleId: {ID}, fireIds: [{ID}]) {{ purged }}")),
        (
            "createConcurrencyGroup",
            "createConcurrencyGroup(input: { name: \"x\", maxRuns: 1 }) { group { id } }".into(),
        ),
        (
            "updateConcurrencyGroup",
            format!(
                "updateConcurrencyGroup(input: {{ id: {ID}, expectedVersion: 1 }}) {{ group {{ id }} }}"
            ),
        ),
        ("deleteConcurrencyGroup", format!("deleteConcurrencyGroup(id: {ID}) {{ id }}")),
        ("rerunFromFailed", format!("rerunFromFailed(runId: {ID}) {{ run {{ id }} }}")),
        (
            "createWorkflow",
            "createWorkflow(input: { name: \"x\", tasks: [] }) { workflow { id } }".into(),
        ),
        (
            "updateWorkflow",
            format!(
                "updateWorkflow(input: {{ id: {ID}, expectedVersion: 1 }}) {{ workflow {{ id }} }}"
            ),
        ),
        ("deleteWorkflow", format!("deleteWorkflow(id: {ID}) {{ id }}")),
        (
            "createBackfill",
            format!(
                "createBackfill(scheduleId: {ID}, {WINDOW}, reason: \"x\") {{ backfill {{ id }} }}"
            ),
        ),
        ("pauseBackfill", format!("pauseBackfill(id: {ID}) {{ backfill {{ id }} }}")),
        ("resumeBackfill", format!("resumeBackfill(id: {ID}) {{ backfill {{ id }} }}")),
        (
            // Like the ids of the others, the namespace does not exist.
            "planMaintenance",
            format!(
                "planMaintenance({}) {{ window {{ id }} }}",
                MAINTENANCE.replace("title", "namespace: \"nowhere\", title")
            ),
        ),
        (
            "changeMaintenance",
            format!("changeMaintenance(id: {ID}, {MAINTENANCE}) {{ window {{ id }} }}"),
        ),
        (
            "cancelMaintenance",
            format!("cancelMaintenance(id: {ID}, reason: \"x\") {{ window {{ id }} }}"),
        ),
        ("cancelBackfill", format!("cancelBackfill(id: {ID}) {{ backfill {{ id }} }}")),
    ]
}

/// Mutations of all objects that match a search.
fn bulk_mutations() -> Vec<(&'static str, String)> {
    vec![
        (
            "pauseSchedules",
            "pauseSchedules(which: { namespace: \"x\", search: \"x\" }, reason: \"x\") { done }".into(),
        ),
        (
            "resumeSchedules",
            "resumeSchedules(which: { namespace: \"x\", search: \"x\" }) { done }".into(),
        ),
        (
            "triggerSchedules",
            "triggerSchedules(which: { namespace: \"x\", search: \"x\" }) { done }".into(),
        ),
        (
            "deleteSchedules",
            "deleteSchedules(which: { namespace: \"x\", search: \"x\" }) { done }".into(),
        ),
        (
            "updateSchedules",
            "updateSchedules(which: { namespace: \"x\", search: \"x\" }, change: { addTags: [\"x\"] }) \
             { done }"
                .into(),
        ),
        (
            "skipNextOfSchedules",
            "skipNextOfSchedules(which: { namespace: \"x\", search: \"x\" }, reason: \"x\") { done }"
                .into(),
        ),
        (
            "cancelRuns",
            "cancelRuns(which: { namespace: \"x\", search: \"x\" }) { done }".into(),
        ),
        (
            "retryRuns",
            "retryRuns(which: { namespace: \"x\", search: \"x\" }) { done }".into(),
        ),
    ]
}

/// Mutations of modules, notes, secrets and alerts.
fn mutations_of_modules_and_alerts() -> Vec<(&'static str, String)> {
    vec![
        ("deployModule", "deployModule(source: \"module: x\") { module }".into()),
        (
            "adoptModuleDrift",
            "adoptModuleDrift(name: \"x\", digest: \"x\", reason: \"x\") { settled }".into(),
        ),
        (
            "revertModuleDrift",
            "revertModuleDrift(name: \"x\", digest: \"x\", reason: \"x\") { settled }".into(),
        ),
        (
            "annotateSchedule",
            format!("annotateSchedule(id: {ID}, note: \"x\") {{ schedule {{ id }} }}"),
        ),
        ("setSecret", "setSecret(input: { name: \"x\", value: \"x\" }) { secret { name } }".into()),
        ("deleteSecret", "deleteSecret(name: \"x\") { id }".into()),
        (
            "createAlertChannel",
            "createAlertChannel(input: { name: \"x\", kind: EMAIL }) { channel { id } }".into(),
        ),
        (
            "updateAlertChannel",
            format!(
                "updateAlertChannel(input: {{ id: {ID}, expectedVersion: 1 }}) {{ channel {{ id }} }}"
            ),
        ),
        ("deleteAlertChannel", format!("deleteAlertChannel(id: {ID}) {{ id }}")),
        ("testAlertChannel", format!("testAlertChannel(id: {ID}) {{ notification {{ id }} }}")),
        (
            "createAlertRule",
            "createAlertRule(input: { name: \"x\", on: [FAILED], channelIds: [] }) \
             { rule { id } }"
                .into(),
        ),
        (
            "updateAlertRule",
            format!(
                "updateAlertRule(input: {{ id: {ID}, expectedVersion: 1 }}) {{ rule {{ id }} }}"
            ),
        ),
        ("deleteAlertRule", format!("deleteAlertRule(id: {ID}) {{ id }}")),
        ("muteAlertRule", format!("muteAlertRule(id: {ID}, reason: \"x\") {{ rule {{ id }} }}")),
        ("acknowledgeAlert", format!("acknowledgeAlert(id: {ID}) {{ alert {{ id }} }}")),
        ("unacknowledgeAlert", format!("unacknowledgeAlert(id: {ID}) {{ alert {{ id }} }}")),
        ("acknowledgeProblem", format!("acknowledgeProblem(scheduleId: {ID}, id: {ID}) {{ id }}")),
        (
            "unacknowledgeProblem",
            format!("unacknowledgeProblem(scheduleId: {ID}, id: {ID}) {{ id }}"),
        ),
        ("retryNotification", format!("retryNotification(id: {ID}) {{ notification {{ id }} }}")),
    ]
}

/// Mutations of users, members, sessions, tokens and feeds.
fn mutations_of_people() -> Vec<(&'static str, String)> {
    vec![
        (
            "createUser",
            "createUser(input: { name: \"x\", password: \"x\" }) { user { id } }".into(),
        ),
        (
            "createServiceAccount",
            "createServiceAccount(input: { name: \"x\" }) { user { id } }".into(),
        ),
        ("setUserRole", format!("setUserRole(userId: {ID}, role: ADMIN) {{ user {{ id }} }}")),
        ("disableUser", format!("disableUser(userId: {ID}) {{ user {{ id }} }}")),
        ("enableUser", format!("enableUser(userId: {ID}) {{ user {{ id }} }}")),
        ("deleteUser", format!("deleteUser(userId: {ID}) {{ id }}")),
        (
            "setMembership",
            "setMembership(input: { user: \"x\", namespace: \"default\", role: ADMIN }) \
             { membership { role } }"
                .into(),
        ),
        (
            "removeMembership",
            "removeMembership(user: \"x\", namespace: \"default\") { userId }".into(),
        ),
        (
            "changePassword",
            "changePassword(oldPassword: \"x\", newPassword: \"y\") { user { id } }".into(),
        ),
        (
            "resetPassword",
            format!("resetPassword(userId: {ID}, password: \"x\") {{ user {{ id }} }}"),
        ),
        ("revokeSession", "revokeSession(id: \"x\")".into()),
        ("revokeSessions", format!("revokeSessions(userId: {ID})")),
        (
            "createApiToken",
            "createApiToken(input: { name: \"x\", role: VIEWER }) { secret }".into(),
        ),
        ("revokeApiToken", format!("revokeApiToken(id: {ID}) {{ id }}")),
        ("createCalendarFeed", "createCalendarFeed(input: { name: \"x\" }) { path }".into()),
        ("revokeCalendarFeed", format!("revokeCalendarFeed(id: {ID}) {{ id }}")),
    ]
}

/// Mutations of namespaces, nodes, queues, and a user's console settings.
fn mutations_of_namespaces_and_settings() -> Vec<(&'static str, String)> {
    vec![
        (
            "setNamespaceRetention",
            "setNamespaceRetention(namespace: \"x\", days: 1) { days }".into(),
        ),
        ("createNamespace", "createNamespace(name: \"x\") { namespace { id } }".into()),
        (
            "renameNamespace",
            "renameNamespace(name: \"default\", newName: \"x\") { namespace { id } }".into(),
        ),
        ("deleteNamespace", "deleteNamespace(name: \"x\", reason: \"x\") { id }".into()),
        ("undeleteNamespace", "undeleteNamespace(name: \"x\") { namespace { id } }".into()),
        (
            "setNamespaceQuotas",
            "setNamespaceQuotas(namespace: \"default\", quotas: {}) { namespace { id } }".into(),
        ),
        ("drainNode", format!("drainNode(id: {ID}, reason: \"x\") {{ node {{ id }} }}")),
        ("undrainNode", format!("undrainNode(id: {ID}) {{ node {{ id }} }}")),
        ("testCall", "testCall(input: { target: { noop: {} } }) { succeeded }".into()),
        (
            "updateMySettings",
            "updateMySettings(input: { theme: DARK }) { settings { theme } }".into(),
        ),
        (
            "saveView",
            "saveView(input: { page: \"runs\", name: \"x\", query: \"x\" }) { view { id } }".into(),
        ),
        ("deleteView", format!("deleteView(id: {ID}) {{ id }}")),
        ("limitWorkerQueue", "limitWorkerQueue(name: \"x\", maxJobs: 1) { queue { name } }".into()),
        (
            "setHealthBudget",
            "setHealthBudget(tag: \"x\", limits: { missed: 0 }) { budget { tag } }".into(),
        ),
        ("removeHealthBudget", "removeHealthBudget(tag: \"x\") { id }".into()),
        (
            "setFavourite",
            format!("setFavourite(scheduleId: {ID}, isFavourite: true) {{ schedule {{ id }} }}"),
        ),
    ]
}

/// Mutations that every user may call for their own objects.
const OWN: [&str; 10] = [
    "changePassword",
    "revokeSession",
    "createApiToken",
    "revokeApiToken",
    "createCalendarFeed",
    "revokeCalendarFeed",
    "updateMySettings",
    "saveView",
    "deleteView",
    "setFavourite",
];

fn subscriptions() -> Vec<(&'static str, String)> {
    vec![
        ("clusterEvents", "clusterEvents { cursor }".into()),
        ("metricsTick", "metricsTick { cursor }".into()),
        ("healthEvents", "healthEvents { cursor }".into()),
        ("runEvents", "runEvents { cursor }".into()),
        ("taskLog", format!("taskLog(runId: {ID}) {{ cursor }}")),
        ("scheduleEvents", "scheduleEvents { cursor }".into()),
        ("fireEvents", "fireEvents { cursor }".into()),
        ("alertEvents", "alertEvents { cursor }".into()),
        ("backfillEvents", "backfillEvents { cursor }".into()),
    ]
}

/// The fields of a root type, according to the schema.
async fn fields(desk: &Desk, root: &str) -> BTreeSet<String> {
    let query = format!("{{ __type(name: \"{root}\") {{ fields {{ name }} }} }}");
    let answer = desk.ask(&query, json!({})).await;
    let names = answer["__type"]["fields"].as_array().unwrap().iter();
    names.map(|field| field["name"].as_str().unwrap().to_owned()).collect()
}

fn named(walk: &[(&'static str, String)]) -> BTreeSet<String> {
    walk.iter().map(|(name, _)| (*name).to_owned()).collect()
}

fn code(error: &Value) -> &str {
    error["extensions"]["code"].as_str().unwrap()
}

#[tokio::test]
async fn nothing_but_the_question_who_i_am_is_answered_to_nobody() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let me = desk.send(None, "{ me { name } }", json!({})).await;
    assert_eq!(me.data.into_json().unwrap(), json!({ "me": null }));

    let mut all = named(&queries());
    all.insert("me".to_owned());
    assert_eq!(all, fields(&desk, "Query").await, "a root field is missing in this walk");
    for (name, query) in queries() {
        let error = desk.refused_as(None, &format!("{{ {query} }}"), json!({})).await;
        assert_eq!(code(&error), "UNAUTHENTICATED", "{name}");
    }
    assert_eq!(named(&mutations()), fields(&desk, "Mutation").await);
    for (name, query) in mutations() {
        let error = desk.refused_as(None, &format!("mutation {{ {query} }}"), json!({})).await;
        assert_eq!(code(&error), "UNAUTHENTICATED", "{name}");
    }
    assert_eq!(named(&subscriptions()), fields(&desk, "Subscription").await);
    for (name, query) in subscriptions() {
        let mut stream = desk.schema.execute_stream(format!("subscription {{ {query} }}"));
        let refusal = stream.next().await.unwrap();
        let error = serde_json::to_value(&refusal.errors[0]).unwrap();
        assert_eq!(code(&error), "UNAUTHENTICATED", "{name}");
    }
}

#[tokio::test]
async fn a_viewer_changes_nothing() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    for (name, query) in mutations().into_iter().filter(|(name, _)| !OWN.contains(name)) {
        let query = format!("mutation {{ {query} }}");
        let error = desk.refused_as(Some(Role::Viewer), &query, json!({})).await;
        assert_eq!(code(&error), "FORBIDDEN", "{name}");
        assert_eq!(error["extensions"]["has"], "VIEWER");
    }
}

#[tokio::test]
async fn an_operator_operates_and_does_not_edit() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let editing = [
        "createSchedule",
        "createSchedules",
        "updateSchedule",
        "rollbackSchedule",
        "deleteSchedule",
        "undeleteSchedule",
        "createCalendar",
        "updateCalendar",
        "deleteCalendar",
        "createConcurrencyGroup",
        "updateConcurrencyGroup",
        "deleteConcurrencyGroup",
        "limitWorkerQueue",
        "setHealthBudget",
        "removeHealthBudget",
        "deleteSchedules",
        "updateSchedules",
        "createWorkflow",
        "updateWorkflow",
        "deleteWorkflow",
        "deployModule",
        "adoptModuleDrift",
        "revertModuleDrift",
        "setNamespaceRetention",
        "createUser",
        "createServiceAccount",
        "setUserRole",
        "disableUser",
        "enableUser",
        "deleteUser",
        "setMembership",
        "removeMembership",
        "resetPassword",
        "revokeSessions",
        "createNamespace",
        "renameNamespace",
        "deleteNamespace",
        "undeleteNamespace",
        "setNamespaceQuotas",
        "setSecret",
        "deleteSecret",
        "createAlertChannel",
        "updateAlertChannel",
        "deleteAlertChannel",
        "testAlertChannel",
        "createAlertRule",
        "updateAlertRule",
        "deleteAlertRule",
        "drainNode",
        "undrainNode",
        "testCall",
    ];
    for (name, query) in mutations() {
        let query = format!("mutation {{ {query} }}");
        let error = desk.refused_as(Some(Role::Operator), &query, json!({})).await;
        let expected = if editing.contains(&name) { "FORBIDDEN" } else { "NOT_FOUND" };
        assert_eq!(code(&error), expected, "{name}: {error}");
    }
}
