//! The quotas of a namespace.

use leptos::prelude::*;

use super::super::kit::{Change, form, of};
use crate::{
    api::{self, settings::set_namespace_quotas::NamespaceQuotasInput},
    components::{Field, Look},
    data::Loading,
    model::{Failure, Namespace, Quota},
};

/// The form of all quotas: an empty field inherits the server's setting, 0 is unlimited.
pub(super) fn form_of(row: &Namespace, open: RwSignal<bool>, loading: Loading) -> AnyView {
    let text =
        |quota: Quota| RwSignal::new(quota.own.map(|own| own.to_string()).unwrap_or_default());
    let (schedules, fires) = (text(row.quotas.schedules), text(row.quotas.fires_a_minute));
    let (runs, log) = (text(row.quotas.live_runs), text(row.quotas.log_bytes_a_day));
    let (of_run, kept) = (text(row.quotas.log_bytes_a_run), text(row.quotas.log_bytes));
    let history = text(row.quotas.history_rows);
    let wrong = RwSignal::new(None);
    let namespace = row.name.clone();
    let field = |id: &'static str, label: &'static str, value, name| {
        Field::new(id, label, value).kind("number").error(of(wrong, name)).text()
    };
    let fields = view! {
        <p>"Empty: the server's configuration applies. 0: unlimited. Lowering a limit removes nothing that exists, but prevents more; only history rows over theirs are removed, the oldest first."</p>
        <div class="field-grid">
            {field("quota-schedules", "Schedules", schedules, "schedules")}
            {field("quota-fires", "Fires a minute", fires, "firesAMinute")}
            {field("quota-runs", "Live runs", runs, "liveRuns")}
            {field("quota-log", "Bytes of log a day", log, "logBytesADay")}
            {field("quota-log-run", "Bytes of log a run", of_run, "logBytesARun")}
            {field("quota-log-kept", "Bytes of log kept", kept, "logBytes")}
            {field("quota-history", "History rows", history, "historyRows")}
        </div>
    };
    let plan = move |_| {
        let read = |field: &str, text: RwSignal<String>| {
            let text = text.get_untracked();
            let value = Some(text.trim()).filter(|text| !text.is_empty()).map(str::parse::<i64>);
            let wrong = |_| Failure::of_field(field, "Enter a whole number, or nothing.");
            value.transpose().map_err(wrong)
        };
        let quotas = NamespaceQuotasInput {
            schedules: read("schedules", schedules)?,
            fires_a_minute: read("firesAMinute", fires)?,
            live_runs: read("liveRuns", runs)?,
            log_bytes_a_day: read("logBytesADay", log)?,
            log_bytes_a_run: read("logBytesARun", of_run)?,
            log_bytes: read("logBytes", kept)?,
            history_rows: read("historyRows", history)?,
        };
        let said = format!("The quotas of {namespace} are set.");
        Ok(Change { ask: api::settings::set_quotas(namespace.clone(), quotas), said })
    };
    let done = move |_| loading.reload();
    form(open, (Look::Primary, "Set quotas"), wrong, fields.into_any(), plan, done)
}
