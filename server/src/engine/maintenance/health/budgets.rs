//! Judges the figures of tags by their budgets. No IO.

use super::Check;
use crate::{
    config,
    store::reads::{health::HealthFigures, health_budgets::MeasuredBudget},
};

/// Maximum number of problems that one sentence names.
const MAX_NAMED: usize = 5;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// A budget, with what it has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedBudget {
    /// The budget and its figures.
    pub measured: MeasuredBudget,
    /// Missed fires in the span.
    pub missed: BudgetFigure,
    /// Failed runs in the span.
    pub failed: BudgetFigure,
    /// Stalled runs.
    pub stalled: BudgetFigure,
    /// The 99th percentile of the lateness in the span, in milliseconds.
    pub late: BudgetFigure,
}

/// One figure of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetFigure {
    /// The name of the figure, which is also that of a check.
    pub name: &'static str,
    /// The measured value; `None` if there is nothing to measure.
    pub value: Option<i64>,
    /// The limit that applies; `None` for none.
    pub limit: Option<i64>,
    /// The limit that the budget itself sets.
    pub own: Option<i64>,
}

impl BudgetFigure {
    /// Whether the value is beyond the limit.
    pub fn is_exceeded(&self) -> bool {
        matches!((self.value, self.limit), (Some(value), Some(limit)) if value > limit)
    }

    /// How much of the limit is used, in thousandths.
    fn share(&self) -> i64 {
        let (value, limit) = (self.value.unwrap_or(0), self.limit.unwrap_or(i64::MAX));
        value.saturating_mul(1_000) / limit.max(1)
    }

    /// The problem in a sentence, about objects described by `whose`; `None` if there is none.
    fn issue(&self, whose: &str, span_ms: i64) -> Option<String> {
        let (value, limit) = self.value.zip(self.limit).filter(|_| self.is_exceeded())?;
        let span = span(span_ms);
        let fires = if value == 1 { "fire" } else { "fires" };
        let runs = if value == 1 { "run" } else { "runs" };
        Some(match self.name {
            "missed" => {
                let were = if value == 1 { "was" } else { "were" };
                format!("{value} {fires}{whose} {were} missed in {span}, more than {limit}")
            }
            "failed" => format!("{value} {runs}{whose} failed in {span}, more than {limit}"),
            "stalled" => {
                let are = if value == 1 { "is" } else { "are" };
                format!("{value} {runs}{whose} {are} stalled, more than {limit}")
            }
            _ => format!(
                "1 % of the fires{whose} were at least {} late in {span}, more than {}",
                lateness(value),
                lateness(limit)
            ),
        })
    }

    /// A value of this figure, with its unit.
    fn text(&self, value: i64) -> String {
        if self.name == "late" { lateness(value) } else { value.to_string() }
    }
}

impl JudgedBudget {
    /// A budget by its own limits, and by those of the server where it has none.
    pub(super) fn of(measured: MeasuredBudget, limits: &config::Health) -> Self {
        let limits = limits.within(Some(measured.namespace.as_str()), Some(measured.tag.as_str()));
        let number = |limit: u64| i64::try_from(limit).unwrap_or(i64::MAX);
        let figure = |name, value, own: Option<i64>, general: Option<i64>| BudgetFigure {
            name,
            value,
            limit: own.or(general),
            own,
        };
        let MeasuredBudget { max_missed, max_failed, max_stalled, max_late_ms, .. } = measured;
        Self {
            missed: figure(
                "missed",
                Some(measured.missed),
                max_missed,
                Some(number(limits.missed)),
            ),
            failed: figure("failed", Some(measured.failed), max_failed, limits.failed.map(number)),
            stalled: figure(
                "stalled",
                Some(measured.stalled),
                max_stalled,
                Some(number(limits.stalled)),
            ),
            late: figure("late", measured.late_ms, max_late_ms, None),
            measured,
        }
    }

    /// All figures.
    pub fn figures(&self) -> [&BudgetFigure; 4] {
        [&self.missed, &self.failed, &self.stalled, &self.late]
    }

    /// Whether no figure is beyond its limit.
    pub fn is_healthy(&self) -> bool {
        self.figures().iter().all(|figure| !figure.is_exceeded())
    }

    /// The problems, one sentence each, with the names of the tag and the namespace.
    pub fn issues(&self) -> Vec<String> {
        let (whose, span_ms) = (self.whose(), self.measured.span_ms);
        self.figures().iter().filter_map(|figure| figure.issue(&whose, span_ms)).collect()
    }

    fn whose(&self) -> String {
        let MeasuredBudget { namespace, tag, .. } = &self.measured;
        format!(" with the tag {tag} of the namespace {namespace}")
    }
}

/// Reports the exceeded budgets. They are their owners' concern, so this check is always healthy:
/// who asks for a tag gets the checks of its budget instead.
pub(super) fn report(budgets: &[JudgedBudget]) -> Check {
    let issues: Vec<String> = budgets.iter().flat_map(JudgedBudget::issues).collect();
    let count = budgets.iter().filter(|budget| !budget.is_healthy()).count();
    let problem = match count {
        1 => "1 budget of a tag is exceeded".to_owned(),
        _ => format!("{count} budgets of tags are exceeded"),
    };
    let mut named = issues.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join("; ");
    if let Some(more) = issues.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        named.push_str(&format!("; and {more} more"));
    }
    Check {
        name: "budgets",
        healthy: true,
        value: count.to_string(),
        limit: Some("0".to_owned()),
        issue: (count > 0).then(|| format!("{problem}: {named}")),
        bare: (count > 0).then_some(problem),
        nodes: vec![],
    }
}

/// The checks of a tag: each figure by the tag's budgets, one per namespace, and by the server's
/// limits for the namespaces without a budget, which `rest` covers. A check shows the figure that
/// is furthest beyond its limit, or nearest to it.
pub(super) fn of_tag(
    rest: &HealthFigures,
    limits: &config::Health,
    budgets: &[JudgedBudget],
) -> Vec<Check> {
    let limit = |limit: u64| Some(i64::try_from(limit).unwrap_or(i64::MAX));
    let beside = |name, value, limit| BudgetFigure { name, value: Some(value), limit, own: None };
    let mut checks = vec![
        merged(
            beside("missed", rest.missed, limit(limits.missed)),
            budgets.iter().map(|budget| (budget, &budget.missed)),
        ),
        merged(
            beside("failed", rest.failed, limits.failed.and_then(limit)),
            budgets.iter().map(|budget| (budget, &budget.failed)),
        ),
        merged(
            beside("stalled", rest.stalled, limit(limits.stalled)),
            budgets.iter().map(|budget| (budget, &budget.stalled)),
        ),
    ];
    let mut late = budgets.iter().filter(|budget| budget.late.limit.is_some()).peekable();
    if late.peek().is_some() {
        let none = BudgetFigure { name: "late", value: None, limit: None, own: None };
        checks.push(merged(none, late.map(|budget| (budget, &budget.late))));
    }
    checks
}

/// One check of a figure of several budgets, and of the namespaces without one.
fn merged<'a>(
    rest: BudgetFigure,
    budgets: impl Iterator<Item = (&'a JudgedBudget, &'a BudgetFigure)>,
) -> Check {
    let (mut issues, mut bare) = (Vec::new(), Vec::new());
    let of_rest = rest.issue("", HOUR_MS);
    issues.extend(of_rest.clone());
    bare.extend(of_rest);
    let mut worst = rest;
    let rank = |figure: &BudgetFigure| (figure.is_exceeded(), figure.share());
    for (budget, figure) in budgets {
        let span_ms = budget.measured.span_ms;
        issues.extend(figure.issue(&budget.whose(), span_ms));
        bare.extend(figure.issue("", span_ms));
        // Of equal figures, that of a budget is shown.
        if rank(figure) >= rank(&worst) {
            worst = *figure;
        }
    }
    let text = |mut issues: Vec<String>| {
        issues.truncate(MAX_NAMED);
        (!issues.is_empty()).then(|| issues.join("; "))
    };
    Check {
        name: worst.name,
        healthy: issues.is_empty(),
        value: worst.value.map_or_else(|| "none".to_owned(), |value| worst.text(value)),
        limit: worst.limit.map(|limit| worst.text(limit)),
        issue: text(issues),
        bare: text(bare),
        nodes: vec![],
    }
}

/// A duration in words, such as `350 ms` or `12.5 s`.
fn lateness(ms: i64) -> String {
    let (seconds, tenths) = (ms / 1_000, ms % 1_000 / 100);
    match (seconds, tenths) {
        (0, _) => format!("{ms} ms"),
        (_, 0) => format!("{seconds} s"),
        _ => format!("{seconds}.{tenths} s"),
    }
}

/// A span up to now in words.
fn span(ms: i64) -> String {
    match (ms / HOUR_MS, ms % HOUR_MS, ms / MINUTE_MS) {
        (1, 0, _) => "the last hour".to_owned(),
        (hours, 0, _) => format!("the last {hours} hours"),
        (_, _, 1) => "the last minute".to_owned(),
        (_, _, minutes) => format!("the last {minutes} minutes"),
    }
}

#[cfg(test)]
mod tests {
    use entity::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn measured(namespace: &str) -> MeasuredBudget {
        MeasuredBudget {
            id: Uuid::nil(),
            namespace: namespace.to_owned(),
            tag: "billing".to_owned(),
            max_missed: Some(0),
            max_failed: None,
            max_stalled: None,
            max_late_ms: None,
            span_ms: HOUR_MS,
            module: None,
            updated_by: "ada".to_owned(),
            updated_at: Timestamp(0),
            missed: 0,
            failed: 0,
            stalled: 0,
            late_ms: None,
        }
    }

    fn judged(measured: MeasuredBudget) -> JudgedBudget {
        JudgedBudget::of(measured, &config::Health::default())
    }

    #[test]
    fn a_budget_takes_the_limits_that_it_lacks_from_the_server() {
        let budget =
            judged(MeasuredBudget { missed: 1, stalled: 5, failed: 99, ..measured("shop") });
        let limits = budget.figures().map(|figure| (figure.limit, figure.own));
        assert_eq!(limits, [(Some(0), Some(0)), (None, None), (Some(5), None), (None, None)]);
        assert!(!budget.is_healthy());
        assert_eq!(
            budget.issues(),
            [
                "1 fire with the tag billing of the namespace shop was missed in the last hour, more \
              than 0"
            ]
        );
    }

    #[test]
    fn late_fires_are_judged_where_a_budget_limits_them() {
        let late = MeasuredBudget {
            max_late_ms: Some(5_000),
            late_ms: Some(12_340),
            span_ms: 15 * MINUTE_MS,
            ..measured("shop")
        };
        assert_eq!(
            judged(late.clone()).issues(),
            [
                "1 % of the fires with the tag billing of the namespace shop were at least 12.3 s late \
              in the last 15 minutes, more than 5 s"
            ]
        );
        assert!(judged(MeasuredBudget { late_ms: None, ..late }).is_healthy());
    }

    #[test]
    fn the_checks_of_a_tag_show_the_worst_namespace_and_hide_its_name() {
        let limits = config::Health::default();
        let rest = HealthFigures { missed: 10, ..HealthFigures::default() };
        let of = |budgets: &[JudgedBudget]| of_tag(&rest, &limits, budgets).swap_remove(0);
        let plain = of(&[]);
        assert!(plain.healthy && plain.value == "10" && plain.limit.as_deref() == Some("10"));
        let well = judged(MeasuredBudget { max_missed: Some(100), missed: 3, ..measured("depot") });
        assert_eq!(of(std::slice::from_ref(&well)).value, "10", "the nearest to its limit");
        let ill = judged(MeasuredBudget { missed: 2, ..measured("shop") });
        let check = of(&[ill, well]);
        assert!(!check.healthy && check.value == "2" && check.limit.as_deref() == Some("0"));
        assert!(check.issue_for(true).unwrap().contains("of the namespace shop"));
        let bare = check.issue_for(false).unwrap();
        assert_eq!(bare, "2 fires were missed in the last hour, more than 0");
    }

    #[test]
    fn a_tag_of_one_namespace_shows_the_limit_of_its_budget() {
        let (rest, limits) = (HealthFigures::default(), config::Health::default());
        let budget = judged(MeasuredBudget { max_late_ms: Some(500), ..measured("shop") });
        let checks = of_tag(&rest, &limits, &[budget]);
        let shown: Vec<_> = checks
            .iter()
            .map(|check| (check.name, &*check.value, check.limit.as_deref()))
            .collect();
        assert_eq!(
            shown,
            [
                ("missed", "0", Some("0")),
                ("failed", "0", None),
                ("stalled", "0", Some("5")),
                ("late", "none", Some("500 ms")),
            ]
        );
    }

    #[test]
    fn exceeded_budgets_are_reported_with_names_to_the_known_and_are_not_unhealthy() {
        assert_eq!(report(&[judged(measured("shop"))]).issue, None);
        let check = report(&[judged(MeasuredBudget { missed: 4, ..measured("shop") })]);
        assert!(check.healthy && check.value == "1");
        assert_eq!(
            check.issue_for(true).unwrap(),
            "1 budget of a tag is exceeded: 4 fires with the tag billing of the namespace shop were \
             missed in the last hour, more than 0"
        );
        assert_eq!(check.issue_for(false).unwrap(), "1 budget of a tag is exceeded");
    }
}
