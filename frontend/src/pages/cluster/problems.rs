use crate::{
    model::{Member, NodeState},
    time::duration,
};

/// Beyond this offset, a clock counts as wrong, and its node claims nothing.
const WRONG_MS: i64 = 5_000;

/// The problems of a node, one sentence each. If versions differ, the older nodes have a problem; the health page
/// lists all differences.
pub(super) fn problems(node: &Member, all: &[Member]) -> Vec<String> {
    let redis = node.redis_problem.as_ref().map(|problem| {
        format!(
            "It does not reach Redis ({problem}): its heartbeats go into the database, and it claims without locks."
        )
    });
    let ahead = node.clock_offset_ms;
    let clock = (ahead.abs() > WRONG_MS).then(|| {
        let side = if ahead > 0 { "ahead of" } else { "behind" };
        let distance = duration(ahead.abs());
        format!(
            "Its clock is {distance} {side} the database's: it claims nothing until that is right."
        )
    });
    let zone_data = newer(node, all, |other| &other.zone_data).map(|newest| {
        format!(
            "Its zone data is {}, that of others {newest}: it claims nothing until it has the same.",
            node.zone_data
        )
    });
    let schema = newer(node, all, |other| &other.schema).map(|newest| {
        format!("It knows the schema up to {}, others up to {newest}: upgrade it.", node.schema)
    });
    [redis, clock, zone_data, schema].into_iter().flatten().collect()
}

/// The newest value among the nodes, if this node's value is older. A node that is leaving is not compared, because
/// the difference will disappear with the node.
fn newer<'a>(node: &Member, all: &'a [Member], of: fn(&Member) -> &str) -> Option<&'a str> {
    let stays = |node: &Member| node.state == NodeState::Alive;
    let newest = all.iter().filter(|other| stays(other)).map(of).max()?;
    (stays(node) && of(node) < newest).then_some(newest)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(in crate::pages::cluster) fn member(change: &Value) -> Member {
        let mut node = json!({
            "id": "a1", "name": "a", "incarnation": 1, "state": "ALIVE", "roles": [], "tags": [],
            "startedAt": "2026-03-01T12:00:00Z", "heartbeatAt": "2026-03-01T12:00:00Z",
            "silentMs": 0, "clockOffsetMs": 0, "runs": 0, "capacity": 10, "version": "1.0.0",
            "zoneData": "2026b", "schema": "m0013", "redisProblem": null,
            "firstShards": 256, "secondShards": 0, "drain": null, "leases": [],
        });
        node.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        serde_json::from_value(node).unwrap()
    }

    fn of(change: Value) -> Vec<String> {
        problems(&member(&change), &[member(&json!({})), member(&change)])
    }

    #[test]
    fn a_node_like_the_others_has_no_problem() {
        assert!(of(json!({})).is_empty());
        // Neither the newest node nor a leaving node has a problem.
        assert!(of(json!({ "zoneData": "2026c", "schema": "m0014" })).is_empty());
        assert!(of(json!({ "zoneData": "2025a", "state": "DRAINING" })).is_empty());
        assert!(of(json!({ "clockOffsetMs": -5_000 })).is_empty());
    }

    #[test]
    fn each_problem_is_one_sentence() {
        let wrong = of(json!({
            "redisProblem": "connection refused", "clockOffsetMs": -6_000,
            "zoneData": "2025a", "schema": "m0012",
        }));
        let starts = [
            "It does not reach Redis (connection refused): its heartbeats go into the database",
            "Its clock is 6.0 s behind the database's: it claims nothing",
            "Its zone data is 2025a, that of others 2026b:",
            "It knows the schema up to m0012, others up to m0013:",
        ];
        assert_eq!(wrong.len(), starts.len(), "{wrong:#?}");
        for (line, start) in wrong.iter().zip(starts) {
            assert!(line.starts_with(start), "{line}");
        }
    }
}
