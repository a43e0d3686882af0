//! The pages: each loads its data, follows changes, and arranges components.
//!
//! Filters and cursors are in the address, so a view can be bookmarked and sent to a colleague. A page gets its data
//! from queries; events are merged into that data, or make the page load it again.

mod actions;
mod alert_rules;
mod alerts;
mod audit;
mod backfills;
mod bulk;
mod calendars;
mod choose_password;
mod cluster;
mod deferred;
mod feeds;
mod filters;
#[cfg(debug_assertions)]
mod gallery;
mod groups;
mod guard;
mod health;
mod kit;
mod ledger;
mod maintenance;
mod metrics;
mod modules;
mod namespaces;
mod narrowing;
mod not_found;
mod overview;
mod parts;
mod people;
mod profile;
mod run;
mod run_actions;
mod runs;
mod schedule;
mod schedule_form;
mod schedules;
mod secrets;
mod sign_in;
mod steps;
mod suggest;
mod task_form;
mod timeline;
mod tokens;
mod upcoming;
mod views;
mod watch;
mod what_if;
mod workflows;

pub(crate) use alert_rules::{AlertRules, EditAlertRule, NewAlertRule};
pub(crate) use alerts::Alerts;
pub(crate) use audit::Audit;
pub(crate) use backfills::{Backfill, Backfills, NewBackfill};
pub(crate) use calendars::{Calendars, EditCalendar, NewCalendar};
pub(crate) use choose_password::choose_password;
pub(crate) use cluster::Cluster;
pub(crate) use feeds::Feeds;
#[cfg(debug_assertions)]
pub(crate) use gallery::Gallery;
pub(crate) use groups::Groups;
pub(crate) use guard::{NotAllowed, needed_role};
pub(crate) use health::Health;
pub(crate) use ledger::Ledger;
pub(crate) use maintenance::{EditMaintenance, Maintenance, MaintenanceWindow, NewMaintenance};
pub(crate) use metrics::Metrics;
pub(crate) use modules::{DeployModule, Module, Modules};
pub(crate) use namespaces::Namespaces;
pub(crate) use not_found::NotFound;
pub(crate) use overview::Overview;
pub(crate) use parts::page;
pub(crate) use people::People;
pub(crate) use profile::Profile;
pub(crate) use run::Run;
pub(crate) use runs::Runs;
pub(crate) use schedule::Schedule;
pub(crate) use schedule_form::{EditSchedule, NewSchedule};
pub(crate) use schedules::Schedules;
pub(crate) use secrets::Secrets;
pub(crate) use sign_in::sign_in;
pub(crate) use timeline::Timeline;
pub(crate) use tokens::Tokens;
pub(crate) use upcoming::Upcoming;
pub(crate) use what_if::WhatIf;
pub(crate) use workflows::{EditWorkflow, NewWorkflow, Workflow, Workflows};

use leptos::prelude::*;

use crate::{components::Kept, model::Place, state::Address};

/// The place that the address names in a list; tracked.
fn place(address: Address) -> Place {
    match (address.query("after"), address.query("before")) {
        (after, before) if after.is_empty() && before.is_empty() => Place::First,
        (after, before) if after.is_empty() => Place::Before(before),
        (after, _) => Place::After(after),
    }
}

/// A place as two parameters of a query string.
fn cursors(place: &Place) -> [(&str, &str); 2] {
    match place {
        Place::First => [("after", ""), ("before", "")],
        Place::After(cursor) => [("after", cursor), ("before", "")],
        Place::Before(cursor) => [("after", ""), ("before", cursor)],
    }
}

/// A text that is stored in the address under a name, such as an order, columns or a tab. Changing it returns the
/// list to its first page.
fn kept(address: Address, name: &'static str) -> Kept {
    let value = Memo::new(move |_| address.query(name));
    let change = move |text: String| {
        address.replace(&address.with(&[(name, &text), ("after", ""), ("before", "")]));
    };
    Kept { value: value.into(), change: Callback::new(change) }
}
