//! How long a namespace keeps settled history, and how much space another number of days would
//! free.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::{
    super::kit::{Change, form, of},
    bytes,
};
use crate::{
    api,
    components::{AsyncView, Field, Look, when},
    data::{Loading, use_load},
    model::Failure,
    model::{Namespace, RetentionPreview},
};

/// How long to wait after a key before the server is asked, because it must count rows for the
/// answer.
const PAUSE: Duration = Duration::from_millis(800);

pub(super) fn form_of(row: &Namespace, open: RwSignal<bool>, loading: Loading) -> AnyView {
    let days = RwSignal::new(row.retention_days.map(|days| days.to_string()).unwrap_or_default());
    let wrong = RwSignal::new(None);
    let name = row.name.clone();
    let asked = name.clone();
    let now = use_load(move || Some(api::settings::retention(asked.clone())));
    let settled = RwSignal::new(None::<i64>);
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    Effect::new(move |_| {
        let typed = days.get().trim().parse::<i64>().ok().filter(|days| (1..=3650).contains(days));
        let chosen = typed.or_else(|| now.with(|now| now.effective_days));
        stop();
        timer.set_value(set_timeout_with_handle(move || settled.set(chosen), PAUSE).ok());
    });
    on_cleanup(stop);
    let asked = name.clone();
    let preview =
        use_load(move || Some(api::settings::retention_preview(asked.clone(), settled.get()?)));
    let own = now.draw(|now| {
        let count = now.schedules.len();
        let words = match count {
            0 => format!("It keeps {} days now.", now.effective_days),
            count => format!(
                "It keeps {} days now; {count} schedules have their own setting.",
                now.effective_days
            ),
        };
        view! { <p>{words}</p> }.into_any()
    });
    let fields = view! {
        {own}
        {Field::new("retention-days", "Days", days).kind("number").first().error(of(wrong, "days"))
            .hint("1 to 3650. Empty: the server's configuration applies.").text()}
        <section class="freed" aria-label="What the next round would remove" data-testid="freed">
            <AsyncView loading=preview.loading what="what it would free">{preview.draw(freed)}</AsyncView>
        </section>
    };
    let plan = move |_| {
        let text = days.get_untracked();
        let number = Some(text.trim()).filter(|text| !text.is_empty()).map(str::parse::<i64>);
        let wrong = |_| Failure::of_field("days", "Enter a whole number of days, or nothing.");
        let days = number.transpose().map_err(wrong)?;
        let said =
            format!("The retention of {name} is set. Older history is removed by the next round.");
        Ok(Change { ask: api::settings::set_retention(name.clone(), days), said })
    };
    let done = move |_| loading.reload();
    form(open, (Look::Danger, "Set retention"), wrong, fields.into_any(), plan, done)
}

fn freed(preview: &RetentionPreview) -> AnyView {
    let (rows, size) = preview
        .tables
        .iter()
        .fold((0, 0), |(rows, size), table| (rows + table.rows, size + table.estimated_bytes));
    if rows == 0 {
        return view! { <p>"The next round removes nothing."</p> }.into_any();
    }
    let line = |table: &crate::model::Figure| {
        let newest = table.newest.map(|at| view! { ", the newest of "{when(at, None)} }.into_any());
        view! { <li>{format!("{} {} ({})", table.rows, table.table, bytes(table.estimated_bytes))}{newest}</li> }
            .into_any()
    };
    let lines: Vec<_> = preview.tables.iter().map(line).collect();
    view! {
        <p><strong>{format!("The next round removes {rows} rows and frees about {}.", bytes(size))}</strong></p>
        <ul class="plain-list">{lines}</ul>
    }
    .into_any()
}
