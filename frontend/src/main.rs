//! The console: a Leptos single-page app over the GraphQL API of `server/schema.graphql`.
//!
//! It promises operators that the screen shows the contents of the database without a reload: queries fill lists, and
//! subscriptions keep them current. The console must never compute when a schedule fires. Every next fire, every
//! description of a timing and every warning comes from the server, even while the user types.
//!
//! - `route`: every address, in one enum
//! - `app`: the pages, or the sign-in page
//! - `frame`: the parts around every page
//! - `pages`: load data and arrange components
//! - `components`: draw values
//! - `data`: loads, subscriptions and changes of pages
//! - `api`: the requests to the server
//! - `state`: state that outlives a page
//! - `model`: the types of the API's answers
//! - `time`: wall clocks, and times in words
//!
//! # Hooks for browser tests
//!
//! Tests find elements as users do, by role and accessible name:
//!
//! - sign-in: heading `Sign in`, fields `Name` and `Password`, button `Sign in`
//! - after a one-time password: heading `Choose your password`, fields `New password` and `New password, again`, button
//!   `Set password`
//! - navigation: links `Overview`, `Schedules`, `Runs`; `New schedule`; buttons `Sign out`, `Keyboard shortcuts`
//! - groups of radios `Time zone of all times` (`UTC`, `Schedule's`, `Mine`) and `Theme` (`System`, `Light`, `Dark`)
//! - schedule form: fields `Name`, `Expression 1`, `Time zone`, `Script`, `URL`, ..., radios `Command`, `HTTP request`,
//!   `Nothing, a rehearsal`, `An existing workflow`; the error of field `x` is in `#x-error`; button
//!   `Create schedule` or `Save changes`
//! - schedule: buttons `Run now`, `Run with …`, `Pause`, `Resume`, `Delete`, link `Edit`; dialogs
//!   `Run with other values`, `Pause schedule`, `Resume schedule`, `Delete schedule`, each with a button of the action
//! - tables by their caption: `Next fires`, `Fire ledger`, `Run history`, `Versions`, `Attempts`, `Schedules`, `Runs`
//! - run: buttons `Cancel run`, `Run again`, `Over time`, `Graph`, checkboxes `Wrap` and `Follow`, log with role `log`,
//!   field `Search the log`
//! - charts: images named by their summary, such as `Runs that ended: 12 succeeded`
//!
//! States are in `data-state` (`running`, `succeeded`, `paused`, ...). Where a name is not enough there are test ids:
//! `connection` (its `data-state` is `live` when events arrive), `schedule-state`, `run-state`, `preview` (the fires
//! shown while typing; `preview-description`, `preview-warnings`), `ledger-row`, `run-row`, `schedule-row`,
//! `log-line`, `never-fires`, `problem`, `next-schedule`, `node-tile`, `finding`, `check-row`, `audit-row`,
//! `task-row`.

#![expect(unreachable_pub, reason = "the component macro makes its twin of each component `pub`")]
#![expect(
    clippy::redundant_closure,
    reason = "a closure written into a view shares its code with all of its kind; a named one is \
              compiled for itself"
)]

mod api;
mod app;
mod components;
mod data;
mod frame;
mod model;
mod pages;
mod route;
mod state;
mod time;

fn main() {
    leptos::mount::mount_to_body(app::App);
}
