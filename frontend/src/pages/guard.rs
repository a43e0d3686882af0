//! Guards the forms: a user whose role is too low is told the required role, instead of filling in a form for
//! nothing.

use leptos::prelude::*;

use crate::{
    model::Role,
    route::Route,
    state::{use_address, use_session, use_title},
};

/// The role without which a page is of no use. Pages that show something to every user need none; the actions on them
/// depend on the role.
pub(crate) fn needed_role(route: &Route) -> Option<Role> {
    match route {
        Route::NewSchedule
        | Route::EditSchedule(_)
        | Route::NewCalendar
        | Route::NewWorkflow
        | Route::EditWorkflow(_)
        | Route::DeployModule
        | Route::NewAlertRule
        | Route::EditAlertRule(_) => Some(Role::Editor),
        Route::NewBackfill | Route::NewMaintenance | Route::EditMaintenance(_) => {
            Some(Role::Operator)
        }
        Route::Overview
        | Route::Runs
        | Route::Timeline
        | Route::Run(_)
        | Route::Schedules
        | Route::Schedule(_)
        | Route::Cluster
        | Route::Ledger
        | Route::Metrics
        | Route::Health
        | Route::Audit
        | Route::Alerts
        | Route::Upcoming
        | Route::WhatIf
        | Route::Backfills
        | Route::Backfill(_)
        | Route::Calendars
        | Route::EditCalendar(_)
        | Route::Maintenance
        | Route::MaintenanceWindow(_)
        | Route::Workflows
        | Route::Workflow(_)
        | Route::Groups
        | Route::Modules
        | Route::Module(_)
        | Route::Profile
        | Route::People
        | Route::Tokens
        | Route::Secrets
        | Route::AlertRules
        | Route::Namespaces
        | Route::Feeds => None,
    }
}

/// The words for the users who have at least a role.
fn holders(needed: Role) -> &'static str {
    match needed {
        Role::Viewer => "Everyone in it has it",
        Role::Operator => "Its operators, editors and administrators have it",
        Role::Editor => "Its editors and administrators have it",
        Role::Admin => "Its administrators have it",
    }
}

/// Shown instead of a page that needs a higher role.
#[component]
pub(crate) fn NotAllowed(needed: Role, route: Route) -> impl IntoView {
    use_title(|| "Not allowed".to_owned());
    let (address, session) = (use_address(), use_session());
    let (namespace, role) = untrack(|| (address.namespace(), session.role()));
    let place = if namespace.is_empty() { "any namespace".to_owned() } else { namespace };
    let own = match role {
        Some(role) => format!("Your role in {place} is {}.", role.word()),
        None => format!("You have no role in {place}."),
    };
    let words = format!(
        "{own} {}, and its administrators give it under People and roles.",
        holders(needed)
    );
    let ways = view! {
        <p class="actions">
            <a class="button" href=route.care().path()>"Back to the list"</a>
            <a class="button" href=Route::Profile.path()>"Your roles"</a>
        </p>
    };
    view! {
        <div class="page-narrow not-allowed" data-testid="not-allowed">
            <h1>{format!("This page needs the role {}", needed.word())}</h1>
            <p>{words}</p>
            {ways}
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_need_a_role_and_what_they_list_does_not() {
        assert_eq!(needed_role(&Route::NewSchedule), Some(Role::Editor));
        assert_eq!(needed_role(&Route::NewBackfill), Some(Role::Operator));
        assert_eq!(needed_role(&Route::NewMaintenance), Some(Role::Operator));
        // The page is shown to every user, but only editors may save.
        assert_eq!(needed_role(&Route::EditCalendar("x".to_owned())), None);
        for route in [Route::NewSchedule, Route::NewBackfill, Route::DeployModule] {
            assert_eq!(needed_role(&route.care()), None);
        }
    }
}
