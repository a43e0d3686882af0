use std::time::Duration;

use super::{
    field::Field,
    node::Node,
    postgres::Postgres,
    proxy::{Proxy, Way},
    short_or_long,
};
use crate::support::Redis;

const LEASE: Duration = Duration::from_secs(3);

/// Throughout, no live node is declared dead, and killed nodes are taken over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_is_killed_flushed_frozen_and_cut_off_from_one_node() {
    let (schedules, times) = short_or_long((50, 1), (300, 10));
    let (postgres, mut redis) = (Postgres::start(&[]).await, Redis::start().await);
    let proxy = Proxy::to(redis.port).await;
    let length = 26 * times + 4;
    let mut field = Field::new("Redis", &postgres.url(), LEASE, schedules, length).await;
    let (near, far) = (redis.url(), format!("redis://127.0.0.1:{}", proxy.port()));
    let node = |field: &Field, name: &str, url: &str| {
        let redis = [("CARILLON_CLUSTER__BACKEND", "redis"), ("CARILLON_CLUSTER__REDIS_URL", url)];
        field.node_by(name, &field.url, &redis)
    };
    let mut nodes =
        [node(&field, "one", &near), node(&field, "two", &near), node(&field, "three", &far)];
    for node in &mut nodes {
        node.is_ready().await;
    }
    field.begins().await;
    let clock = field.clock.clone();
    for _ in 0..times {
        field.pass(Duration::from_secs(2)).await;
        let fault = async {
            redis.kill();
            clock.sleep(LEASE + Duration::from_secs(1)).await;
            redis.go_on().await;
        };
        field.while_hit(fault).await;
        for _ in 0..4 {
            field.pass(Duration::from_millis(700)).await;
            redis.flush();
            field.hit();
        }
        let fault = async {
            redis.freeze();
            clock.sleep(LEASE + Duration::from_secs(1)).await;
            redis.thaw();
        };
        field.while_hit(fault).await;
        field.pass(Duration::from_secs(1)).await;
        let fault = async {
            for way in [Way::Cut, Way::Dead] {
                proxy.becomes(way);
                clock.sleep(LEASE + Duration::from_secs(1)).await;
            }
            proxy.becomes(Way::Open);
        };
        field.while_hit(fault).await;
        field.pass(Duration::from_secs(2)).await;
        let lives: usize = nodes.iter().map(new_lives).sum();
        assert_eq!(lives, 0, "a node that lived was declared dead");
        for node in &nodes {
            assert!(
                node.said("Redis cannot be reached") > 0
                    && node.said("Redis can be reached again") > 0
            );
        }
    }
    nodes[0].kill();
    field.hit();
    field.pass(LEASE * 2).await;
    nodes[0].start_again();
    field.ends(&mut nodes).await;
}

fn new_lives(node: &Node) -> usize {
    node.said("it starts a new life")
}
