//! Simulates runs of any tasks with any outcomes.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use proptest::prelude::*;
use uuid::Uuid;

use super::{
    tests::{at, task},
    *,
};
use crate::engine::execution::flow::progress::{AttemptFacts, standing};

/// The outcome of one attempt in a simulated run.
#[derive(Clone, Copy, Debug)]
enum End {
    Succeeds,
    Fails,
    TimesOut,
    /// The node dies: all tasks in progress are lost, and another node takes the run.
    NodeDies,
    /// The node shuts down.
    Released,
}

#[derive(Clone, Debug)]
struct Case {
    definition: Definition,
    ends: Vec<End>,
    picks: Vec<usize>,
    room: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    let when = prop_oneof![
        3 => Just(When::Success),
        1 => Just(When::Failure),
        1 => Just(When::Always)
    ];
    let one =
        (prop::collection::vec(any::<prop::sample::Index>(), 0..4), when, 1..4_i32, any::<bool>());
    let end = prop_oneof![
        6 => Just(End::Succeeds),
        3 => Just(End::Fails),
        1 => Just(End::TimesOut),
        1 => Just(End::NodeDies),
        1 => Just(End::Released),
    ];
    let ends = prop::collection::vec(end, 1..60);
    let picks = prop::collection::vec(0..64_usize, 1..60);
    (prop::collection::vec(one, 1..12), ends, picks, 1..5_usize, 1..5_i64).prop_map(
        |(tasks, ends, picks, room, max_parallel)| {
            let made =
                tasks.into_iter().enumerate().map(|(index, (needs, when, attempts, may))| {
                    let mut names: Vec<String> = match index {
                        0 => Vec::new(),
                        _ => needs.iter().map(|need| format!("t{}", need.index(index))).collect(),
                    };
                    names.sort();
                    names.dedup();
                    let when = if names.is_empty() { When::Success } else { when };
                    let mut task = task(&format!("t{index}"), &[], when);
                    task.needs = names;
                    task.retry.max_attempts = attempts;
                    task.allow_failure = may;
                    task
                });
            let definition = Definition { max_parallel, ..Definition::of(made.collect()) };
            Case { definition, ends, picks, room }
        },
    )
}

/// A run as the tables store it.
struct Simulated {
    definition: Definition,
    graph: Graph,
    attempts: Vec<Vec<AttemptFacts>>,
    now: DateTime<Utc>,
}

impl Simulated {
    fn standings(&self) -> Vec<TaskProgress> {
        let tasks = self.definition.tasks.iter().zip(&self.attempts);
        tasks.map(|(task, attempts)| standing(task, Uuid::nil(), attempts)).collect()
    }

    fn add(&mut self, index: usize, attempt: i32, state: entity::task_run::State) {
        let finished_at = (state != entity::task_run::State::Running).then_some(self.now);
        let (error, output) = (Some("x".to_owned()), None);
        self.attempts[index].push(AttemptFacts { attempt, state, finished_at, error, output });
    }

    fn end(&mut self, index: usize, state: entity::task_run::State) {
        let last = self.attempts[index].last_mut().unwrap();
        assert_eq!(last.state, entity::task_run::State::Running);
        (last.state, last.finished_at) = (state, Some(self.now));
    }

    fn working(&self) -> Vec<usize> {
        let running = |attempts: &Vec<AttemptFacts>| {
            attempts.last().is_some_and(|last| last.state == entity::task_run::State::Running)
        };
        (0..self.attempts.len()).filter(|index| running(&self.attempts[*index])).collect()
    }

    /// Checks that every task that a task needs had ended
    /// with the required outcome before it began.
    fn assert_needs(&self, index: usize) {
        use entity::task_run::State::{Failed, Succeeded, TimedOut};
        let standings = self.standings();
        let mut needs = self.graph.needs(index).iter().map(|need| &standings[*need]);
        let ended = |standing: &TaskProgress| {
            matches!(
                standing,
                TaskProgress::Succeeded | TaskProgress::Failed { .. } | TaskProgress::Skipped
            )
        };
        assert!(needs.clone().all(ended), "task {index} begins too early");
        let task = &self.definition.tasks[index];
        match task.when {
            When::Success => assert!(needs.all(|standing| *standing == TaskProgress::Succeeded)),
            When::Failure => {
                let before = self.graph.before(index);
                let broke = |attempts: &Vec<AttemptFacts>| {
                    attempts.last().is_some_and(|last| matches!(last.state, Failed | TimedOut))
                };
                let any = self.attempts.iter().zip(before).any(|(a, before)| before && broke(a));
                assert!(any, "task {index} begins although nothing before it failed");
            }
            When::Always => {}
        }
        let done = self.attempts[index].iter().any(|attempt| attempt.state == Succeeded);
        assert!(!done, "task {index} is done again");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever the tasks and their outcomes, and even if nodes die: the run settles, each task
    /// runs or is skipped, each waits for the tasks that it needs, and attempts have no gaps.
    #[test]
    fn every_run_comes_to_its_end_and_needs_are_respected(case in cases()) {
        use entity::task_run::State::{Failed, Lost, Running, Skipped, Succeeded, TimedOut};
        prop_assert_eq!(case.definition.validate(), Ok(()));
        let graph = Graph::of(&case.definition.tasks).unwrap();
        let attempts = vec![Vec::new(); case.definition.tasks.len()];
        let mut run = Simulated { definition: case.definition, graph, attempts, now: at(1_000) };
        let (mut ends, mut picks) = (case.ends.iter().cycle(), case.picks.iter().cycle());
        let mut halt = None;
        // How many times nodes may die or leave. After that, no more faults occur.
        let mut troubles = 20;
        let mut settled = None;
        for _ in 0..10_000 {
            let standings = run.standings();
            let plan = plan(&FlowFacts {
                definition: &run.definition,
                graph: &run.graph,
                standings: &standings,
                now: run.now,
                deadline: None,
                halt,
                room: case.room,
            });
            for (index, _) in &plan.skip {
                prop_assert!(run.attempts[*index].is_empty());
                run.add(*index, 1, Skipped);
            }
            for (index, attempt) in &plan.begin {
                run.assert_needs(*index);
                run.add(*index, *attempt, Running);
            }
            let working = run.working();
            prop_assert!(working.len() <= case.room.min(usize::try_from(run.definition.max_parallel).unwrap()));
            match plan.next {
                NextStep::Settle { state, .. } => {
                    settled = Some(state);
                    break;
                }
                NextStep::Park { until } => {
                    prop_assert!(working.is_empty());
                    run.now = run.now.max(until);
                    halt = None;
                    continue;
                }
                NextStep::StopTasks => prop_assert!(false, "there is no limit on this run"),
                NextStep::Wait { .. } => prop_assert!(!working.is_empty()),
            }
            let picked = working[picks.next().unwrap() % working.len()];
            run.now += TimeDelta::seconds(1);
            let end = match *ends.next().unwrap() {
                End::NodeDies | End::Released if troubles == 0 => End::Succeeds,
                end @ (End::Succeeds
                | End::Fails
                | End::TimesOut
                | End::NodeDies
                | End::Released) => end,
            };
            match end {
                End::Succeeds => run.end(picked, Succeeded),
                End::Fails => run.end(picked, Failed),
                End::TimesOut => run.end(picked, TimedOut),
                End::NodeDies => {
                    troubles -= 1;
                    for index in working {
                        run.end(index, Lost);
                    }
                }
                End::Released => {
                    troubles -= 1;
                    halt = Some(HaltReason::Released);
                    run.end(picked, Lost);
                }
            }
        }
        prop_assert!(settled.is_some(), "the run did not settle");
        let mut failures = BTreeMap::new();
        for (task, attempts) in run.definition.tasks.iter().zip(&run.attempts) {
            prop_assert!(!attempts.is_empty(), "{} has neither run nor been skipped", task.name);
            for (index, attempt) in attempts.iter().enumerate() {
                prop_assert_eq!(usize::try_from(attempt.attempt).unwrap(), index + 1);
                prop_assert!(attempt.state != Running);
            }
            let own = attempts.iter().filter(|a| matches!(a.state, Failed | TimedOut)).count();
            prop_assert!(own <= usize::try_from(task.retry.max_attempts).unwrap());
            let last = attempts.last().unwrap().state;
            if matches!(last, Failed | TimedOut) && !task.allow_failure {
                failures.insert(task.name.clone(), last);
            }
        }
        let expected = if failures.is_empty() {
            run::State::Succeeded
        } else if failures.values().all(|state| *state == TimedOut) {
            run::State::TimedOut
        } else {
            run::State::Failed
        };
        prop_assert_eq!(settled, Some(expected));
    }
}
