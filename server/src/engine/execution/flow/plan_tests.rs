use std::collections::BTreeMap;

use chrono::TimeDelta;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::{
    engine::execution::flow::standing::{Attempted, standing},
    model::definition::Task,
    target::{Noop, Target},
};

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(second, 0).unwrap()
}

fn task(name: &str, needs: &[&str], when: When) -> Task {
    Task {
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        when,
        ..Task::new(name, Target::Noop(Noop::default()))
    }
}

fn failed(error: &str) -> TaskProgress {
    TaskProgress::Failed { timed_out: false, error: error.to_owned() }
}

fn decided(definition: &Definition, standings: &[TaskProgress]) -> FlowPlan {
    let graph = Graph::of(&definition.tasks).unwrap();
    plan(&Situation {
        definition,
        graph: &graph,
        standings,
        now: at(100),
        deadline: None,
        halt: None,
        room: 100,
    })
}

/// A definition of a task and a second one that depends on it under a condition.
fn two(when: When) -> Definition {
    Definition::of(vec![task("a", &[], When::Success), task("b", &["a"], when)])
}

#[test]
fn a_condition_decides_what_follows_a_task() {
    use TaskProgress::{Succeeded, Untouched};
    for (when, first, begins) in [
        (When::Success, Succeeded, true),
        (When::Success, failed("x"), false),
        (When::Failure, Succeeded, false),
        (When::Failure, failed("x"), true),
        (When::Always, Succeeded, true),
        (When::Always, failed("x"), true),
    ] {
        let plan = decided(&two(when), &[first.clone(), Untouched]);
        assert_eq!(plan.begin.len(), usize::from(begins), "{when:?} {first:?}");
        assert_eq!(plan.skip.len(), usize::from(!begins), "{when:?} {first:?}");
    }
    // While the first task is in progress, nothing is decided about the second.
    let plan = decided(&two(When::Always), &[TaskProgress::Working, Untouched]);
    assert_eq!((plan.begin.len(), plan.skip.len()), (0, 0));
    assert_eq!(plan.next, NextStep::Wait { until: None });
}

#[test]
fn a_failure_counts_after_tasks_that_it_skipped() {
    use TaskProgress::{Succeeded, Untouched};
    let definition = Definition::of(vec![
        task("a", &[], When::Success),
        task("b", &["a"], When::Success),
        task("c", &["b"], When::Success),
        task("alarm", &["c"], When::Failure),
        task("tidy", &["c"], When::Always),
    ]);
    let untouched = || vec![Untouched; 4];
    let plan = decided(&definition, &[vec![failed("x")], untouched()].concat());
    let skipped: Vec<_> = plan.skip.iter().map(|(index, _)| *index).collect();
    assert_eq!(skipped, [1, 2]);
    assert_eq!(plan.skip[1].1, "'b', which it needs, has not succeeded");
    assert_eq!(plan.begin, [(3, 1), (4, 1)]);
    // Nothing failed, so the `alarm` task does not run, and the task
    // that needs it is skipped without an error.
    let quiet = Definition::of(vec![
        task("a", &[], When::Success),
        task("alarm", &["a"], When::Failure),
        task("after", &["alarm"], When::Success),
        task("second", &["after"], When::Failure),
    ]);
    let plan = decided(&quiet, &[Succeeded, Untouched, Untouched, Untouched]);
    assert_eq!(plan.skip.len(), 3);
    assert_eq!(plan.next, NextStep::Settle { state: run::State::Succeeded, error: None });
}

#[test]
fn a_failure_makes_the_run_fail_whatever_ran_after_it() {
    use TaskProgress::Succeeded;
    let timed_out = || TaskProgress::Failed { timed_out: true, error: "late".to_owned() };
    let settled = |definition: &Definition, standings: &[TaskProgress]| {
        let NextStep::Settle { state, error } = decided(definition, standings).next else {
            panic!("not settled")
        };
        (state, error)
    };
    let alarm = two(When::Failure);
    let error = "task 'a': exited with code 1".to_owned();
    assert_eq!(
        settled(&alarm, &[failed("exited with code 1"), Succeeded]),
        (run::State::Failed, Some(error))
    );
    assert_eq!(settled(&alarm, &[timed_out(), Succeeded]).0, run::State::TimedOut);
    let both = settled(&alarm, &[timed_out(), failed("x")]);
    assert_eq!(both, (run::State::Failed, Some("task 'a': late (and 1 more)".to_owned())));
    assert_eq!(settled(&alarm, &[Succeeded, TaskProgress::Skipped]), (run::State::Succeeded, None));

    let mut may = two(When::Always);
    may.tasks[0].allow_failure = true;
    assert_eq!(settled(&may, &[failed("x"), Succeeded]), (run::State::Succeeded, None));
}

#[test]
fn a_run_with_nothing_at_work_gives_up_its_place_until_the_first_task_is_tried_again() {
    let definition = Definition::of(vec![
        task("a", &[], When::Success),
        task("b", &[], When::Success),
        task("c", &["a"], When::Success),
    ]);
    let again = |second| TaskProgress::Again { attempt: 2, from: at(second) };
    let waits = [again(130), again(120), TaskProgress::Untouched];
    assert_eq!(decided(&definition, &waits).next, NextStep::Park { until: at(120) });
    // While another task is in progress, the run stays and only wakes for the retry.
    let works = [again(130), TaskProgress::Working, TaskProgress::Untouched];
    assert_eq!(decided(&definition, &works).next, NextStep::Wait { until: Some(at(130)) });
    let due = [again(100), again(120), TaskProgress::Untouched];
    let plan = decided(&definition, &due);
    assert_eq!((plan.begin, plan.next), (vec![(0, 2)], NextStep::Wait { until: Some(at(120)) }));
    // A task that is due but has no room waits for room and not for a time.
    let full = [TaskProgress::Working, again(90), TaskProgress::Untouched];
    let one = Definition { max_parallel: 1, ..definition };
    assert_eq!(decided(&one, &full).next, NextStep::Wait { until: None });
}

#[test]
fn a_run_whose_time_is_over_is_stopped_and_times_out() {
    let definition = Definition { timeout_ms: Some(5_000), ..two(When::Success) };
    let graph = Graph::of(&definition.tasks).unwrap();
    let over = |standings: &[TaskProgress], halt| {
        let (now, deadline) = (at(100), Some(at(100)));
        let definition = &definition;
        plan(&Situation { definition, graph: &graph, standings, now, deadline, halt, room: 8 }).next
    };
    use TaskProgress::{Succeeded, Untouched, Working};
    assert_eq!(over(&[Working, Untouched], None), NextStep::StopTasks);
    let error = "the run did not end within its time limit of 5000 ms".to_owned();
    let timed_out = NextStep::Settle { state: run::State::TimedOut, error: Some(error) };
    assert_eq!(over(&[Succeeded, Untouched], None), timed_out);
    // A run that ended before its time limit keeps its outcome.
    let done = NextStep::Settle { state: run::State::Succeeded, error: None };
    assert_eq!(over(&[Succeeded, Succeeded], None), done);
}

#[test]
fn a_halted_run_begins_nothing_and_ends_or_is_passed_on() {
    let definition = two(When::Success);
    let graph = Graph::of(&definition.tasks).unwrap();
    let halted = |standings: &[TaskProgress], halt| {
        let (now, definition) = (at(100), &definition);
        let (deadline, halt) = (None, Some(halt));
        plan(&Situation { definition, graph: &graph, standings, now, deadline, halt, room: 8 })
    };
    use TaskProgress::{Succeeded, Untouched, Working};
    for halt in [Halt::Cancelled, Halt::Released] {
        let plan = halted(&[Working, Untouched], halt);
        assert_eq!((plan.begin.len(), plan.next), (0, NextStep::Wait { until: None }));
    }
    let cancelled = NextStep::Settle { state: run::State::Cancelled, error: None };
    assert_eq!(halted(&[Succeeded, Untouched], Halt::Cancelled).next, cancelled);
    assert_eq!(
        halted(&[Succeeded, Untouched], Halt::Released).next,
        NextStep::Park { until: at(100) }
    );
    let done = NextStep::Settle { state: run::State::Succeeded, error: None };
    assert_eq!(halted(&[Succeeded, Succeeded], Halt::Released).next, done);
}

#[test]
fn no_more_tasks_begin_than_there_is_room_for() {
    let tasks = (0..10).map(|index| task(&format!("t{index}"), &[], When::Success)).collect();
    let definition = Definition { max_parallel: 3, ..Definition::of(tasks) };
    let graph = Graph::of(&definition.tasks).unwrap();
    let standings = vec![TaskProgress::Untouched; 10];
    for (room, begun) in [(100, 3), (2, 2), (0, 1)] {
        let (now, deadline, halt) = (at(0), None, None);
        let (definition, standings) = (&definition, &*standings);
        let plan =
            plan(&Situation { definition, graph: &graph, standings, now, deadline, halt, room });
        assert_eq!((plan.begin.len(), plan.held_back), (begun, 10 - begun));
    }
}

#[test]
fn a_definition_that_no_command_would_have_saved_fails_instead_of_hanging() {
    // Neither task waits or is ready, as if the task that the other needs could never start.
    let definition = two(When::Success);
    let graph = Graph::of(&definition.tasks).unwrap();
    let standings = [TaskProgress::Untouched, TaskProgress::Untouched];
    let next = next(
        &Situation {
            definition: &definition,
            graph: &graph,
            standings: &standings,
            now: at(0),
            deadline: None,
            halt: None,
            room: 1,
        },
        &standings,
        0,
        false,
    );
    assert!(matches!(next, NextStep::Settle { state: run::State::Failed, .. }));
}

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
    attempts: Vec<Vec<Attempted>>,
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
        self.attempts[index].push(Attempted { attempt, state, finished_at, error, output });
    }

    fn end(&mut self, index: usize, state: entity::task_run::State) {
        let last = self.attempts[index].last_mut().unwrap();
        assert_eq!(last.state, entity::task_run::State::Running);
        (last.state, last.finished_at) = (state, Some(self.now));
    }

    fn working(&self) -> Vec<usize> {
        let running = |attempts: &Vec<Attempted>| {
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
                let broke = |attempts: &Vec<Attempted>| {
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
            let plan = plan(&Situation {
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
                    halt = Some(Halt::Released);
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
