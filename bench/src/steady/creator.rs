//! Creates schedules at a steady rate while others fire.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use carillon::{
    access::{Grants, Viewer, ViewerKind},
    clock::Clock,
    commands::{Call, Commands, NewSchedule, ScheduleWork},
    engine::Signals,
    model::Spec,
    store::Store,
    target::{Executor, Policy},
};
use entity::user::Role;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A task that creates schedules until it is stopped.
#[derive(Debug)]
pub(super) struct Creator {
    stop: CancellationToken,
    task: JoinHandle<Result<()>>,
}

impl Creator {
    /// Creates `a_minute` schedules per minute, through the commands that the API calls.
    pub(super) fn start(store: &Store, clock: &Clock, a_minute: u32) -> Self {
        let stop = CancellationToken::new();
        let (store, clock, stopped) = (store.clone(), clock.clone(), stop.clone());
        let task = tokio::spawn(async move {
            if a_minute == 0 {
                return Ok(());
            }
            let executor = Arc::new(Executor::new(Policy::default(), clock.clone())?);
            let cache = Arc::new(timetable::Cache::new(1_000));
            let signals = Signals::default();
            let commands = Commands::new(store, clock.clone(), cache, executor, signals);
            let editor = viewer().editor()?;
            let mut due = clock.now();
            for number in 0_u64.. {
                due += Duration::from_secs(60) / a_minute;
                clock.sleep_until(due).await;
                if stopped.is_cancelled() {
                    break;
                }
                commands.create_schedule(&editor, new(number), &Call::once()).await?;
            }
            Ok(())
        });
        Self { stop, task }
    }

    pub(super) async fn stop(self) -> Result<()> {
        self.stop.cancel();
        self.task.await?
    }
}

fn viewer() -> Viewer {
    Viewer::new(Uuid::nil(), "bench", ViewerKind::User, Grants::everywhere(Role::Admin), "bench")
}

fn new(number: u64) -> NewSchedule {
    let spec = Spec::on(&format!("made-{number}"), "0 3 1 1 *");
    let work = ScheduleWork::Workflow("noop".to_owned());
    NewSchedule { namespace: "default".to_owned(), spec, work, paused: false }
}
