use super::*;
use crate::{
    model::definition::Task,
    target::{Noop, Target},
};

pub(super) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(second, 0).unwrap()
}

pub(super) fn task(name: &str, needs: &[&str], when: When) -> Task {
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
    plan(&FlowFacts {
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
        plan(&FlowFacts { definition, graph: &graph, standings, now, deadline, halt, room: 8 }).next
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
        plan(&FlowFacts { definition, graph: &graph, standings, now, deadline, halt, room: 8 })
    };
    use TaskProgress::{Succeeded, Untouched, Working};
    for halt in [HaltReason::Cancelled, HaltReason::Released] {
        let plan = halted(&[Working, Untouched], halt);
        assert_eq!((plan.begin.len(), plan.next), (0, NextStep::Wait { until: None }));
    }
    let cancelled = NextStep::Settle { state: run::State::Cancelled, error: None };
    assert_eq!(halted(&[Succeeded, Untouched], HaltReason::Cancelled).next, cancelled);
    assert_eq!(
        halted(&[Succeeded, Untouched], HaltReason::Released).next,
        NextStep::Park { until: at(100) }
    );
    let done = NextStep::Settle { state: run::State::Succeeded, error: None };
    assert_eq!(halted(&[Succeeded, Succeeded], HaltReason::Released).next, done);
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
            plan(&FlowFacts { definition, graph: &graph, standings, now, deadline, halt, room });
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
        &FlowFacts {
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
