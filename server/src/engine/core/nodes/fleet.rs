//! The nodes that were alive when this node last read the nodes' rows.

use std::time::Duration;

use chrono::TimeDelta;
use entity::Strings;
use uuid::Uuid;

use super::offset::is_right;
use crate::{config::NodeRole, store::nodes::LivingNode};

/// If a node uses this much more of its capacity than
/// another, it lets the other node take runs first.
const CLEARLY: f64 = 0.25;

/// The living nodes, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    /// The nodes that have sent a heartbeat within the expiry.
    pub members: Vec<LivingNode>,
}

/// Whether a node with `tags` has all the tags that a run asks for.
pub fn places(tags: &[String], asked: &[String]) -> bool {
    asked.iter().all(|tag| tags.contains(tag))
}

fn has(member: &LivingNode, role: NodeRole) -> bool {
    member.node.roles.0.iter().any(|word| word == role.word())
}

/// Whether the node accepts new work.
fn takes_on(member: &LivingNode) -> bool {
    member.node.draining_at.is_none() && member.node.drained_at.is_none()
}

/// Whether the node may schedule: by its role, its clock, and because it accepts new work.
fn schedules(member: &LivingNode) -> bool {
    has(member, NodeRole::Scheduler) && takes_on(member) && has_right_clock(member)
}

fn has_right_clock(member: &LivingNode) -> bool {
    is_right(TimeDelta::milliseconds(member.node.clock_offset_ms))
}

impl Fleet {
    /// The fleet of the nodes in `living` whose last heartbeat arrived within `expiry`.
    pub fn of(living: Vec<LivingNode>, expiry: Duration) -> Self {
        let members = living.into_iter().filter(|member| member.silence <= expiry);
        Self { members: members.collect() }
    }

    /// Number of nodes that claim due fires.
    pub fn schedulers(&self) -> usize {
        self.claiming(Duration::MAX).count()
    }

    /// The newest zone data of all nodes that may schedule and have not been silent for longer than
    /// `suspect`. All nodes schedule by this release.
    pub fn zone_data(&self, suspect: Duration) -> Option<&str> {
        let heard = |member: &&LivingNode| schedules(member) && member.silence <= suspect;
        let mut all = self.members.iter().filter(heard);
        let newest = &*all.next()?.node.zone_data;
        Some(all.fold(newest, |newest, member| {
            let other = &*member.node.zone_data;
            if timetable::is_later_release(other, newest) { other } else { newest }
        }))
    }

    /// The nodes that claim fires.
    /// Only nodes silent for at most `suspect` decide which zone data counts.
    fn claiming(&self, suspect: Duration) -> impl Iterator<Item = &LivingNode> {
        let newest = self.zone_data(suspect).unwrap_or_default();
        let is_older =
            move |member: &LivingNode| timetable::is_later_release(newest, &member.node.zone_data);
        self.members.iter().filter(move |member| schedules(member) && !is_older(member))
    }

    /// The nodes that take runs.
    pub fn workers(&self) -> impl Iterator<Item = &LivingNode> {
        let works = |member: &&LivingNode| has(member, NodeRole::Worker) && has_right_clock(member);
        self.members.iter().filter(works).filter(|member| takes_on(member))
    }

    /// Whether a live node accepts runs that require these tags.
    pub fn has_place(&self, asked: &[String]) -> bool {
        self.workers().any(|member| {
            let Strings(tags) = &member.node.tags;
            places(tags, asked)
        })
    }

    /// The names of the nodes that share the shards. A node that has been silent for longer than
    /// `suspect` is left out before it is declared dead.
    /// If that node is alive after all, two nodes claim its fires, and one of them loses.
    pub fn ring(&self, suspect: Duration) -> Vec<&str> {
        let heard = self.claiming(suspect).filter(|member| member.silence <= suspect);
        heard.map(|member| member.node.name.as_str()).collect()
    }

    /// The tags of each other node that takes runs and has clearly more room than `own`,
    /// by their last heartbeats. Heartbeats older than `suspect` are ignored.
    /// A burst of runs that ends before the next heartbeat is not noticed, which does no harm.
    pub fn emptier_than(&self, own: Uuid, suspect: Duration) -> Vec<Strings> {
        let share = |member: &LivingNode| {
            f64::from(member.node.held) / f64::from(member.node.capacity.max(1))
        };
        let Some(mine) = self.members.iter().find(|member| member.node.id == own) else {
            return Vec::new();
        };
        let heard = self.workers().filter(|member| member.silence <= suspect);
        let others = heard.filter(|member| member.node.id != own);
        let emptier = others.filter(|member| share(mine) - share(member) > CLEARLY);
        emptier.map(|member| member.node.tags.clone()).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use entity::{Timestamp, node};

    use super::*;

    /// A node with all roles and no runs.
    pub(crate) fn member(name: &str) -> LivingNode {
        let words = |words: &[&str]| Strings(words.iter().map(|word| (*word).to_owned()).collect());
        let node = node::Model {
            id: Uuid::from_u128(name.bytes().map(u128::from).sum()),
            name: name.to_owned(),
            incarnation: 1,
            state: node::State::Alive,
            version: "1.0.0".to_owned(),
            zone_data: "2026b".to_owned(),
            schema: "m0008".to_owned(),
            process: String::new(),
            roles: words(&["api", "scheduler", "worker"]),
            tags: words(&[]),
            capacity: 100,
            held: 0,
            clock_offset_ms: 0,
            started_at: Timestamp(0),
            heartbeat_at: Timestamp(0),
            beats_in: node::BeatsIn::Database,
            doubted_at: None,
            redis_problem: None,
            draining_at: None,
            drained_at: None,
            drained_by: None,
            drain_reason: None,
            ended_at: None,
            changed: 0,
        };
        let (written_at, read_at) = (Timestamp(0), Timestamp(0));
        LivingNode { node, silence: Duration::ZERO, beat: None, written_at, read_at }
    }

    fn fleet(members: impl IntoIterator<Item = LivingNode>) -> Fleet {
        Fleet { members: members.into_iter().collect() }
    }

    fn changed(name: &str, change: impl FnOnce(&mut LivingNode)) -> LivingNode {
        let mut member = member(name);
        change(&mut member);
        member
    }

    #[test]
    fn a_node_that_drains_is_silent_or_has_a_wrong_clock_owns_no_shard() {
        let fleet = fleet([
            member("a"),
            changed("b", |other| other.node.draining_at = Some(Timestamp(1))),
            changed("c", |other| other.silence = Duration::from_secs(20)),
            changed("d", |other| other.node.clock_offset_ms = -6_000),
            changed("e", |other| other.node.roles = Strings(vec!["worker".to_owned()])),
            changed("f", |other| other.node.drained_at = Some(Timestamp(1))),
        ]);
        assert_eq!(fleet.ring(Duration::from_secs(15)), ["a"]);
        assert_eq!((fleet.schedulers(), fleet.workers().count()), (2, 3));
    }

    #[test]
    fn a_node_with_older_zone_data_than_another_scheduler_owns_no_shard() {
        let has = |name, zone_data: &'static str| {
            changed(name, move |other| other.node.zone_data = zone_data.to_owned())
        };
        let suspect = Duration::from_secs(15);
        let all = fleet([has("a", "2025z"), has("b", "2026b"), has("c", "2026a")]);
        assert_eq!((all.zone_data(Duration::MAX), all.schedulers()), (Some("2026b"), 1));
        assert_eq!(all.ring(suspect), ["b"]);
        assert_eq!(all.workers().count(), 3, "all of them execute runs");
        // A node that only serves requests, or that is
        // leaving, does not keep others from scheduling.
        let idle = changed("d", |other| {
            other.node.zone_data = "2026c".to_owned();
            other.node.roles = Strings(vec!["api".to_owned()]);
        });
        let leaving = changed("e", |other| {
            other.node.zone_data = "2026c".to_owned();
            other.node.draining_at = Some(Timestamp(1));
        });
        assert_eq!(fleet([member("a"), idle, leaving]).ring(suspect), ["a"]);
    }

    #[test]
    fn a_node_is_fuller_when_another_has_clearly_more_room() {
        let holds = |name, held| changed(name, |other| other.node.held = held);
        let own = member("a").node.id;
        let suspect = Duration::from_secs(15);
        let is_fuller = |fleet: Fleet| !fleet.emptier_than(own, suspect).is_empty();
        assert!(!is_fuller(fleet([holds("a", 100)])));
        assert!(!is_fuller(fleet([holds("a", 60), holds("b", 40)])));
        assert!(is_fuller(fleet([holds("a", 60), holds("b", 90), holds("c", 10)])));
        let idle = changed("b", |other| other.node.roles = Strings(vec!["api".to_owned()]));
        assert!(!is_fuller(fleet([holds("a", 100), idle])));
        let silent = changed("b", |other| other.silence = Duration::from_secs(16));
        assert!(!is_fuller(fleet([holds("a", 100), silent])));
    }

    #[test]
    fn a_run_has_a_place_where_one_node_has_all_its_tags() {
        let tagged = |name, tags: &[&str]| {
            let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
            changed(name, |other| other.node.tags = Strings(tags))
        };
        let fleet = fleet([tagged("a", &["gpu"]), tagged("b", &["region=eu"])]);
        let asked = |tags: &[&str]| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            fleet.has_place(&tags)
        };
        assert!(asked(&[]) && asked(&["gpu"]) && !asked(&["gpu", "region=eu"]));
    }
}
