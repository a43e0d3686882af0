//! The health of the schedules' runs in one line: how many schedules are failing, how many are
//! losing fires, and how many are skipping them for load.

use leptos::prelude::*;

use crate::{model::WorkProblem, route::Route};

pub(super) fn line(problems: &[WorkProblem]) -> AnyView {
    let [failing, losing, skipping] = WorkProblem::schedules(problems);
    if failing + losing + skipping == 0 {
        return view! {
            <p class="work-line" data-testid="work"><span class="badge" data-state="succeeded">"Work"</span>
            <span class="muted">"No schedule is failing, losing fires or skipping them for load."</span></p>
        }
        .into_any();
    }
    let failing = (failing > 0).then(|| {
        let href = Route::Schedules.narrowed(&[("q", "state:failed,timed_out")]);
        let words = said(failing, "schedule fails now", "schedules fail now");
        view! { <a class="bad" href=href>{words}</a> }.into_any()
    });
    let losing = (losing > 0).then(|| {
        let href = Route::Schedules.narrowed(&[("q", "lost:<1d")]);
        let words = said(losing, "schedule loses fires", "schedules lose fires");
        view! { <a class="lost" href=href>{words}</a> }.into_any()
    });
    let skipping = (skipping > 0).then(|| {
        let href = Route::Schedules.narrowed(&[("q", "skipped:<1d")]);
        let words = said(skipping, "schedule skips fires", "schedules skip fires");
        view! { <a class="lost" href=href>{words}</a> }.into_any()
    });
    view! {
        <p class="work-line" data-testid="work"><span class="badge" data-state="failed">"Work"</span>{failing}{losing}{skipping}</p>
    }
    .into_any()
}

fn said(count: usize, one: &str, more: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {more}") }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(in crate::pages::overview) fn problem(schedule: &str, change: &Value) -> WorkProblem {
        let mut problem = json!({
            "id": "p", "kind": "FAILING", "count": 1, "since": "2026-11-26T05:00:00Z", "last": "2026-11-26T06:00:00Z",
            "expected": null, "error": "exit 1", "reason": null, "isOpen": true, "lastRun": null, "acknowledgement": null,
            "schedule": { "id": schedule, "name": schedule, "namespace": "default", "timing": { "zone": "UTC" }, "pause": null },
        });
        problem.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        serde_json::from_value(problem).unwrap()
    }

    #[test]
    fn a_schedule_counts_once_and_only_while_its_problem_is_open() {
        let problems = [
            problem("a", &json!({})),
            problem("a", &json!({ "error": "exit 2" })),
            problem("b", &json!({ "isOpen": false })),
            problem("c", &json!({ "kind": "LOSING_FIRES", "error": null, "reason": "OUTAGE" })),
            problem("d", &json!({ "kind": "SKIPPING_FIRES", "error": null, "reason": "OVERLAP" })),
            problem("d", &json!({ "kind": "SKIPPING_FIRES", "error": null, "reason": "QUOTA" })),
        ];
        assert_eq!(WorkProblem::schedules(&problems), [1, 1, 1]);
        assert_eq!([said(1, "fails", "fail"), said(9, "fails", "fail")], ["1 fails", "9 fail"]);
    }
}
