//! Targets whose texts are rendered before each attempt, programs that return a result, and
//! failures that are not repeated.

use std::time::Duration;

use carillon::{
    model::{Definition, Task},
    target::{CommandTarget, Http, SecretText, Target},
};
use chrono::TimeDelta;
use entity::{run, task_run::State};
use serde_json::json;

use super::{
    flow::states,
    gate::Gate,
    world::{World, at, task},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_request_is_rendered_with_the_values_of_the_run,
    a_program_reads_the_output_of_another,
    a_name_that_is_not_there_fails_the_attempt_and_is_named,
    a_template_does_not_lead_where_requests_may_not_go,
    what_a_template_fills_in_is_one_header_and_one_place_in_an_address,
    a_failure_that_no_condition_names_is_not_tried_again,
);

fn shell(name: &str, script: &str) -> Task {
    let command = CommandTarget { script: Some(script.to_owned()), ..CommandTarget::default() };
    Task { name: name.to_owned(), ..task(Target::Command(command)) }
}

async fn a_request_is_rendered_with_the_values_of_the_run(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut asked = gate.step("main", &[]);
    let Target::Http(http) = &mut asked.target else { panic!("a step is a request") };
    http.body = Some(json!({
        "run_id": "{{ run_id }}",
        "attempt": "{{ attempt }}",
        "day": "{{ scheduled_at | date('%Y-%m-%d') }}",
        "since": "{{ previous_fire | default('never', true) }}",
        "region": "{{ context.region | upper }}",
        "key": "{{ idempotency_key }}",
        "count": 3,
    }));
    http.output = carillon::target::Answers::Keep;
    let schedule = world
        .schedule("@every 1h", asked, |row| {
            row.context = json!({ "region": "eu" });
            row.anchor_at = (world.clock.now() - TimeDelta::days(1)).into();
            row.next_scheduled_at = Some(world.clock.now().into());
        })
        .await;
    let engine = world.engine().await;
    let first = gate.arrival().await;
    let run = world.runs(schedule.id).await.remove(0);
    assert_eq!(
        first.body,
        json!({
            "run_id": run.id, "attempt": "1", "day": "2026-03-01", "since": "never",
            "region": "EU", "key": run.idempotency_key, "count": 3,
        })
    );
    first.answer(200);
    world.run_is(run.id, run::State::Succeeded).await;
    clock.advance(Duration::from_secs(3_600));
    let second = gate.arrival().await;
    assert_eq!(second.body["since"], "2026-03-01T12:00:00Z");
    second.answer(200);
    world.settled(schedule.id, 2).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_program_reads_the_output_of_another(database: TestDatabase) {
    let world = World::new(database).await;
    let count = shell("count", r#"echo '{"rows": 7, "table": "a b"}' > "$CARILLON_OUTPUT""#);
    let program = CommandTarget {
        program: Some("/bin/echo".to_owned()),
        args: vec!["{{ tasks.count.output.rows }} in {{ context.table }}".to_owned()],
        ..CommandTarget::default()
    };
    let mut tell = Task { name: "tell".to_owned(), ..task(Target::Command(program)) };
    tell.needs = vec!["count".to_owned()];
    let mut check = shell("check", r#"[ "$(cat | tr -d ' ')" = '{"rows":7,"table":"ab"}' ]"#);
    check.needs = vec!["count".to_owned()];
    let schedule = world.due_now(Definition::of(vec![count, tell, check]), |_| {}).await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.error), (run::State::Succeeded, None));
    let lines = world.database.store.lines_after(run.id, 0, 100).await.unwrap();
    assert!(lines.iter().any(|line| line.task == "tell" && line.text == "7 in a b"), "{lines:?}");
    let attempts = world.database.store.attempts_of(run.id).await.unwrap();
    let count = attempts.iter().find(|row| row.task == "count").unwrap();
    let output = count.output.clone().unwrap();
    assert_eq!(output["result"], json!({ "rows": 7, "table": "a b" }));

    for (script, said) in [
        ("echo rows=7 > $CARILLON_OUTPUT", "not JSON"),
        ("echo '[1]' > $CARILLON_OUTPUT", "not a JSON object"),
        ("head -c 300000 /dev/zero > $CARILLON_OUTPUT", "the limit is 262144 (256 KiB)"),
    ] {
        let schedule = world.due_now(shell("main", script), |_| {}).await;
        let run = world.settled_run(schedule.id).await;
        assert_eq!(run.state, run::State::Failed);
        assert!(run.error.as_deref().unwrap().contains(said), "{:?}", run.error);
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_name_that_is_not_there_fails_the_attempt_and_is_named(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let mut asked = gate.task();
    let Target::Http(http) = &mut asked.target else { panic!("it is a request") };
    http.url.push_str("{{ context.region }}");
    let schedule = world.due_now(asked, |_| {}).await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Failed);
    let error = run.error.unwrap();
    assert!(
        error.contains("http.url") && error.contains("`context.region` is undefined"),
        "{error}"
    );
    assert!(!gate.has_more());
    let _ = &mut gate;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_template_does_not_lead_where_requests_may_not_go(database: TestDatabase) {
    let world = World::new(database).await;
    let target = Target::Http(Http::post("http://{{ context.host }}/latest/meta-data"));
    let engine = world.engine().await;
    for host in ["169.254.169.254", "0xa9fea9fe", "user:pw@example.org", "[fe80::1]"] {
        let schedule =
            world.due_now(task(target.clone()), |row| row.context = json!({ "host": host })).await;
        let run = world.settled_run(schedule.id).await;
        assert_eq!(run.state, run::State::Failed);
        let error = run.error.unwrap();
        assert!(error.contains("requests may not go there"), "{host}: {error}");
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The caller who triggers a run chooses only the values in its context. No value can add a second
/// header or a second request, or leave the segment of the path in which it stands.
async fn what_a_template_fills_in_is_one_header_and_one_place_in_an_address(
    database: TestDatabase,
) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let engine = world.engine().await;
    let mut in_header = gate.task();
    let Target::Http(http) = &mut in_header.target else { panic!("it is a request") };
    http.headers = [("X-Region".to_owned(), SecretText::new("{{ context.region }}"))].into();
    for region in ["eu\r\nX-Evil: 1", "eu\nX-Evil: 1", "eu\r\n\r\nGET / HTTP/1.1", "eu\u{7f}"] {
        let context = json!({ "region": region });
        let schedule = world.due_now(in_header.clone(), |row| row.context = context).await;
        let run = world.settled_run(schedule.id).await;
        let error = run.error.unwrap();
        assert!(error.contains("http.headers.X-Region"), "{region:?}: {error}");
        assert!(!error.contains("Evil"), "a value may be a secret: {error}");
    }
    assert!(!gate.has_more(), "nothing was sent");

    let mut in_url = gate.task();
    let Target::Http(http) = &mut in_url.target else { panic!("it is a request") };
    http.url.push_str("in/{{ context.region | urlencode }}/end");
    let evil = "x HTTP/1.1\r\nX-Evil: 1\r\n\r\n";
    for region in ["../../admin", "a/b?c=d#e", "..\\..\\admin", "@evil.example/", "%2e%2e", evil] {
        let context = json!({ "region": region });
        let schedule = world.due_now(in_url.clone(), |row| row.context = context).await;
        let asked = gate.arrival().await;
        let places: Vec<&str> = asked.path.split('/').collect();
        assert!(matches!(places[..], ["", "in", _, "end"]), "{region:?}: {places:?}");
        assert!(asked.headers.get("x-evil").is_none(), "{region:?}: {:?}", asked.headers);
        asked.answer(200);
        assert_eq!(world.settled_run(schedule.id).await.state, run::State::Succeeded);
    }
    for region in ["..", ".", "\t.\n."] {
        let context = json!({ "region": region });
        let mut asked = in_url.clone();
        let Target::Http(http) = &mut asked.target else { panic!("it is a request") };
        http.url = http.url.replace(" | urlencode", "");
        let schedule = world.due_now(asked, |row| row.context = context).await;
        let error = world.settled_run(schedule.id).await.error.unwrap();
        assert!(error.contains("http.url") && error.contains("`..`"), "{region:?}: {error}");
    }
    assert!(!gate.has_more(), "nothing was sent");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_failure_that_no_condition_names_is_not_tried_again(database: TestDatabase) {
    let world = World::new(database).await;
    let engine = world.engine().await;
    for (code, attempts) in [(1, 1), (75, 3)] {
        let mut tried = shell("main", &format!("exit {code}"));
        tried.retry.max_attempts = 3;
        tried.retry.initial_ms = 0;
        tried.retry_on = vec!["timeout".parse().unwrap(), "exit 70-79".parse().unwrap()];
        let after = shell("after", "true");
        // The task runs alone, and as one of several.
        for definition in [tried.clone().into(), Definition::of(vec![tried.clone(), after])] {
            let schedule = world.due_now(definition, |_| {}).await;
            let run = world.settled_run(schedule.id).await;
            assert_eq!(run.state, run::State::Failed);
            assert_eq!(states(&world, run.id, "main").await, vec![State::Failed; attempts]);
        }
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
