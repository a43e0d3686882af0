//! What is wrong with the cluster, with what to do about it.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::{Standing, fleet::Fleet, offset::is_right};
use crate::store::{nodes::Living, reads::placement::Waiting};

/// One thing that is looked at: its name, its figure, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What was asked.
    pub name: &'static str,
    /// The figure.
    pub value: String,
    /// The sentence for an operator, if it is not well.
    pub problem: Option<String>,
    /// Whether that is so in good order for a while, as between two versions: worth saying, and no
    /// reason to be called unhealthy.
    pub passes: bool,
}

impl Issue {
    fn new(name: &'static str, value: impl ToString, problem: Option<String>) -> Self {
        Self { name, value: value.to_string(), problem, passes: false }
    }

    fn passing(self) -> Self {
        Self { passes: true, ..self }
    }
}

/// Looks at the nodes that are alive, at the runs that wait for tags, and at what the node says of
/// itself that is asked.
pub fn issues(fleet: &Fleet, waiting: &[Waiting], own: (&str, Standing)) -> Vec<Issue> {
    let (schedulers, workers) = (fleet.schedulers(), fleet.workers().count());
    // That no node is alive at all is said elsewhere.
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
        placement(fleet, waiting),
        this_node(own),
    ]
}

pub(in crate::engine) const NOBODY_SCHEDULES: &str =
    "no node schedules, so nothing fires: start one with the role 'scheduler' (--roles)";
pub(in crate::engine) const NOBODY_WORKS: &str =
    "no node takes runs, so all of them wait: start one with the role 'worker' (--roles)";
const ZONE_DATA: &str = "zone data, so they may disagree about when a schedule fires: bring the \
    tzdata of all to one version and restart them";
const SCHEMAS: &str = "last known migrations: upgrade those of the older version";
const VERSIONS: &str = "versions of Carillon: bring them all to one";

fn clocks(fleet: &Fleet) -> Issue {
    let offset = |member: &Living| TimeDelta::milliseconds(member.node.clock_offset_ms);
    let most = fleet.members.iter().map(|member| member.node.clock_offset_ms.abs()).max();
    let wrong = fleet.members.iter().filter(|member| !is_right(offset(member)));
    let wrong: Vec<String> = wrong
        .map(|member| format!("'{}' is {}", member.node.name, describe(offset(member))))
        .collect();
    let problem = (!wrong.is_empty()).then(|| {
        let wrong = wrong.join(", ");
        format!(
            "the clock of {wrong}; it schedules nothing until that is right: check its time service"
        )
    });
    Issue::new("clocks", format!("{} ms", most.unwrap_or(0)), problem)
}

/// How far a clock is away, for people.
pub(in crate::engine) fn describe(offset: TimeDelta) -> String {
    let (seconds, side) = (offset.num_milliseconds().unsigned_abs() / 1_000, offset);
    let side = if side < TimeDelta::zero() { "behind" } else { "ahead of" };
    format!("{seconds} s {side} the database's")
}

fn same(name: &'static str, fleet: &Fleet, of: impl Fn(&Living) -> &String, what: &str) -> Issue {
    let mut by_value: BTreeMap<&String, Vec<&str>> = BTreeMap::new();
    // Who leaves takes the difference along.
    for member in fleet.members.iter().filter(|member| member.node.draining_at.is_none()) {
        by_value.entry(of(member)).or_default().push(&member.node.name);
    }
    let value = by_value.keys().map(|value| value.as_str()).collect::<Vec<_>>().join(", ");
    let problem = (by_value.len() > 1).then(|| {
        let each = by_value.iter().map(|(value, nodes)| format!("{value} on {}", nodes.join(", ")));
        format!("the nodes have different {what} ({})", each.collect::<Vec<_>>().join("; "))
    });
    Issue::new(name, value, problem)
}

fn placement(fleet: &Fleet, waiting: &[Waiting]) -> Issue {
    let without = |waiting: &&Waiting| !fleet.has_place(&waiting.runs_on.0);
    let without: Vec<&Waiting> = waiting.iter().filter(without).collect();
    let runs: i64 = without.iter().map(|waiting| waiting.runs).sum();
    let problem = (runs > 0).then(|| {
        let tags = without.iter().map(|waiting| waiting.runs_on.0.join(" and "));
        let tags = tags.collect::<Vec<_>>().join("; ");
        format!(
            "{runs} runs wait for a node that has all of their tags ({tags}), and no live node \
             does: start one with these node.tags"
        )
    });
    Issue::new("placement", runs, problem)
}

fn this_node((name, standing): (&str, Standing)) -> Issue {
    let (value, problem) = match standing {
        Standing::Ready => ("ready", None),
        Standing::Draining => ("draining", Some(format!("the node '{name}' shuts down"))),
        Standing::Usurped => (
            "usurped",
            Some(format!(
                "another process has joined as '{name}', so this one schedules nothing and takes no \
                 run: give each process a node.name of its own, or stop one of the two"
            )),
        ),
        Standing::ClockOff(offset) => (
            "clock off",
            Some(format!(
                "the clock of this node is {}; it schedules nothing until that is right: check \
                 its time service",
                describe(offset)
            )),
        ),
    };
    Issue::new("this_node", value, problem)
}

#[cfg(test)]
mod tests {
    use entity::Strings;

    use super::{super::fleet::tests::member, *};

    fn problems(fleet: &Fleet, waiting: &[Waiting]) -> Vec<String> {
        let all = issues(fleet, waiting, ("a", Standing::Ready));
        all.into_iter().filter_map(|issue| issue.problem).collect()
    }

    fn fleet(change: impl FnOnce(&mut Living)) -> Fleet {
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
    fn what_differs_between_nodes_is_named_with_them() {
        let differ = fleet(|other| other.node.zone_data = "2025b".to_owned());
        assert!(problems(&differ, &[])[0].ends_with("(2025b on b; 2026b on a)"));
        let differ = fleet(|other| other.node.version = "0.9.0".to_owned());
        assert!(problems(&differ, &[])[0].contains("0.9.0 on b; 1.0.0 on a"));
    }

    #[test]
    fn a_wrong_clock_is_named_with_its_node() {
        let wrong = fleet(|other| other.node.clock_offset_ms = 3_600_000);
        let problems = problems(&wrong, &[]);
        assert!(problems[0].contains("'b' is 3600 s ahead of the database's"), "{problems:?}");
    }

    #[test]
    fn runs_that_no_live_node_can_take_are_named_by_their_tags() {
        let waiting = |tags: &[&str], runs| Waiting {
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
