//! Maintenance windows.

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
    model::{CatchUp, MaintenancePreview, MaintenanceState, MaintenanceWindow, Page, Place},
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
}

/// The input of each operation that takes one.
macro_rules! window_input {
    ($operation:ident, $input:expr) => {{
        let WindowInput { namespace, title, ticket, search, starts_at, ends_at, missed } = $input;
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

pub(crate) fn window(id: String) -> Ask<MaintenanceWindow> {
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
    let input = window_input!(change_maintenance, input);
    Ask::new::<ChangeMaintenance>(change_maintenance::Variables { id, input, key: Some(key) })
}

pub(crate) fn cancel(id: String, reason: String, key: String) -> Ask<String> {
    let variables = cancel_maintenance::Variables { id, reason, key: Some(key) };
    Ask::new::<CancelMaintenance>(variables)
}
