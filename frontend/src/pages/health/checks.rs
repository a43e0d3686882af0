//! Every health check with its limit, and the versions of the server's parts.

use leptos::prelude::*;

use super::findings::counted;
use crate::{
    components::{Mark, badge, fact, heading, table},
    model::{Check, Health},
};

/// The table of the checks. `namespace` is the measured namespace; `None` if all were measured.
pub(super) fn checks(health: &Health, namespace: Option<&str>) -> AnyView {
    let headings = vec![
        heading("State", ""),
        heading("Check", ""),
        heading("Value", ""),
        heading("Limit", ""),
    ];
    let rows: Vec<_> = health.checks.iter().map(|check| row(check, namespace)).collect();
    table("Checks", "table", headings, rows.into_any())
}

fn row(check: &Check, namespace: Option<&str>) -> AnyView {
    let mark = Mark::Healthy(check.healthy);
    let name = words(&check.name);
    let name = match counted(&check.name) {
        Some(listed) => view! { <a href=listed.href(namespace)>{name}</a> }.into_any(),
        None => name.into_any(),
    };
    view! {
        <tr data-testid="check-row" data-state=mark.state()>
            <td>{badge(mark)}</td>
            <th scope="row">{name}</th>
            <td>{check.value.clone()}</td>
            <td>{check.limit.clone().unwrap_or_else(|| "–".to_owned())}</td>
        </tr>
    }
    .into_any()
}

pub(super) fn made_of(health: &Health) -> AnyView {
    view! {
        <dl class="facts">
            {fact("Version", health.version.clone())}
            {fact("Database", health.database.clone())}
            {fact("Zone data", format!("{} ({})", health.zone_data.version, health.zone_data.source))}
        </dl>
    }
    .into_any()
}

/// Converts a check's name to words: `pending_handoffs` becomes `Pending handoffs`.
fn words(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase()).unwrap_or_default();
    format!("{first}{}", letters.as_str().replace('_', " "))
}
