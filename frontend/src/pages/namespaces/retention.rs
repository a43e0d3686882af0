//! How long a namespace keeps settled history, and how much space another number of days would
//! free.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::{
    super::kit::{Change, days_choice, form, of},
    bytes,
};
use crate::{
    api,
    components::{AsyncView, Field, Look, live, when},
    data::{Loading, use_load},
    model::{Failure, Namespace, RetentionPreview},
    time::amount,
};

/// How long to wait after a key before the server is asked, because it must count rows for the
/// answer.
const PAUSE: Duration = Duration::from_millis(800);

/// How long the namespace is to keep its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Days {
    /// As long as the server's configuration says.
    Inherited,
    Own(i64),
}

impl Days {
    /// What the field says; `None` if the server would refuse it.
    fn typed(text: &str) -> Option<Self> {
        match text.trim() {
            "" => Some(Self::Inherited),
            text => {
                let days = text.parse::<i64>().ok().filter(|days| (1..=3650).contains(days));
                days.map(Self::Own)
            }
        }
    }

    fn number(self) -> Option<i64> {
        match self {
            Self::Inherited => None,
            Self::Own(days) => Some(days),
        }
    }
}

pub(super) fn form_of(row: &Namespace, open: RwSignal<bool>, loading: Loading) -> AnyView {
    let days = RwSignal::new(row.retention_days.map(|days| days.to_string()).unwrap_or_default());
    let wrong = RwSignal::new(None);
    let name = row.name.clone();
    let asked = name.clone();
    let now = use_load(move || Some(api::settings::retention(asked.clone())));
    let typed = Memo::new(move |_| Days::typed(&days.get()));
    let settled = RwSignal::new(None::<Days>);
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    Effect::new(move |_| {
        let typed = typed.get();
        stop();
        timer.set_value(set_timeout_with_handle(move || settled.set(typed), PAUSE).ok());
    });
    on_cleanup(stop);
    let asked = name.clone();
    let preview = live(move || match typed.get() {
        Some(days) => freed_by(asked.clone(), days, settled),
        None => {
            let words =
                "Enter 1 to 3650 days, or nothing, to see what the next round would remove.";
            view! { <p class="muted">{words}</p> }.into_any()
        }
    });
    let own = now.draw(|now| {
        let count = now.schedules.len();
        let days = days_choice(now.effective_days);
        let words = match count {
            0 => format!("It keeps {days} now."),
            1 => format!("It keeps {days} now; 1 schedule has its own setting."),
            count => format!("It keeps {days} now; {count} schedules have their own setting."),
        };
        view! { <p>{words}</p> }.into_any()
    });
    let fields = view! {
        {own}
        {Field::new("retention-days", "Days", days).kind("number").first().error(of(wrong, "days"))
            .hint("1 to 3650. Empty: the server's configuration applies.").text()}
        <section class="freed" aria-label="What the next round would remove" data-testid="freed">
            {preview}
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

/// What the next round would remove with these days, once the user has stopped typing. Each number of days has a part of
/// its own, so that the answer for one is not shown for another, which may remove far more.
fn freed_by(namespace: String, days: Days, settled: RwSignal<Option<Days>>) -> AnyView {
    let preview = use_load(move || {
        let is_settled = settled.get() == Some(days);
        is_settled.then(|| api::settings::retention_preview(namespace.clone(), days.number()))
    });
    view! { <AsyncView loading=preview.loading what="what it would free">{preview.draw(freed)}</AsyncView> }
        .into_any()
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
        <p><strong>{format!("The next round removes {} and frees about {}.", amount(rows, "row", "rows"), bytes(size))}</strong></p>
        <ul class="plain-list">{lines}</ul>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::Days;

    #[test]
    fn an_empty_field_inherits_and_a_number_that_is_refused_is_not_asked_about() {
        assert_eq!(Days::typed(" "), Some(Days::Inherited));
        assert_eq!(Days::typed(" 30"), Some(Days::Own(30)));
        assert_eq!(["0", "3651", "a week"].map(Days::typed), [None; 3]);
    }
}
