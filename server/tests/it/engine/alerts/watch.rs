use std::{sync::Arc, time::Duration};

use carillon::{
    access::{Editor, Grants, Viewer, ViewerKind},
    clock::ManualClock,
    commands::{
        AcknowledgementInput, Call, ChannelInput, Commands, MuteRequest, NewChannel, NewRule,
        RuleSpec,
    },
    engine::{
        Signals, Stepwise, StepwiseService,
        alerting::alerts::{AlertEvent, Rule},
    },
    store::reads::feed::end_of_runs,
    target::{Executor, Mailer, Policy},
    telemetry::Instruments,
    vault::{EncryptionKey, Vault},
};
use chrono::TimeDelta;
use entity::{
    Timestamp, alert, alert_channel::Kind, fire, notification, run, schedule, user::Role,
};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use uuid::Uuid;

use crate::{
    engine::{
        forge,
        world::{World, at, noop},
    },
    support::TestDatabase,
};

/// A world with rules, on a clock that the test moves.
pub(super) struct Watch {
    pub(super) world: World,
    pub(super) clock: ManualClock,
    pub(super) mailer: Option<Mailer>,
}

/// A node that watches the world.
pub(super) struct Node {
    pub(super) stepwise: Stepwise,
    pub(super) alerts: StepwiseService,
    pub(super) courier: StepwiseService,
}

/// A rule that reports these events at once, to a channel.
pub(super) fn rule(on: &[AlertEvent], channel: Uuid) -> Rule {
    Rule {
        on: on.to_vec(),
        search: String::new(),
        channels: vec![channel],
        grace_seconds: 0,
        losing_after: 3,
        skipped_after: 3,
        late_after_seconds: 300,
        stalled_after_seconds: 300,
        slow_after_times: 3,
        clock_change_days: 14,
        digest_seconds: 0,
        quiet: None,
        include_errors: true,
    }
}

/// The key made of these two hex digits, repeated.
pub(super) fn vault(key: &str) -> Vault {
    Vault::new(self::key(key), None)
}

pub(super) fn key(key: &str) -> EncryptionKey {
    EncryptionKey::read(&key.repeat(32)).unwrap()
}

pub(super) fn editor() -> Editor {
    viewer().editor().unwrap()
}

fn viewer() -> Viewer {
    let grants = Grants::everywhere(Role::Admin);
    Viewer::new(Uuid::from_u128(7), "ada", ViewerKind::User, grants, "test")
}

impl Watch {
    /// Begins on Sunday, 1 March 2026, at noon.
    pub(super) async fn begin(database: TestDatabase) -> Self {
        Self::begin_at(database, "2026-03-01T12:00:00Z").await
    }

    pub(super) async fn begin_at(database: TestDatabase, now: &str) -> Self {
        let (mut world, clock) = World::at(database, at(now)).await;
        world.settings.vault = vault("ab");
        Self { world, clock, mailer: None }
    }

    /// Watches a world on the machine's clock.
    pub(super) fn on(mut world: World) -> Self {
        world.settings.vault = vault("ab");
        let clock = ManualClock::new(world.clock.now());
        Self { world, clock, mailer: None }
    }

    fn executor(&self) -> Arc<Executor> {
        let policy = Policy { private_addresses: true, ..Policy::default() };
        let executor = Executor::new(policy, self.clock.clock()).unwrap();
        Arc::new(executor.with_mailer(self.mailer.clone()))
    }

    pub(super) fn commands(&self) -> Commands {
        Commands::new(
            self.world.database.store.clone(),
            self.world.clock.clone(),
            Arc::new(timetable::Cache::new(10)),
            self.executor(),
            Signals::default(),
        )
        .with_vault(self.world.settings.vault.clone())
    }

    /// Adds a channel; returns its key.
    pub(super) async fn channel(&self, kind: Kind, input: ChannelInput) -> Uuid {
        let name = format!("channel-{}", Uuid::now_v7().simple());
        let new = NewChannel { namespace: "test".to_owned(), name, kind, input };
        let made = self.commands().create_alert_channel(&editor(), new, &Call::once()).await;
        made.unwrap().id
    }

    /// Adds a channel whose messages are not received.
    pub(super) async fn idle_channel(&self) -> Uuid {
        let url = Some("http://127.0.0.1:9/".into());
        self.channel(Kind::Webhook, ChannelInput { url, ..ChannelInput::default() }).await
    }

    pub(super) async fn rule(&self, rule: Rule) -> Uuid {
        self.rule_in("test", rule).await
    }

    pub(super) async fn rule_in(&self, namespace: &str, rule: Rule) -> Uuid {
        let name = format!("rule-{}", Uuid::now_v7().simple());
        let spec = RuleSpec { name, enabled: true, rule };
        let new = NewRule { namespace: namespace.to_owned(), spec };
        let made = self.commands().create_alert_rule(&editor(), new, &Call::once()).await;
        made.unwrap().id
    }

    /// Mutes a rule for that many seconds.
    pub(super) async fn mute(&self, rule: Uuid, seconds: u64) {
        let until = Some(self.clock.now() + Duration::from_secs(seconds));
        let muting = MuteRequest { until, reason: "maintenance".to_owned() };
        let right = viewer().operator().unwrap();
        self.commands().mute_alert_rule(&right, rule, &muting, &Call::once()).await.unwrap();
    }

    /// Acknowledges an alert, for that many hours or for as long as the alert lasts.
    pub(super) async fn acknowledge(&self, alert: Uuid, hours: Option<i64>) {
        let until = hours.map(|hours| self.clock.now() + TimeDelta::hours(hours));
        let given = AcknowledgementInput { note: None, until };
        let right = viewer().operator().unwrap();
        self.commands().acknowledge_alert(&right, alert, &given, &Call::once()).await.unwrap();
    }

    /// Withdraws the acknowledgement of an alert.
    pub(super) async fn unacknowledge(&self, alert: Uuid) {
        let right = viewer().operator().unwrap();
        self.commands().unacknowledge_alert(&right, alert, &Call::once()).await.unwrap();
    }

    /// Creates a node with that name.
    pub(super) async fn node(&mut self, name: &str) -> Node {
        self.world.settings.node_name = name.to_owned();
        let (stepwise, _) = Stepwise::join(
            self.world.settings.clone(),
            self.world.database.store.clone(),
            self.clock.clock(),
            self.executor(),
            Arc::new(timetable::Cache::new(10)),
            Signals::default(),
            Instruments::unread(self.clock.clock()),
        )
        .await
        .unwrap();
        let [alerts, courier] = stepwise.alerting();
        Node { stepwise, alerts, courier }
    }

    /// A schedule that only the test acts on.
    pub(super) async fn schedule(
        &self,
        change: impl FnOnce(&mut schedule::Model),
    ) -> schedule::Model {
        forge::idle(&self.world, noop(), change).await
    }

    /// A run that ended like this, a minute later.
    pub(super) async fn ends(&self, schedule: &schedule::Model, state: run::State) -> Uuid {
        self.ends_as(schedule, |_, run| {
            run.state = state;
            run.error = (state != run::State::Succeeded).then(|| "exit code 1".to_owned());
        })
        .await
    }

    /// Records a fire and its run, in these states, a minute later.
    pub(super) async fn ends_as(
        &self,
        schedule: &schedule::Model,
        change: impl FnOnce(&mut fire::Model, &mut run::Model),
    ) -> Uuid {
        self.clock.pass(Duration::from_secs(60));
        let run = self.world.past(schedule, 0, 0, change).await;
        self.stamp(&[run]).await;
        // The run takes a second.
        self.clock.pass(Duration::from_secs(1));
        run
    }

    /// Records a fire that has this outcome, ten minutes later.
    pub(super) async fn fires(
        &self,
        schedule: &schedule::Model,
        verdict: fire::Verdict,
        reason: fire::Reason,
    ) -> fire::Model {
        self.pass(600);
        forge::intent(&self.world, schedule, |fire| {
            (fire.verdict, fire.reason) = (verdict, reason);
            fire.decided_at = Some(fire.claimed_at);
        })
        .await
    }

    /// Gives the runs a new stamp, as a service does when it settles runs.
    pub(super) async fn stamp(&self, runs: &[Uuid]) {
        let stamp = self.world.database.store.dialect().stamp("run");
        for run in runs {
            let sql = format!("UPDATE run SET changed = {stamp} WHERE id = $1");
            self.world.write(&sql, [(*run).into()]).await;
        }
    }

    /// Waits until a new reader of the feed begins after the run's last change. As long as an older
    /// transaction is open on the server, the feed ends before that change, and a new reader would
    /// still meet it.
    pub(super) async fn passes_by(&self, run: Uuid) {
        let store = &self.world.database.store;
        let run = run::Entity::find_by_id(run).one(store.read()).await.unwrap().unwrap();
        let passed = async {
            while end_of_runs(store).await.unwrap().changed < run.changed {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), passed).await.unwrap();
    }

    pub(super) fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }

    /// All messages, oldest first.
    pub(super) async fn messages(&self) -> Vec<notification::Model> {
        let all = notification::Entity::find().order_by_asc(notification::Column::Id);
        all.all(self.world.database.store.read()).await.unwrap()
    }

    /// The subjects of all messages.
    pub(super) async fn subjects(&self) -> Vec<String> {
        self.messages().await.into_iter().map(|message| message.subject).collect()
    }

    /// All alerts that are not withdrawn, oldest first.
    pub(super) async fn alerts(&self) -> Vec<alert::Model> {
        let kept = alert::Entity::find().filter(alert::Column::WithdrawnAt.is_null());
        let all = kept.order_by_asc(alert::Column::Id);
        all.all(self.world.database.store.read()).await.unwrap()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now().into()
    }
}

impl Node {
    /// Executes a round that reads events and creates messages.
    pub(super) async fn look(&mut self, watch: &Watch) {
        self.alerts.once(watch.clock.now()).await.unwrap();
    }

    /// Sends the due messages.
    pub(super) async fn send(&mut self, watch: &Watch) {
        self.courier.once(watch.clock.now()).await.unwrap();
    }

    /// Executes rounds until there are this many messages: transactions of other tests on the
    /// server may delay the feed.
    pub(super) async fn tells(&mut self, watch: &Watch, count: usize) -> Vec<String> {
        // Messages of one instant have no order, so the clock moves a second.
        watch.pass(1);
        self.looks_until(watch, &format!("{count} messages"), async || {
            let subjects = watch.subjects().await;
            (subjects.len() >= count).then_some(subjects)
        })
        .await
    }

    /// Executes rounds until `found` returns something.
    pub(super) async fn looks_until<T>(
        &mut self,
        watch: &Watch,
        what: &str,
        found: impl AsyncFn() -> Option<T>,
    ) -> T {
        let looking = async {
            loop {
                self.look(watch).await;
                if let Some(found) = found().await {
                    return found;
                }
            }
        };
        let looked = tokio::time::timeout(Duration::from_secs(60), looking).await;
        looked.unwrap_or_else(|_| panic!("looked in vain for {what}"))
    }
}
