//! Problems of the cluster, and advice to operators on each.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use entity::node::BeatsIn;

use super::{fleet::Fleet, handle::NodeReadiness, offset::is_right};
use crate::store::{nodes::LivingNode, reads::placement::WaitingCount};

/// The result of a health check: its name, the value found, and the problem, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The name of the check.
    pub name: &'static str,
    /// The value that the check found.
    pub value: String,
    /// The problem and the advice, in a sentence for operators; `None` if all is well.
    pub problem: Option<String>,
    /// The problem without names, for unauthenticated
    /// callers; `None` if `problem` contains no names.
    pub bare: Option<String>,
    /// Whether the problem is normal for a while, such as during an upgrade: it is reported, but
    /// does not make the server unhealthy.
    pub passes: bool,
    /// The names of the nodes that have the problem.
    pub nodes: Vec<String>,
}

impl Issue {
    pub(crate) fn new(name: &'static str, value: impl ToString, problem: Option<String>) -> Self {
        Self { name, value: value.to_string(), problem, bare: None, passes: false, nodes: vec![] }
    }

    /// Sets the text of the problem for unauthenticated callers.
    fn or(self, bare: impl std::fmt::Display) -> Self {
        let bare = self.problem.is_some().then(|| format!("{bare}; sign in for the names"));
        Self { bare, ..self }
    }

    /// Sets the nodes that have the problem, if there is one.
    fn about<'a>(self, nodes: impl IntoIterator<Item = &'a str>) -> Self {
        let names = nodes.into_iter().map(str::to_owned);
        let nodes = names.filter(|_| self.problem.is_some()).collect();
        Self { nodes, ..self }
    }

    pub(crate) fn passing(self) -> Self {
        Self { passes: true, ..self }
    }
}

/// Checks the live nodes, the runs that wait for tags, and the state of the answering node.
pub fn issues(
    fleet: &Fleet,
    waiting: &[WaitingCount],
    own_name: &str,
    readiness: NodeReadiness,
) -> Vec<Issue> {
    let (schedulers, workers) = (fleet.schedulers(), fleet.workers().count());
    // If no node is alive at all, another check reports that.
    let nobody = |count: usize, what: &str| {
        (count == 0 && !fleet.members.is_empty()).then(|| what.to_owned())
    };
    vec![
        Issue::new("schedulers", schedulers, nobody(schedulers, NOBODY_SCHEDULES)),
        Issue::new("workers", workers, nobody(workers, NOBODY_WORKS)),
        clocks(fleet),
        same("zone_data", fleet, |member| &member.node.zone_data, ZONE_DATA),
        same("schemas", fleet, |member| &member.node.schema, SCHEMAS).passing(),
        same("versions", fleet, |member| &member.node.version, VERSIONS).passing(),
        same("cluster_backend", fleet, backend, BACKENDS).passing(),
        placement(fleet, waiting),
        drained(fleet),
        this_node(own_name, readiness),
    ]
}

/// Checks that all nodes that use Redis can reach it. Other nodes report their problem in their
/// rows; `own` is the answering node's Redis address and current problem.
pub fn redis(fleet: &Fleet, name: &str, own: Option<(&str, Option<String>)>) -> Option<Issue> {
    let is_own = |member: &&LivingNode| member.node.name == name;
    let others = fleet.members.iter().filter(|member| !is_own(member));
    let mut others = others.filter(|member| member.node.beats_in == BeatsIn::Redis).peekable();
    if own.is_none() && others.peek().is_none() {
        return None;
    }
    let said =
        |member: &LivingNode| Some((member.node.name.clone(), member.node.redis_problem.clone()?));
    let of_others = others.filter_map(said);
    let own = own.and_then(|(_, problem)| Some((name.to_owned(), problem?)));
    let problems: Vec<_> = own.into_iter().chain(of_others).collect();
    let value = if problems.is_empty() { "reached".to_owned() } else { "away".to_owned() };
    let problem = (!problems.is_empty()).then(|| {
        let each = problems.iter().map(|(name, problem)| format!("'{name}' ({problem})"));
        let each = each.collect::<Vec<_>>().join(", ");
        format!(
            "Redis cannot be reached by {each}; fires continue without its locks, and heartbeats \
             go into the database: start it, or check the network between"
        )
    });
    let bare = format!(
        "Redis cannot be reached by {} nodes; fires continue without its locks, and heartbeats go \
         into the database",
        problems.len()
    );
    let names = problems.iter().map(|(name, _)| name.as_str());
    Some(Issue::new("redis", value, problem).or(bare).about(names))
}

fn backend(member: &LivingNode) -> &str {
    match member.node.beats_in {
        BeatsIn::Database => "database",
        BeatsIn::Redis => "redis",
    }
}

const NOBODY_SCHEDULES: &str =
    "no node schedules, so nothing fires: start one with the role 'scheduler' (--roles)";
const NOBODY_WORKS: &str =
    "no node takes runs, so all of them wait: start one with the role 'worker' (--roles)";
const ZONE_DATA: &str = "zone data, so those whose data is older schedule nothing: install the \
                         same tzdata on all of them and restart them";
const SCHEMAS: &str = "last known migrations: upgrade those of the older version";
const BACKENDS: &str = "settings of cluster.backend: give all of them the same";
const VERSIONS: &str = "versions of Carillon: install the same on all";

fn clocks(fleet: &Fleet) -> Issue {
    let offset = |member: &LivingNode| TimeDelta::milliseconds(member.node.clock_offset_ms);
    let most = fleet.members.iter().map(|member| member.node.clock_offset_ms.abs()).max();
    let wrong = fleet.members.iter().filter(|member| !is_right(offset(member)));
    let names = wrong.clone().map(|member| member.node.name.as_str());
    let wrong: Vec<String> = wrong
        .map(|member| format!("'{}' is {}", member.node.name, describe(offset(member))))
        .collect();
    let bare = format!("the clocks of {} nodes are wrong, so these schedule nothing", wrong.len());
    let problem = (!wrong.is_empty()).then(|| {
        let wrong = wrong.join(", ");
        format!(
            "the clock of {wrong}; it schedules nothing until that is right: check its time service"
        )
    });
    Issue::new("clocks", format!("{} ms", most.unwrap_or(0)), problem).or(bare).about(names)
}

/// Describes in words how far a clock is off.
pub(crate) fn describe(offset: TimeDelta) -> String {
    let (seconds, side) = (offset.num_milliseconds().unsigned_abs() / 1_000, offset);
    let side = if side < TimeDelta::zero() { "behind" } else { "ahead of" };
    format!("{seconds} s {side} the database's")
}

fn same(name: &'static str, fleet: &Fleet, of: impl Fn(&LivingNode) -> &str, what: &str) -> Issue {
    let mut by_value: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    // The differences of a node that is leaving no longer matter.
    for member in fleet.members.iter().filter(|member| member.node.draining_at.is_none()) {
        by_value.entry(of(member)).or_default().push(&member.node.name);
    }
    let value = by_value.keys().copied().collect::<Vec<_>>().join(", ");
    let problem = (by_value.len() > 1).then(|| {
        let each = by_value.iter().map(|(value, nodes)| format!("{value} on {}", nodes.join(", ")));
        format!("the nodes have different {what} ({})", each.collect::<Vec<_>>().join("; "))
    });
    Issue::new(name, value, problem)
        .or(format!("the nodes have {} different {what}", by_value.len()))
        .about(by_value.into_values().flatten())
}

fn placement(fleet: &Fleet, waiting: &[WaitingCount]) -> Issue {
    let without = |waiting: &&WaitingCount| !fleet.has_place(&waiting.runs_on.0);
    let without: Vec<&WaitingCount> = waiting.iter().filter(without).collect();
    let runs: i64 = without.iter().map(|waiting| waiting.runs).sum();
    let wait = if runs == 1 { "run waits" } else { "runs wait" };
    let problem = (runs > 0).then(|| {
        let tags = without.iter().map(|waiting| waiting.runs_on.0.join(" and "));
        let tags = tags.collect::<Vec<_>>().join("; ");
        format!(
            "{runs} {wait} for a node with all of the required tags ({tags}), and no live node has \
             them: start one with these node.tags"
        )
    });
    let bare = format!(
        "{runs} {wait} for a node with all of the required tags, and no live node has them"
    );
    Issue::new("placement", runs, problem).or(bare)
}

/// Reports nodes that an operator drained. That was intended, but should not be forgotten.
fn drained(fleet: &Fleet) -> Issue {
    let drained = fleet.members.iter().filter(|member| member.node.drained_at.is_some());
    let names: Vec<&str> = drained.map(|member| member.node.name.as_str()).collect();
    let count = names.len();
    let problem = (count > 0).then(|| {
        let verb = if count == 1 { "is" } else { "are" };
        format!(
            "{} {verb} drained, and takes no new work: undrain it when its work is done",
            names.join(", ")
        )
    });
    let bare = format!("{count} nodes are drained, and take no new work");
    Issue::new("drained", count, problem).or(bare).passing().about(names)
}

fn this_node(name: &str, readiness: NodeReadiness) -> Issue {
    let issue = match readiness {
        NodeReadiness::Ready => Issue::new("this_node", "ready", None),
        NodeReadiness::Draining => {
            let problem = format!("the node '{name}' shuts down");
            Issue::new("this_node", "draining", Some(problem)).or("this node shuts down")
        }
        NodeReadiness::Drained => {
            let problem =
                format!("the node '{name}' is drained: it schedules nothing and takes no run");
            let bare = "this node is drained: it schedules nothing and takes no run";
            Issue::new("this_node", "drained", Some(problem)).or(bare).passing()
        }
        NodeReadiness::Usurped => {
            let problem = format!(
                "another process has joined as '{name}', so this one schedules nothing and takes no \
                 run: give each process a node.name of its own, or stop one of the two"
            );
            let bare = "another process has joined under the name of this one, which schedules \
                nothing and takes no run";
            Issue::new("this_node", "usurped", Some(problem)).or(bare)
        }
        NodeReadiness::ClockOff(offset) => {
            let problem = format!(
                "the clock of this node is {}; it schedules nothing until that is right: check \
                 its time service",
                describe(offset)
            );
            Issue::new("this_node", "clock off", Some(problem))
        }
        NodeReadiness::OldZones => {
            let problem = "the zone data of this node is older than that of another one that \
                schedules; it schedules nothing until it has the same, or that one has left: bring \
                its tzdata up to date and restart it";
            Issue::new("this_node", "old zone data", Some(problem.to_owned()))
        }
    };
    issue.about([name])
}

#[cfg(test)]
mod tests {
    use entity::Strings;

    use super::{super::fleet::tests::member, *};

    fn problems(fleet: &Fleet, waiting: &[WaitingCount]) -> Vec<String> {
        let all = issues(fleet, waiting, "a", NodeReadiness::Ready);
        all.into_iter().filter_map(|issue| issue.problem).collect()
    }

    fn fleet(change: impl FnOnce(&mut LivingNode)) -> Fleet {
        let mut other = member("b");
        change(&mut other);
        Fleet { members: vec![member("a"), other] }
    }

    #[test]
    fn all_is_well_with_nodes_that_are_alike() {
        assert!(problems(&fleet(|_| {}), &[]).is_empty());
        assert!(problems(&Fleet::default(), &[]).is_empty());
    }

    #[test]
    fn a_fleet_in_which_nobody_schedules_or_works_says_what_to_start() {
        let mut alone = member("a");
        alone.node.roles = Strings(vec!["api".to_owned()]);
        let alone = Fleet { members: vec![alone] };
        assert_eq!(problems(&alone, &[]), [NOBODY_SCHEDULES, NOBODY_WORKS]);
    }

    #[test]
    fn differences_between_nodes_are_named_with_the_nodes() {
        let differ = fleet(|other| other.node.zone_data = "2025b".to_owned());
        assert!(problems(&differ, &[])[0].ends_with("(2025b on b; 2026b on a)"));
        let differ = fleet(|other| other.node.version = "0.9.0".to_owned());
        assert!(problems(&differ, &[])[0].contains("0.9.0 on b; 1.0.0 on a"));
    }

    #[test]
    fn redis_is_asked_about_where_a_node_uses_it() {
        let none = |fleet: &Fleet| redis(fleet, "a", None);
        assert_eq!(none(&fleet(|_| {})), None);
        let uses = fleet(|other| other.node.beats_in = BeatsIn::Redis);
        assert_eq!(none(&uses).unwrap().problem, None);
        assert!(problems(&uses, &[])[0].ends_with("(database on a; redis on b)"));
        let away = fleet(|other| {
            other.node.beats_in = BeatsIn::Redis;
            other.node.redis_problem = Some("refused".to_owned());
        });
        let own = Some(("redis://h:1", Some("silent".to_owned())));
        let issue = redis(&away, "a", own).unwrap();
        let bare = issue.bare.unwrap();
        assert!(bare.starts_with("Redis cannot be reached by 2 nodes; "), "{bare}");
        let problem = issue.problem.unwrap();
        assert!(problem.starts_with("Redis cannot be reached by 'a' (silent), 'b' (refused); "));
    }

    #[test]
    fn a_wrong_clock_is_named_with_its_node() {
        let wrong = fleet(|other| other.node.clock_offset_ms = 3_600_000);
        let problems = problems(&wrong, &[]);
        assert!(problems[0].contains("'b' is 3600 s ahead of the database's"), "{problems:?}");
    }

    #[test]
    fn unknown_callers_get_no_names() {
        let differ = fleet(|other| {
            other.node.name = "beta".to_owned();
            other.node.clock_offset_ms = 3_600_000;
            other.node.zone_data = "2025b".to_owned();
        });
        let waiting = WaitingCount { runs_on: Strings(vec!["gpu-77".to_owned()]), runs: 7 };
        for standing in [NodeReadiness::Draining, NodeReadiness::Usurped] {
            let issues = issues(&differ, std::slice::from_ref(&waiting), "alpha", standing);
            let bare = issues.iter().filter(|issue| issue.problem.is_some());
            let bare: Vec<_> = bare.map(|issue| issue.bare.clone().unwrap()).collect();
            assert_eq!(bare.len(), 4, "{bare:#?}");
            for name in ["alpha", "beta", "gpu-77"] {
                assert!(!bare.iter().any(|bare| bare.contains(name)), "{bare:#?}");
            }
        }
    }

    #[test]
    fn runs_that_no_live_node_can_take_are_named_by_their_tags() {
        let waiting = |tags: &[&str], runs| WaitingCount {
            runs_on: Strings(tags.iter().map(|tag| (*tag).to_owned()).collect()),
            runs,
        };
        let has_gpu = fleet(|other| other.node.tags = Strings(vec!["gpu".to_owned()]));
        let waiting = [waiting(&["gpu"], 7), waiting(&["gpu", "region=eu"], 2)];
        let problems = problems(&has_gpu, &waiting);
        assert!(problems[0].starts_with("2 runs wait"), "{problems:?}");
        assert!(problems[0].contains("(gpu and region=eu)"), "{problems:?}");
    }
}
