//! Maintenance windows.

use serde_json::Value;

use super::within;
use crate::{
    api::{
        Ask,
        operations::planning::{
            CancelMaintenance, ChangeMaintenance, MaintenanceOne, MaintenanceWindows,
            PlanMaintenance, PreviewMaintenance, cancel_maintenance, change_maintenance,
            maintenance_one, maintenance_windows, plan_maintenance, preview_maintenance,
        },
    },
    model::{
        CatchUp, MaintenanceDetail, MaintenancePreview, MaintenanceState, MaintenanceWindow, Page,
        Place,
    },
    time::Moment,
};

/// A window as its form has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WindowInput {
    pub(crate) namespace: String,
    pub(crate) title: String,
    pub(crate) ticket: Option<String>,
    /// Without it, every schedule of the namespace.
    pub(crate) search: Option<String>,
    pub(crate) starts_at: Moment,
    pub(crate) ends_at: Moment,
    pub(crate) missed: CatchUp,
    /// The bounds as the server wrote them, if they are not changed.
    pub(crate) exact_start: Option<String>,
    pub(crate) exact_end: Option<String>,
}

/// The input of each operation that takes one.
macro_rules! window_input {
    ($operation:ident, $input:expr) => {{
        let WindowInput { namespace, title, ticket, search, starts_at, ends_at, missed, .. } =
            $input;
        $operation::MaintenanceInput {
            namespace,
            title,
            ticket,
            search,
            starts_at,
            ends_at,
            missed,
        }
    }};
}

/// The windows in these states.
pub(crate) fn windows(
    namespace: String,
    states: Vec<MaintenanceState>,
    place: Place,
    size: usize,
) -> Ask<Page<MaintenanceWindow>> {
    let (first, after) = place.forward(size);
    Ask::new::<MaintenanceWindows>(maintenance_windows::Variables {
        namespace: within(namespace),
        states: Some(states),
        first: Some(first),
        after,
    })
}

pub(crate) fn window(id: String) -> Ask<MaintenanceDetail> {
    Ask::new::<MaintenanceOne>(maintenance_one::Variables { id })
}

/// What a window would hold back; nothing is written.
pub(crate) fn preview(input: WindowInput) -> Ask<MaintenancePreview> {
    let input = window_input!(preview_maintenance, input);
    Ask::new::<PreviewMaintenance>(preview_maintenance::Variables { input })
}

pub(crate) fn plan(input: WindowInput, key: String) -> Ask<String> {
    let input = window_input!(plan_maintenance, input);
    Ask::new::<PlanMaintenance>(plan_maintenance::Variables { input, key: Some(key) })
}

pub(crate) fn change(id: String, input: WindowInput, key: String) -> Ask<String> {
    let exact = exact_bounds(input.exact_start.clone(), input.exact_end.clone());
    let input = window_input!(change_maintenance, input);
    let variables = change_maintenance::Variables { id, input, key: Some(key) };
    Ask::new::<ChangeMaintenance>(variables).with("/variables/input", exact)
}

/// The fields of the input whose values the server wrote.
fn exact_bounds(start: Option<String>, end: Option<String>) -> Value {
    let bounds = [("startsAt", start), ("endsAt", end)].into_iter();
    bounds.filter_map(|(field, exact)| Some((field.to_owned(), Value::from(exact?)))).collect()
}

pub(crate) fn cancel(id: String, reason: String, key: String) -> Ask<String> {
    let variables = cancel_maintenance::Variables { id, reason, key: Some(key) };
    Ask::new::<CancelMaintenance>(variables)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_bounds_that_are_not_changed_are_sent_as_the_server_wrote_them() {
        let exact = "2026-12-01T02:00:00.123456Z";
        assert_eq!(exact_bounds(Some(exact.into()), None), json!({ "startsAt": exact }));
        let both = exact_bounds(Some(exact.into()), Some(exact.into()));
        assert_eq!(both, json!({ "startsAt": exact, "endsAt": exact }));
        assert_eq!(exact_bounds(None, None), json!({}));
    }
}
