//! Who changed what.

use leptos::prelude::*;

use crate::{
    components::{heading, table, when},
    model::{ScheduleDetail, Version},
};

/// The latest versions, newest first.
pub(super) fn versions(schedule: &ScheduleDetail) -> AnyView {
    let headings =
        vec![heading("No.", "number"), heading("Change", ""), heading("By", ""), heading("At", "")];
    let row = |version: &Version| {
        view! {
            <tr>
                <th scope="row" class="number">{version.version}</th>
                <td>{version.change.clone()}</td>
                <td>{version.by.clone()}</td>
                <td>{when(version.at, schedule.row.zone())}</td>
            </tr>
        }
        .into_any()
    };
    let rows: Vec<_> = schedule.more.versions.nodes.iter().map(row).collect();
    table("Versions", "table table-tight", headings, rows.into_any())
}
