//! Every list of the schema, and its bound.

use std::collections::BTreeMap;

use entity::{Timestamp, task_run};
use sea_orm::{EntityTrait, IntoActiveModel};
use serde_json::json;
use uuid::Uuid;

use super::{
    desk::{Desk, noon},
    walk::Walk,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_list_that_is_asked_for_with_a_number_has_a_limit,
    attempts_beyond_those_that_are_listed_are_counted,
);

/// The bound of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// The caller sets the number with the named argument, up to this maximum.
    Asked(&'static str, u32),
    /// The maximum number that can be created, given or shown; anything beyond is refused or
    /// omitted.
    Limit(u32),
    /// The program or its configuration defines the items: roles, checks, kinds.
    Own,
}
use Bound::{Asked, Limit, Own};

/// All lists, in alphabetical order.
const LISTS: &[(&str, Bound)] = &[
    ("ApiToken.queues", Limit(32)),
    ("AlertChannel.to", Limit(50)),
    ("AlertRule.channels", Limit(10)),
    ("AlertRule.on", Own),
    ("AlertRulePreview.messages", Limit(200)),
    ("BrokerAddress.servers", Limit(8)),
    ("BufferPayload.purged", Limit(1_000)),
    ("Calendar.dates", Limit(2_000)),
    ("Calendar.ranges", Limit(2_000)),
    ("Calendar.weekdays", Own),
    ("Calendar.windows", Limit(100)),
    ("Calendar.yearly", Limit(2_000)),
    ("CalendarWindow.weekdays", Own),
    ("CandidateForecast.quieter", Limit(5)),
    ("CandidateForecast.starts", Limit(100)),
    ("ClockChange.schedules", Asked("first", 200)),
    // At most one sentence for each expression of the schedule.
    ("ClockChangeEffect.effects", Limit(16)),
    ("ClockChanges.changes", Limit(100)),
    ("CloudEvent.headers", Limit(32)),
    ("CommandTarget.args", Limit(1_024)),
    ("CommandTarget.environment", Limit(1_024)),
    // The warnings about the timing, and one for each secret that is not set.
    ("CreatedSchedule.warnings", Limit(100)),
    ("DefinitionEffect.addedFires", Limit(20)),
    ("DefinitionEffect.removedFires", Limit(20)),
    ("DeletedSchedule.tags", Limit(32)),
    ("DeployChange.fields", Limit(100)),
    ("DeployChange.warnings", Limit(100)),
    // The objects that a file declares, and those that its previous version declared.
    ("DeployEffect.schedules", Limit(2_200)),
    ("DeployPayload.changes", Limit(2_000)),
    ("DeployScheduleEffect.addedSample", Limit(3)),
    ("DeployScheduleEffect.removedSample", Limit(3)),
    ("DriftedThing.fields", Limit(100)),
    ("Forecast.fires", Asked("first", 200)),
    ("Forecast.hours", Asked("hours", 336)),
    ("Health.checks", Own),
    ("Health.findings", Own),
    ("Health.issues", Own),
    // At most one sentence for each figure.
    ("HealthBudget.issues", Limit(4)),
    ("HealthFinding.nodes", Limit(1_000)),
    ("HealthFinding.schedules", Limit(10)),
    ("HttpTarget.expectedStatus", Limit(32)),
    ("HttpTarget.headers", Limit(64)),
    ("LedgerCheck.findings", Limit(100)),
    ("LedgerCheck.schedules", Asked("first", 200)),
    // One for each pair of verdict and reason.
    ("LedgerTotals.groups", Own),
    ("MaintenancePreview.overlapping", Limit(10)),
    ("MaintenancePreview.sample", Asked("first", 10)),
    // The minutes of a week, at most.
    ("MinuteForecast.starts", Limit(10_080)),
    ("ModuleDrift.drifted", Limit(1_000)),
    ("Mutation.createSchedules", Limit(1_000)),
    ("NamespaceComparison.namespaces", Asked("first", 100)),
    ("NamespaceRetention.schedules", Limit(1_000)),
    // The steps of the range, and a part of one at each end.
    ("NamespaceStats.points", Limit(62)),
    ("OutagePolicy.instants", Asked("first", 200)),
    ("OutagePreview.schedules", Asked("first", 100)),
    // One for each policy.
    ("OutagePreview.totals", Own),
    ("OutageSchedule.policies", Own),
    ("Overview.failures", Asked("first", 200)),
    ("Overview.nodes", Limit(1_000)),
    ("Overview.upcoming", Asked("first", 200)),
    ("PausePreview.schedules", Limit(100)),
    ("PausePreviewSchedule.sample", Asked("first", 200)),
    ("Query.alertChannels", Limit(50)),
    ("Query.alertRules", Limit(100)),
    ("Query.brokers", Asked("first", 200)),
    ("Query.calendarFeeds", Limit(50)),
    ("Query.concurrencyGroups", Limit(500)),
    // The modules of at most 5,000 schedules.
    ("Query.exportModules", Limit(5_000)),
    ("Query.healthBudgets", Limit(200)),
    ("Query.lint", Own),
    ("Query.nodes", Limit(100)),
    ("Query.problems", Asked("first", 200)),
    ("Query.serverNodes", Limit(1_000)),
    ("Query.sessions", Limit(200)),
    ("Query.shards", Limit(256)),
    ("Query.timezones", Own),
    ("Query.workerQueues", Limit(1_000)),
    ("Query.workers", Limit(1_000)),
    ("QuietHours.windows", Limit(50)),
    ("ResumePreview.choices", Own),
    ("RetentionPreview.oldestKept", Own),
    ("RetentionPreview.tables", Asked("first", 1_000)),
    ("Run.runsOn", Limit(32)),
    ("Run.taskRuns", Asked("first", 1_000)),
    ("Run.tasks", Limit(100)),
    // The nodes, the group, a share, and the places of the nodes: each occurs once.
    ("Run.waitsFor", Own),
    ("RunStats.points", Limit(1_500)),
    // At most 100 attempts that the retry policy permits, and three more by recovery.
    ("RunTask.attempts", Limit(103)),
    ("RunTask.needs", Limit(20)),
    ("RunWait.runs", Limit(10)),
    ("RunsPayload.refusals", Limit(100)),
    ("RunsPayload.sample", Limit(10)),
    ("Schedule.buffer", Asked("first", 1_000)),
    ("Schedule.calendars", Limit(8)),
    ("Schedule.fireDays", Asked("count", 366)),
    ("Schedule.nextFires", Asked("count", 200)),
    ("Schedule.recentFires", Asked("first", 60)),
    ("Schedule.tags", Limit(32)),
    ("ScheduleGroups.groups", Limit(200)),
    ("SchedulePayload.warnings", Limit(100)),
    ("SchedulePreview.fires", Asked("count", 200)),
    ("SchedulePreview.warnings", Own),
    ("SchedulesPayload.refusals", Limit(100)),
    ("SchedulesPayload.sample", Limit(10)),
    ("SecretUse.users", Limit(20)),
    ("ServerNode.leases", Own),
    ("ServerNode.roles", Own),
    ("ServerNode.tags", Limit(32)),
    ("SkipPayload.skippedAt", Limit(100)),
    ("Task.needs", Limit(20)),
    ("Task.retryOn", Limit(32)),
    ("TestCallPayload.log", Limit(200)),
    ("TimelineLane.folds", Limit(120)),
    ("TimelineLane.marks", Limit(1_000)),
    ("TimelineLane.overlaps", Limit(220)),
    ("TimelineLane.planned", Limit(200)),
    ("TimelineLane.runs", Limit(220)),
    ("TimelineLoad.peaks", Limit(400)),
    ("Timing.expressions", Limit(16)),
    ("Timing.warnings", Own),
    // The rights that the configuration derives from a person's groups.
    ("User.givenElsewhere", Own),
    ("User.memberships", Asked("first", 1_000)),
    ("Viewer.grants", Asked("first", 1_000)),
    ("ViewerSettings.favourites", Limit(200)),
    ("ViewerSettings.views", Limit(100)),
    ("Workflow.runsOn", Limit(32)),
    ("Workflow.tasks", Limit(100)),
    ("WorkflowPayload.warnings", Limit(100)),
    ("WorkflowReading.problems", Limit(20)),
    ("WorkflowVersion.tasks", Limit(100)),
    ("Worker.queues", Limit(32)),
    ("Worker.tags", Limit(32)),
    ("WorkerTarget.tags", Limit(16)),
];

/// Maximum number of rows in a page.
const PAGE: u32 = 200;

#[tokio::test]
async fn every_list_is_bounded() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let walk = Walk::begin(&desk).await;
    let mut known: BTreeMap<&str, Bound> = LISTS.iter().copied().collect();
    assert_eq!(known.len(), LISTS.len());
    for list in walk.lists() {
        if list.kind.ends_with("Connection") {
            for arg in ["first", "after"] {
                assert!(list.args.iter().any(|given| given == arg), "{} has no {arg}", list.name);
            }
            continue;
        }
        let bound = known.remove(&*list.name);
        let bound = bound.unwrap_or_else(|| panic!("nobody said what bounds {}", list.name));
        let parents = [
            "ClockChange.",
            "Forecast.",
            "LedgerCheck.",
            "NamespaceComparison.",
            "OutagePreview.",
            "SchedulePreview.",
        ];
        let of_parent = parents.iter().any(|of| list.name.starts_with(of));
        if let (Asked(arg, _), false) = (bound, of_parent) {
            assert!(list.args.iter().any(|given| given == arg), "{} has no {arg}", list.name);
        }
    }
    assert!(known.is_empty(), "there are no such lists any more: {known:?}");
}

/// A query for each list that has an argument for the number of items.
const REACHED: [(&str, &str); 21] = [
    ("ClockChange.schedules", "{ clockChanges(first: N) { isComplete } }"),
    ("Forecast.fires", "{ upcoming(first: N) { isComplete } }"),
    ("Forecast.hours", "{ upcoming(hours: N) { isComplete } }"),
    ("LedgerCheck.schedules", "{ ledgerCheck(first: N) { expected } }"),
    (
        "MaintenancePreview.sample",
        "{ maintenancePreview(input: { title: \"x\", startsAt: \"2026-03-02T00:00:00Z\", \
         endsAt: \"2026-03-02T01:00:00Z\" }) { sample(first: N) { id } } }",
    ),
    ("NamespaceComparison.namespaces", "{ namespaceStats(first: N) { isCut } }"),
    (
        "OutagePolicy.instants",
        "{ outagePreview(from: \"2026-02-01T00:00:00Z\", to: \"2026-02-02T00:00:00Z\", first: 1)
            { schedules { policies { instants(first: N) { count } } } } }",
    ),
    (
        "OutagePreview.schedules",
        "{ outagePreview(from: \"2026-02-01T00:00:00Z\", to: \"2026-02-02T00:00:00Z\", first: N)
            { hasMore } }",
    ),
    ("Overview.failures", "{ overview { failures(first: N) { id } } }"),
    ("Overview.upcoming", "{ overview { upcoming(first: N) { at } } }"),
    (
        "PausePreviewSchedule.sample",
        "{ pausePreview(search: \"nightly\") { schedules { sample(first: N) { at } } } }",
    ),
    ("Query.brokers", "{ brokers(first: N) { kind } }"),
    ("Query.problems", "{ problems(first: N) { count } }"),
    ("RetentionPreview.tables", "{ retentionPreview { tables(first: N) { rows } } }"),
    ("Run.taskRuns", "{ runs(first: 1) { nodes { taskRuns(first: N) { id } } } }"),
    ("Schedule.buffer", "{ schedules(first: 1) { nodes { buffer(first: N) { id } } } }"),
    ("Schedule.fireDays", "{ schedules(first: 1) { nodes { fireDays(count: N) { date } } } }"),
    ("Schedule.nextFires", "{ schedules(first: 1) { nodes { nextFires(count: N) { at } } } }"),
    ("Schedule.recentFires", "{ schedules(first: 1) { nodes { recentFires(first: N) { id } } } }"),
    (
        "SchedulePreview.fires",
        "{ schedulePreview(timing: { expressions: [\"@daily\"] }, count: N) { description } }",
    ),
    ("User.memberships", "{ users(first: 1) { nodes { memberships(first: N) { role } } } }"),
];

async fn a_list_that_is_asked_for_with_a_number_has_a_limit(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let walk = Walk::begin(&desk).await;
    let asked = LISTS.iter().filter_map(|(name, bound)| match bound {
        Asked(_, most) => Some((*name, *most)),
        Limit(_) | Own => None,
    });
    for (name, most) in asked.filter(|(name, _)| *name != "Viewer.grants") {
        let (_, query) =
            REACHED.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("{name}"));
        let with = |number: u32| query.replace('N', &number.to_string());
        desk.ask(&with(most), json!({})).await;
        for number in [0, most + 1, 1_000_000_000] {
            let error = desk.refused(&with(number), json!({})).await;
            assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{name}: {error}");
            assert!(error["message"].as_str().unwrap().contains("is too "), "{name}: {error}");
        }
    }
    for number in [0, 1_001] {
        let error = desk
            .refused(&format!("{{ me {{ grants(first: {number}) {{ role }} }} }}"), json!({}))
            .await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
    }
    for list in walk.fields("Query").iter().filter(|list| list.text.contains("first: 1")) {
        let much = list.text.replacen("first: 1", &format!("first: {}", PAGE + 1), 1);
        let error = desk.refused(&format!("{{ {much} }}"), json!({})).await;
        assert!(error["message"].as_str().unwrap().contains("is too large"), "{much}: {error}");
    }
}

/// Fifty fields of each item of a list, in a page of 200: more than a request may cost if each item
/// counts.
#[tokio::test]
async fn the_items_of_a_list_count_in_what_a_request_may_ask_for() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    for (page, list, field) in [
        ("schedules", "nextFires(count: 10)", "at"),
        ("schedules", "fireDays(count: 10)", "date"),
        ("schedules", "buffer(first: 10)", "id"),
        ("schedules", "recentFires(first: 10)", "id"),
        ("schedules", "calendars", "name"),
        ("schedules", "workflow { tasks", "name"),
        ("schedules", "timing { warnings", "code"),
        ("runs", "tasks", "name"),
        ("runs", "taskRuns(first: 10)", "id"),
        ("workflows", "tasks", "name"),
        ("calendars", "ranges", "from"),
        ("calendars", "windows", "from"),
        ("users", "memberships(first: 10)", "role"),
        ("users", "givenElsewhere", "role"),
    ] {
        let fields: String = (0..50).map(|number| format!("a{number}: {field} ")).collect();
        let query = |first: u32| {
            let open = list.matches('{').count();
            let close = "} ".repeat(open + 1);
            format!("{{ {page}(first: {first}) {{ nodes {{ {list} {{ {fields} {close} }} }} }}")
        };
        desk.ask(&query(1), json!({})).await;
        let error = desk.refused(&query(200), json!({})).await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("complex"), "{list} of {page}: {message}");
    }
}

async fn attempts_beyond_those_that_are_listed_are_counted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("tick", "@hourly").await;
    let (run, other) = (desk.trigger(&schedule).await, desk.trigger(&schedule).await);
    let attempt = |attempt| task_run::Model {
        run_id: run.parse().unwrap(),
        task: "main".to_owned(),
        attempt,
        state: task_run::State::Failed,
        node_id: Uuid::from_u128(1),
        started_at: Timestamp::from(noon()),
        finished_at: Some(Timestamp::from(noon())),
        error: None,
        output: None,
    };
    let attempts = (1..=60).map(|number| attempt(number).into_active_model());
    let tx = desk.database.store.begin().await.unwrap();
    task_run::Entity::insert_many(attempts).exec_without_returning(&tx).await.unwrap();
    desk.database.store.commit(tx).await.unwrap();
    let query = "query ($id: UUID!) { run(id: $id) {
        taskRunCount usual: taskRuns { attempt } all: taskRuns(first: 1000) { attempt } } }";
    for (id, count, usual) in [(&run, 60, 50), (&other, 0, 0)] {
        let answer = desk.ask(query, json!({ "id": id })).await;
        let length = |name: &str| answer["run"][name].as_array().unwrap().len();
        assert_eq!(answer["run"]["taskRunCount"], count);
        assert_eq!((length("usual"), length("all")), (usual, count));
    }
}
