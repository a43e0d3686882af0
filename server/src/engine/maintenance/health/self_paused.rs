use super::Check;
use crate::store::reads::health::{MAX_SELF_PAUSED, SelfPaused};

/// The texts about schedules or about backfills.
struct Wording {
    is_backfill: bool,
    one: &'static str,
    more: &'static str,
    among: &'static str,
}

const WORDINGS: [Wording; 2] = [
    Wording {
        is_backfill: false,
        one: "schedule whose timing can no longer be read is paused",
        more: "schedules whose timing can no longer be read are paused",
        among: "among them",
    },
    Wording {
        is_backfill: true,
        one: "backfill that can start nothing has paused itself",
        more: "backfills that can start nothing have paused themselves",
        among: "among them one of",
    },
];

/// Checks that the server has paused nothing by itself. A schedule whose timing cannot be read and
/// a backfill that can start nothing wait for an operator, and nothing else is affected.
pub(super) fn self_paused(rows: &[SelfPaused]) -> Check {
    let (mut issues, mut bare) = (Vec::new(), Vec::new());
    for Wording { is_backfill, one, more, among } in WORDINGS {
        let mut of_kind = rows.iter().filter(|row| row.is_backfill == is_backfill);
        let count = of_kind.clone().count();
        let Some(SelfPaused { namespace, schedule, .. }) = of_kind.next() else { continue };
        let problem = match count {
            1 => format!("1 {one}"),
            MAX_SELF_PAUSED.. => format!("at least {count} {more}"),
            _ => format!("{count} {more}"),
        };
        issues.push(format!("{problem}, {among} {schedule} of the namespace {namespace}"));
        bare.push(problem);
    }
    let text = |issues: Vec<String>| (!issues.is_empty()).then(|| issues.join("; "));
    Check {
        name: "self_paused",
        healthy: true,
        value: rows.len().to_string(),
        limit: Some("0".to_owned()),
        issue: text(issues),
        bare: text(bare),
        nodes: vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(schedule: &str, is_backfill: bool) -> SelfPaused {
        SelfPaused { namespace: "shop".to_owned(), schedule: schedule.to_owned(), is_backfill }
    }

    #[test]
    fn what_the_server_has_paused_is_named_to_the_known_and_is_not_unhealthy() {
        assert_eq!(self_paused(&[]).issue, None);
        let check = self_paused(&[row("hourly", false), row("nightly", false), row("daily", true)]);
        assert!(check.healthy && check.value == "3");
        assert_eq!(
            check.issue_for(true).unwrap(),
            "2 schedules whose timing can no longer be read are paused, among them hourly of the \
             namespace shop; 1 backfill that can start nothing has paused itself, among them one \
             of daily of the namespace shop"
        );
        let bare = check.issue_for(false).unwrap();
        assert!(!bare.contains("shop") && !bare.contains("daily"), "{bare}");
    }

    #[test]
    fn a_number_that_is_cut_says_so() {
        let check = self_paused(&vec![row("hourly", false); MAX_SELF_PAUSED]);
        assert!(check.bare.unwrap().starts_with("at least 100 schedules"));
    }
}
