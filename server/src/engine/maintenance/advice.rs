//! Advice to operators about failed health checks.

/// The advice for the check of the given name.
pub fn advice(check: &str) -> &'static str {
    match check {
        "database" => {
            "Check whether the database runs and can be reached from this node. Carillon continues \
             on its own when it answers again."
        }
        "writes" => {
            "Free space on the database's disk, or make it writable again. Nothing fires until \
             then; what was due is caught up on by the catch-up policies."
        }
        "clock_steps" => {
            "Look at the time service of this node: its clock was set while Carillon was running."
        }
        "missed" => {
            "Look into the ledger for the reasons. After an outage there is nothing to do, or \
             backfill the missed range; if fires are still missed, add scheduler nodes."
        }
        "late" => {
            "Look at the load of the database and of the scheduler nodes, and at how many fires are \
             due at the same minute; spread them, or raise the budget of the tag."
        }
        "budgets" => {
            "Open the health of the named tags: each links to the fires and runs that it counts. \
             Repair what they name, or raise the budget."
        }
        "failed" => "Open the schedules that fail most, and read the error of their last run.",
        "stalled" => {
            "Nothing, if a node has just died: recovery takes its runs over within a minute. \
             Otherwise look at the logs of the nodes that hold them."
        }
        "pending_handoffs" => {
            "Look at the load of the database and at the server's log: fires are claimed faster than \
             runs are created."
        }
        "scheduler" => {
            "Start a node with the role 'scheduler', or look at the log of those that have it."
        }
        "nodes" => "Start a node: nothing fires and nothing runs.",
        "canary" => {
            "Follow the canary's schedule from its last fire on: what stops it also stops the \
             others."
        }
        "claims" => {
            "Read the server's log: it names the error of each schedule. Each is tried again within \
             five minutes."
        }
        "brokers" => {
            "Check whether the named brokers run and can be reached from this node. Only tasks \
             that publish to them fail."
        }
        "places" => {
            "Raise node.capacity or add a worker node, or shorten the timeouts of what holds the \
             places."
        }
        "queues" => {
            "Start a worker for these queues, with the tags that the tasks require. What waits is \
             taken at once, or ends at the task's timeout."
        }
        "self_paused" => {
            "Read the reason of the pause: a schedule's page and a backfill's have it. Correct the \
             timing or install the zone data that it needs, mend what the backfill runs, and then \
             resume it."
        }
        "history" => {
            "Raise the quota of the namespace (carillon namespace quotas), or let its schedules fire \
             and print less, or keep its history for fewer days."
        }
        "schedulers" => "Start a node with the role 'scheduler' (--roles).",
        "workers" => "Start a node with the role 'worker' (--roles).",
        "clocks" => "Check the time service of the named nodes.",
        "zone_data" => "Install the same version of tzdata on all nodes, and restart them.",
        "schemas" | "versions" => "Upgrade the nodes of the older version.",
        "cluster_backend" => "Give all nodes the same cluster.backend.",
        "placement" => {
            "Start a node with these node.tags, or change the tags that the runs require."
        }
        "drained" => "Undrain the nodes when their maintenance is over.",
        "this_node" => "Ask another node meanwhile.",
        "redis" => "Start Redis, or check the network between. Fires continue without it.",
        _ => "Look at the server's log.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the checks in the table of docs/metrics.md.
    fn documented() -> Vec<&'static str> {
        let document = include_str!("../../../../docs/metrics.md");
        let table = document.split("| check | fails when |").nth(1).unwrap();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect()
    }

    #[test]
    fn each_documented_check_has_advice_of_its_own() {
        let (other, names) = (advice("no such check"), documented());
        assert!(names.contains(&"missed") && names.contains(&"redis"), "{names:?}");
        for name in names {
            assert_ne!(advice(name), other, "{name}");
        }
    }
}
