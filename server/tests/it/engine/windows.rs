//! Maintenance windows: what is due before, in and after them, whoever carries them out, and when.

use std::{collections::HashMap, time::Duration};

use carillon::{
    clock::ManualClock,
    commands::{AutomaticEnd, Call, Edit, WindowSpec},
    engine::{Stepwise, StepwiseService},
    model::Spec,
    store::maintenance,
};
use entity::{
    audit_event,
    fire::{Reason, Verdict},
    maintenance_window::{self, State},
    schedule::{self, CatchUp, Overlap},
};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::{
    editing::{ada, commands},
    pause::{fates, row},
    world::{World, at, ms, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    what_is_due_before_a_window_runs_and_what_is_due_in_it_does_not,
    a_window_that_a_node_carries_out_late_keeps_what_was_due_before_it_apart,
    a_window_that_passed_while_no_node_was_there_still_has_its_instants,
    several_instants_that_are_due_at_one_claim_are_divided_by_the_window,
    a_schedule_that_is_made_in_a_window_is_paused_as_well,
    a_window_that_is_cancelled_before_it_begins_leaves_no_trace,
    a_window_that_is_cancelled_ends_its_pauses,
    a_window_that_is_moved_takes_its_marks_along,
    a_new_end_of_a_window_holds_at_once,
    a_schedule_that_is_resumed_in_a_window_stays_resumed,
    a_schedule_that_is_paused_already_is_left_alone,
    an_edit_keeps_the_mark_and_a_deletion_does_not,
    marks_follow_the_search_until_the_window_begins,
    a_schedule_passes_from_one_window_to_the_next,
    a_planned_pause_is_nothing_that_falls_due,
    an_engine_carries_out_a_window_by_itself,
);

/// A world whose planner and windows the test carries out by hand.
pub(super) struct Site {
    pub(super) world: World,
    pub(super) clock: ManualClock,
    pub(super) node: Stepwise,
    services: HashMap<&'static str, StepwiseService>,
}

impl Site {
    pub(super) async fn open(database: TestDatabase, now: &str) -> Self {
        let (world, clock) = World::at(database, instant(now)).await;
        let (node, services) = world.by_hand().await;
        Self { world, clock, node, services }
    }

    /// A schedule of each hour or half an hour, whose runs do not get in each other's way.
    pub(super) async fn schedule(&self, expression: &str) -> schedule::Model {
        self.world.schedule(expression, noop(), |row| row.overlap = Overlap::Allow).await
    }

    /// A window on the day of the test, for all schedules.
    pub(super) fn spec(from: &str, to: &str) -> WindowSpec {
        WindowSpec {
            namespace: "test".to_owned(),
            title: "Database upgrade".to_owned(),
            ticket: Some("OPS-7".to_owned()),
            search: None,
            starts_at: instant(from),
            ends_at: instant(to),
            missed: CatchUp::Skip,
        }
    }

    pub(super) async fn plan(&mut self, spec: &WindowSpec) -> Uuid {
        let operator = ada().operator().unwrap();
        let commands = commands(&self.world);
        let saved = commands.plan_maintenance(&operator, spec, None, &Call::once()).await.unwrap();
        self.go_round("maintenance").await;
        saved.id
    }

    pub(super) async fn change(&self, id: Uuid, spec: &WindowSpec) {
        let (operator, commands) = (ada().operator().unwrap(), commands(&self.world));
        let call = Call::once();
        commands.change_maintenance(&operator, id, spec, None, &call).await.unwrap();
    }

    pub(super) async fn cancel(&self, id: Uuid) {
        let (operator, commands) = (ada().operator().unwrap(), commands(&self.world));
        let call = Call::once();
        commands.cancel_maintenance(&operator, id, "postponed", &call).await.unwrap();
    }

    pub(super) async fn go_round(&mut self, service: &str) {
        let now = self.world.clock.now();
        self.services.get_mut(service).unwrap().once(now).await.unwrap();
    }

    /// Lets the planner do all that is due.
    pub(super) async fn claim(&mut self) {
        for _ in 0..4 {
            self.go_round("planner").await;
        }
    }

    /// Moves the time, and lets the planner go first.
    pub(super) async fn at(&mut self, time: &str) {
        self.clock.set(instant(time));
        self.claim().await;
        self.go_round("maintenance").await;
        self.claim().await;
    }

    pub(super) async fn row(&self, schedule: &schedule::Model) -> schedule::Model {
        row(&self.world, schedule).await
    }

    pub(super) async fn window(&self, id: Uuid) -> maintenance_window::Model {
        maintenance::by_id(self.world.database.store.read(), id).await.unwrap().unwrap()
    }

    /// Time, verdict and reason of each row of a schedule.
    pub(super) async fn fates(&self, schedule: &schedule::Model) -> Vec<(String, Verdict, Reason)> {
        let ledger = self.world.ledger(schedule.id).await;
        let time = |fire: &entity::fire::Model| fire.scheduled_at.utc().format("%H:%M").to_string();
        ledger.iter().map(|fire| (time(fire), fire.verdict, fire.reason)).collect()
    }

    /// The mark of a schedule: from when on, and for which window.
    pub(super) async fn mark(&self, schedule: &schedule::Model) -> Option<(String, Uuid)> {
        let row = self.row(schedule).await;
        let from = row.pause_from?.utc().format("%H:%M").to_string();
        Some((from, row.pause_window_id.unwrap()))
    }
}

pub(super) fn instant(time: &str) -> chrono::DateTime<chrono::Utc> {
    at(&format!("2026-03-01T{time}:00Z"))
}

pub(super) fn started(time: &str) -> (String, Verdict, Reason) {
    (time.to_owned(), Verdict::Started, Reason::OnTime)
}

pub(super) fn paused(time: &str) -> (String, Verdict, Reason) {
    (time.to_owned(), Verdict::Skipped, Reason::Paused)
}

async fn what_is_due_before_a_window_runs_and_what_is_due_in_it_does_not(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("*/30 * * * *").await;
    let window = site.plan(&Site::spec("13:00", "14:30")).await;
    assert_eq!(site.mark(&schedule).await, Some(("13:00".to_owned(), window)));
    site.at("12:30").await;
    assert_eq!(site.fates(&schedule).await, [started("12:30")]);
    assert_eq!(site.window(window).await.state, State::Planned);

    // The planner looks before the window is carried out.
    site.clock.set(instant("13:00"));
    site.claim().await;
    assert_eq!(site.fates(&schedule).await, [started("12:30")]);
    assert!(site.row(&schedule).await.enabled);
    site.go_round("maintenance").await;
    let row = site.row(&schedule).await;
    assert!(!row.enabled && row.pause_from.is_none() && row.pause_window_id.is_none());
    assert_eq!(row.paused_window_id, Some(window));
    assert_eq!(row.paused_reason.as_deref(), Some("Maintenance: Database upgrade (OPS-7)"));
    assert_eq!(row.paused_by.as_deref(), Some("ada"));
    assert_eq!(row.paused_at, Some(ms("2026-03-01T13:00:00Z")));
    assert_eq!(row.paused_until, Some(ms("2026-03-01T14:30:00Z")));
    assert_eq!(row.paused_missed, Some(CatchUp::Skip));
    let active = site.window(window).await;
    assert_eq!((active.state, active.held), (State::Active, 1));
    let events = audit_event::Entity::find()
        .filter(audit_event::Column::Action.eq("schedule.pause"))
        .all(site.world.database.store.read());
    let events = events.await.unwrap();
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((event.subject_id, event.actor.as_str()), (Some(schedule.id), "ada"));
    assert_eq!(event.after.as_ref().unwrap()["paused"], true);

    site.at("14:29").await;
    assert_eq!(site.fates(&schedule).await, [started("12:30")]);
    site.at("14:30").await;
    let expected =
        [started("12:30"), paused("13:00"), paused("13:30"), paused("14:00"), started("14:30")];
    assert_eq!(site.fates(&schedule).await, expected);
    assert!(site.row(&schedule).await.enabled);
    let ended = site.window(window).await;
    assert_eq!((ended.state, ended.is_open, ended.held), (State::Ended, false, 1));
    site.node.abandon();
}

/// The only node was away from before the window until an hour after it began.
async fn a_window_that_a_node_carries_out_late_keeps_what_was_due_before_it_apart(
    database: TestDatabase,
) {
    let mut site = Site::open(database, "10:20").await;
    let schedule = site.schedule("0 * * * *").await;
    site.plan(&Site::spec("13:00", "15:00")).await;
    site.clock.set(instant("14:10"));
    // Instants from before the window are still to be claimed.
    site.go_round("maintenance").await;
    assert!(site.row(&schedule).await.enabled);
    site.claim().await;
    let missed = [
        ("11:00".to_owned(), Verdict::Collapsed, Reason::Outage),
        ("12:00".to_owned(), Verdict::Started, Reason::CaughtUp),
    ];
    assert_eq!(site.fates(&schedule).await, missed);
    site.go_round("maintenance").await;
    let row = site.row(&schedule).await;
    assert_eq!((row.enabled, row.paused_at), (false, Some(ms("2026-03-01T13:00:00Z"))));
    site.at("15:00").await;
    let [first, second] = missed;
    let expected = [first, second, paused("13:00"), paused("14:00"), started("15:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    site.node.abandon();
}

async fn a_window_that_passed_while_no_node_was_there_still_has_its_instants(
    database: TestDatabase,
) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let latest = WindowSpec { missed: CatchUp::Latest, ..Site::spec("13:00", "15:00") };
    let window = site.plan(&latest).await;
    site.at("16:10").await;
    let expected = [
        ("13:00".to_owned(), Verdict::Collapsed, Reason::Paused),
        ("14:00".to_owned(), Verdict::Started, Reason::CaughtUp),
        ("15:00".to_owned(), Verdict::Collapsed, Reason::Outage),
        ("16:00".to_owned(), Verdict::Started, Reason::CaughtUp),
    ];
    assert_eq!(site.fates(&schedule).await, expected);
    assert_eq!(site.window(window).await.state, State::Ended);
    site.node.abandon();
}

/// The policy of the schedule applies to the instants before the window as if those in it were not
/// due.
async fn several_instants_that_are_due_at_one_claim_are_divided_by_the_window(
    database: TestDatabase,
) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site
        .world
        .schedule("*/10 * * * *", noop(), |row| {
            (row.overlap, row.catch_up) = (Overlap::Allow, CatchUp::All);
            row.catch_up_max = 1;
        })
        .await;
    site.plan(&Site::spec("13:00", "13:20")).await;
    site.at("13:05").await;
    let missed = |time: &str| (time.to_owned(), Verdict::Missed, Reason::CatchUpLimit);
    let made_up = ("12:50".to_owned(), Verdict::Started, Reason::CaughtUp);
    let expected = [missed("12:30"), missed("12:40"), made_up];
    assert_eq!(site.fates(&schedule).await, expected);
    assert!(!site.row(&schedule).await.enabled);
    site.node.abandon();
}

async fn a_schedule_that_is_made_in_a_window_is_paused_as_well(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let window = site.plan(&Site::spec("13:00", "15:00")).await;
    site.at("13:00").await;
    site.clock.set(instant("13:20"));
    let schedule = site.schedule("0 * * * *").await;
    site.at("13:21").await;
    let row = site.row(&schedule).await;
    assert_eq!((row.enabled, row.paused_window_id), (false, Some(window)));
    assert_eq!(row.paused_at, Some(ms("2026-03-01T13:20:00Z")));
    site.at("15:00").await;
    assert_eq!(site.fates(&schedule).await, [paused("14:00"), started("15:00")]);
    site.node.abandon();
}

async fn a_window_that_is_cancelled_before_it_begins_leaves_no_trace(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let window = site.plan(&Site::spec("13:00", "15:00")).await;
    site.cancel(window).await;
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&schedule).await, None);
    let cancelled = site.window(window).await;
    assert_eq!((cancelled.state, cancelled.is_open), (State::Cancelled, false));
    assert_eq!(cancelled.cancel_reason.as_deref(), Some("postponed"));
    site.at("13:00").await;
    assert_eq!(site.fates(&schedule).await, [started("13:00")]);
    site.node.abandon();
}

async fn a_window_that_is_cancelled_ends_its_pauses(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("*/30 * * * *").await;
    let latest = WindowSpec { missed: CatchUp::Latest, ..Site::spec("13:00", "15:00") };
    let window = site.plan(&latest).await;
    site.at("12:30").await;
    site.at("13:00").await;
    site.at("13:40").await;
    site.cancel(window).await;
    site.go_round("maintenance").await;
    site.claim().await;
    assert!(site.row(&schedule).await.enabled);
    let expected = [
        started("12:30"),
        ("13:00".to_owned(), Verdict::Collapsed, Reason::Paused),
        ("13:30".to_owned(), Verdict::Started, Reason::CaughtUp),
    ];
    assert_eq!(site.fates(&schedule).await, expected);
    site.at("14:00").await;
    assert_eq!(site.fates(&schedule).await.last(), Some(&started("14:00")));
    let cancelled = site.window(window).await;
    assert_eq!((cancelled.is_open, cancelled.held), (false, 1));
    site.node.abandon();
}

async fn a_window_that_is_moved_takes_its_marks_along(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let window = site.plan(&Site::spec("13:00", "15:00")).await;
    site.change(window, &Site::spec("14:00", "15:00")).await;
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&schedule).await, Some(("14:00".to_owned(), window)));
    site.at("13:00").await;
    site.at("14:00").await;
    site.at("15:00").await;
    let expected = [started("13:00"), paused("14:00"), started("15:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    site.node.abandon();
}

async fn a_new_end_of_a_window_holds_at_once(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let window = site.plan(&Site::spec("13:00", "14:00")).await;
    site.at("13:00").await;
    site.clock.set(instant("13:59"));
    let mut longer = Site::spec("13:00", "16:00");
    longer.title = "Longer upgrade".to_owned();
    site.change(window, &longer).await;
    // The planner looks first.
    site.at("14:00").await;
    let row = site.row(&schedule).await;
    assert_eq!((row.enabled, row.paused_until), (false, Some(ms("2026-03-01T16:00:00Z"))));
    assert_eq!(row.paused_reason.as_deref(), Some("Maintenance: Longer upgrade (OPS-7)"));
    let operator = ada().operator().unwrap();
    let moved = Site::spec("13:30", "16:00");
    let commands = commands(&site.world);
    let refused = commands.change_maintenance(&operator, window, &moved, None, &Call::once()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.starts_with("the window has begun"), "{refused}");
    site.at("16:00").await;
    let expected = [paused("13:00"), paused("14:00"), paused("15:00"), started("16:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    site.node.abandon();
}

async fn a_schedule_that_is_resumed_in_a_window_stays_resumed(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    site.plan(&Site::spec("13:00", "16:00")).await;
    site.at("13:00").await;
    site.clock.set(instant("13:30"));
    // A schedule that is made in the window stays resumed, too.
    let made = site.schedule("0 * * * *").await;
    site.at("13:40").await;
    assert!(!site.row(&made).await.enabled);
    let operator = ada().operator().unwrap();
    for id in [schedule.id, made.id] {
        let resumed = commands(&site.world);
        resumed.resume(&operator, id, CatchUp::Skip, &Call::once()).await.unwrap();
    }
    site.at("14:00").await;
    site.at("15:00").await;
    let expected = [paused("13:00"), started("14:00"), started("15:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    assert_eq!(site.fates(&made).await, [started("14:00"), started("15:00")]);
    site.node.abandon();
}

async fn a_schedule_that_is_paused_already_is_left_alone(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let window = site.plan(&Site::spec("13:00", "15:00")).await;
    let operator = ada().operator().unwrap();
    let end = AutomaticEnd { at: instant("14:30"), missed: CatchUp::Skip };
    let paused_by_hand = commands(&site.world);
    let (call, reason) = (Call::once(), "by hand");
    paused_by_hand.pause(&operator, schedule.id, reason, Some(end), &call).await.unwrap();
    site.at("13:00").await;
    let row = site.row(&schedule).await;
    assert_eq!(row.paused_reason.as_deref(), Some("by hand"));
    assert_eq!((row.paused_until, row.paused_window_id), (Some(end.at.into()), None));
    assert_eq!(site.mark(&schedule).await, None);
    site.at("14:30").await;
    site.at("15:00").await;
    assert_eq!(site.window(window).await.held, 0);
    let expected = [paused("13:00"), paused("14:00"), started("15:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    site.node.abandon();
}

async fn an_edit_keeps_the_mark_and_a_deletion_does_not(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let window = site.plan(&Site::spec("13:00", "15:00")).await;
    let apply: fn(&mut Spec) = |spec| spec.timing.expressions = vec!["*/15 * * * *".to_owned()];
    let edit = Edit {
        id: schedule.id,
        expected_version: 1,
        apply: Box::new(apply),
        work: None,
        reason: None,
    };
    let (editor, changed) = (ada().editor().unwrap(), commands(&site.world));
    changed.update_schedule(&editor, edit, &Call::once()).await.unwrap();
    assert_eq!(site.mark(&schedule).await, Some(("13:00".to_owned(), window)));
    site.at("12:30").await;
    site.at("12:45").await;
    site.at("13:00").await;
    assert_eq!(site.fates(&schedule).await, [started("12:30"), started("12:45")]);
    assert!(!site.row(&schedule).await.enabled);
    let other = site.schedule("0 * * * *").await;
    site.at("13:01").await;
    changed.delete_schedule(&editor, other.id, None, None, &Call::once()).await.unwrap();
    let row = site.row(&other).await;
    assert_eq!((row.pause_from, row.pause_window_id), (None, None));
    assert_eq!(row.paused_window_id, Some(window), "it may be restored");
    site.node.abandon();
}

async fn marks_follow_the_search_until_the_window_begins(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let tagged = |row: &mut schedule::Model| row.tags.0 = vec!["db".to_owned()];
    let first = site.world.schedule("0 * * * *", noop(), tagged).await;
    let other = site.schedule("0 * * * *").await;
    let search = Some("tag:db".to_owned());
    let window = site.plan(&WindowSpec { search, ..Site::spec("13:00", "15:00") }).await;
    assert!(site.mark(&first).await.is_some() && site.mark(&other).await.is_none());
    site.clock.set(instant("12:30"));
    let later = site.world.schedule("0 * * * *", noop(), tagged).await;
    let apply: fn(&mut Spec) = |spec| spec.tags.clear();
    let edit = Edit {
        id: first.id,
        expected_version: 1,
        apply: Box::new(apply),
        work: None,
        reason: None,
    };
    let (editor, changed) = (ada().editor().unwrap(), commands(&site.world));
    changed.update_schedule(&editor, edit, &Call::once()).await.unwrap();
    site.go_round("maintenance").await;
    assert_eq!(site.mark(&first).await, None);
    assert_eq!(site.mark(&later).await, Some(("13:00".to_owned(), window)));
    site.at("13:00").await;
    assert_eq!(site.fates(&first).await, [started("13:00")]);
    assert_eq!(site.fates(&other).await, [started("13:00")]);
    assert!(site.fates(&later).await.is_empty());
    site.node.abandon();
}

async fn a_schedule_passes_from_one_window_to_the_next(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let second = site.plan(&Site::spec("14:00", "16:00")).await;
    assert_eq!(site.mark(&schedule).await, Some(("14:00".to_owned(), second)));
    // The window that begins first has the mark.
    let first = site.plan(&Site::spec("13:00", "15:00")).await;
    assert_eq!(site.mark(&schedule).await, Some(("13:00".to_owned(), first)));
    site.at("13:00").await;
    site.at("13:10").await;
    assert_eq!(site.row(&schedule).await.paused_window_id, Some(first));
    assert_eq!(site.mark(&schedule).await, Some(("14:00".to_owned(), second)));
    site.at("14:00").await;
    assert_eq!(site.row(&schedule).await.paused_window_id, Some(first));
    site.at("15:00").await;
    let row = site.row(&schedule).await;
    assert_eq!((row.enabled, row.paused_window_id), (false, Some(second)));
    assert_eq!(row.paused_at, Some(ms("2026-03-01T15:00:00Z")));
    site.at("16:00").await;
    let expected = [paused("13:00"), paused("14:00"), paused("15:00"), started("16:00")];
    assert_eq!(site.fates(&schedule).await, expected);
    site.node.abandon();
}

/// The planner must not look again and again at what it may not claim.
async fn a_planned_pause_is_nothing_that_falls_due(database: TestDatabase) {
    let mut site = Site::open(database, "12:20").await;
    let schedule = site.schedule("0 * * * *").await;
    let store = site.world.database.store.clone();
    let next = async || store.next_due_at(ms("2026-03-01T13:00:00Z")).await.unwrap();
    assert_eq!(next().await, schedule.next_fire_at);
    site.plan(&Site::spec("13:00", "15:00")).await;
    assert_eq!(next().await, None);
    let ahead = store.due_ahead_excluding(ms("2026-03-01T13:00:00Z"), &[]).await.unwrap();
    assert!(ahead.is_empty(), "{ahead:?}");
    site.at("13:00").await;
    assert_eq!(next().await, Some(ms("2026-03-01T15:00:00Z")));
    site.node.abandon();
}

/// The wake-ups and the timers of a running node suffice.
async fn an_engine_carries_out_a_window_by_itself(database: TestDatabase) {
    let (world, clock) = World::at(database, instant("12:20")).await;
    let schedule = world.schedule("0 * * * *", noop(), |row| row.overlap = Overlap::Allow).await;
    let engine = world.engine().await;
    let (operator, call) = (ada().operator().unwrap(), Call::once());
    let spec = Site::spec("13:00", "15:00");
    commands(&world).plan_maintenance(&operator, &spec, None, &call).await.unwrap();
    let marked = async || row(&world, &schedule).await.pause_from;
    world.until("the schedule has its mark", marked).await;
    clock.set(instant("13:00"));
    let begun = async || (!row(&world, &schedule).await.enabled).then_some(());
    world.until("the window has begun", begun).await;
    clock.set(instant("15:00"));
    world.settled(schedule.id, 1).await;
    let expected = [
        (13, Verdict::Skipped, Reason::Paused),
        (14, Verdict::Skipped, Reason::Paused),
        (15, Verdict::Started, Reason::OnTime),
    ];
    assert_eq!(fates(&world, &schedule).await, expected);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
