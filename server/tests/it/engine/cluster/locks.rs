//! Which node claims a fire first, by locks in Redis.

use std::time::Duration;

use carillon::beacon::FireClaim;
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use entity::{
    Strings,
    schedule::{self, Overlap},
};
use uuid::Uuid;

use super::redis::{beacon, know_each_other, patient_beacon, patient_node, world};
use crate::{
    engine::world::{World, noop},
    support::Redis,
};

/// The second whole second from now.
fn soon(world: &World) -> DateTime<Utc> {
    (world.clock.now() + TimeDelta::seconds(2)).trunc_subsecs(0)
}

/// Gives the schedule the key `id`, and makes `at` its first due instant.
fn is_due(row: &mut schedule::Model, id: Uuid, at: DateTime<Utc>) {
    row.id = id;
    row.anchor_at = (at - TimeDelta::days(1)).into();
    row.next_scheduled_at = Some(at.into());
    row.next_fire_at = row.next_scheduled_at;
}

#[tokio::test]
async fn of_two_nodes_only_one_claims_a_fire_first() {
    let mut redis = Redis::start().await;
    let (a, b) = (patient_beacon(&redis).await, patient_beacon(&redis).await);
    let (of_a, of_b) = (Uuid::now_v7(), Uuid::now_v7());
    let claim = |number: u128, at| FireClaim {
        schedule: Uuid::from_u128(number),
        at: entity::Timestamp(at),
    };
    let term = Duration::from_secs(60);
    let both = vec![claim(1, 1_000), claim(2, 1_000)];
    assert_eq!(a.first_to(of_a, both.clone(), term).await, both);
    // The node keeps its lock for a fire. The next instant is another fire.
    assert_eq!(a.first_to(of_a, both.clone(), term).await, both);
    let more = vec![claim(1, 1_000), claim(1, 2_000), claim(3, 1_000)];
    assert_eq!(b.first_to(of_b, more.clone(), term).await, more[1..]);
    let (hasty, of_hasty) = (beacon(&redis).await, Uuid::now_v7());
    redis.kill();
    for _ in 0..2 {
        let first = hasty.first_to(of_hasty, more.clone(), term).await;
        assert_eq!(first, more, "the lock only saves work");
    }
}

#[tokio::test]
async fn what_another_node_goes_for_is_left_to_it_for_a_while() {
    let (redis, mut world) = (Redis::start().await, world().await);
    let (a, b) =
        (patient_node(&mut world, &redis, "a").await, patient_node(&mut world, &redis, "b").await);
    know_each_other(&[&a, &b]).await;
    let third = patient_beacon(&redis).await;
    // A third node takes the locks before the others know of the schedule, and dies before it
    // claims the fires.
    let (schedule, due) = (Uuid::now_v7(), soon(&world));
    let claim = vec![FireClaim { schedule, at: due.into() }];
    let term = Duration::from_secs(5);
    let locked = world.clock.now();
    assert_eq!(third.first_to(Uuid::now_v7(), claim, term).await.len(), 1);
    world.schedule("@every 1d", noop(), |row| is_due(row, schedule, due)).await;
    let run = world.settled_run(schedule).await;
    let late = run.created_at.utc() - locked;
    assert!(late.num_milliseconds() >= 4_900, "it was left to the third for {late} alone");
    a.shutdown(Duration::from_secs(5)).await.unwrap();
    b.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn what_falls_due_behind_many_locks_of_others_runs_on_time() {
    let (redis, mut world) = (Redis::start().await, world().await);
    // The locks are too many for one round trip, but not so many that the node does without them.
    world.settings.batch = 50;
    let (a, b) =
        (patient_node(&mut world, &redis, "a").await, patient_node(&mut world, &redis, "b").await);
    know_each_other(&[&a, &b]).await;
    let third = patient_beacon(&redis).await;
    let (ids, due) = ((0..=120).map(|_| Uuid::now_v7()).collect::<Vec<_>>(), soon(&world));
    let later = due + TimeDelta::seconds(2);
    let claims: Vec<_> =
        ids[..120].iter().map(|&schedule| FireClaim { schedule, at: due.into() }).collect();
    let term = Duration::from_secs(600);
    assert_eq!(third.first_to(Uuid::now_v7(), claims, term).await.len(), 120);
    let change = |number: usize, row: &mut schedule::Model| {
        row.expressions = Strings(vec!["@every 1d".to_owned()]);
        is_due(row, ids[number], if number < 120 { due } else { later });
    };
    world.schedules_with(121, noop(), change).await;
    world.signals.wake_planner();
    let run = world.settled_run(ids[120]).await;
    // The run was created long before the locks expire.
    let late = run.created_at.utc() - later;
    assert!(late < TimeDelta::seconds(60), "{late} late");
    for id in &ids[..120] {
        assert!(world.runs(*id).await.is_empty(), "it is left to the third");
    }
    a.shutdown(Duration::from_secs(5)).await.unwrap();
    b.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn locks_that_are_refused_are_a_problem_until_one_is_taken() {
    let redis = Redis::start().await;
    let a = beacon(&redis).await;
    assert_eq!(redis.say("ACL SETUSER default -mget"), "+OK");
    let own = Uuid::now_v7();
    let claim = vec![FireClaim { schedule: Uuid::from_u128(1), at: entity::Timestamp(1_000) }];
    assert_eq!(a.first_to(own, claim.clone(), Duration::from_secs(9)).await, claim);
    assert!(a.beat(own, 0, 0, &[]).await);
    let problem = a.problem().expect("a problem although the beat was taken");
    assert!(problem.contains("locks: ") && problem.contains("mget"), "{problem}");
    assert_eq!(redis.say("ACL SETUSER default +mget"), "+OK");
    assert!(a.beat(own, 0, 0, &[]).await);
    assert_eq!(a.problem(), None);
    // There are no other nodes whose heartbeats could be read.
    a.listen(&[]).await;
    assert!(a.listened() > Duration::ZERO, "the connection is kept");
}

#[tokio::test]
async fn three_nodes_with_locks_fire_each_instant_once() {
    let (redis, mut world) = (Redis::start().await, world().await);
    let nodes = [
        patient_node(&mut world, &redis, "a").await,
        patient_node(&mut world, &redis, "b").await,
        patient_node(&mut world, &redis, "c").await,
    ];
    know_each_other(&nodes.each_ref()).await;
    let mut schedules = Vec::new();
    for _ in 0..40 {
        let allow = |row: &mut schedule::Model| row.overlap = Overlap::Allow;
        schedules.push(world.schedule("* * * * * *", noop(), allow).await.id);
    }
    for schedule in &schedules {
        world.settled(*schedule, 3).await;
    }
    for node in nodes {
        node.shutdown(Duration::from_secs(5)).await.unwrap();
    }
    for schedule in schedules {
        for pair in world.ledger(schedule).await.windows(2) {
            assert_eq!(pair[0].scheduled_at.0 + 1_000, pair[1].scheduled_at.0);
        }
        for run in world.runs(schedule).await {
            assert_eq!(world.attempts(run.id).await.len(), 1);
        }
    }
}
