//! The dialog that confirms backfills of lost fires. It lists them and asks for a reason.

use leptos::prelude::*;

use crate::{
    api::planning::{self, BackfillOrderOf},
    components::{Field, Look, button},
    data::{Actor, Loading, new_key},
    model::{BackfillMode, BackfillOrder, LedgerRow, Verdict},
    pages::{deferred, kit::on_submit, parts},
    time::Moment,
};

/// A backfill of one schedule's lost fires, from the first to the last instant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Order {
    schedule: String,
    name: String,
    from: Moment,
    to: Moment,
    count: i64,
}

/// One backfill for each schedule that has lost fires among the rows, in their order.
pub(super) fn orders<'a>(rows: impl Iterator<Item = &'a LedgerRow>) -> Vec<Order> {
    let mut orders: Vec<Order> = Vec::new();
    for row in rows.filter(|row| is_lost(row)) {
        let Some(schedule) = &row.more.schedule else { continue };
        let (from, to) = (row.row.scheduled_at, row.row.last_scheduled_at.later(1_000));
        match orders.iter_mut().find(|order| order.schedule == schedule.id) {
            Some(order) => {
                order.from = order.from.min(from);
                order.to = order.to.max(to);
                order.count += row.row.count;
            }
            None => orders.push(Order {
                schedule: schedule.id.clone(),
                name: schedule.name.clone(),
                from,
                to,
                count: row.row.count,
            }),
        }
    }
    orders
}

/// Whether a row's instants have no run although they were not skipped on purpose.
pub(super) fn is_lost(row: &LedgerRow) -> bool {
    match row.row.verdict {
        Verdict::Missed | Verdict::Collapsed | Verdict::Abandoned => row.row.run.is_none(),
        Verdict::Pending | Verdict::Started | Verdict::Skipped => false,
    }
}

/// The dialog, open while there are backfills to confirm.
#[derive(Clone, Copy)]
pub(in crate::pages) struct Backfilling {
    open: RwSignal<bool>,
    orders: StoredValue<Vec<Order>>,
    actor: Actor,
    loading: Loading,
}

impl Backfilling {
    pub(super) fn new(actor: Actor, loading: Loading) -> Self {
        Self { open: RwSignal::new(false), orders: StoredValue::new(Vec::new()), actor, loading }
    }

    pub(super) fn ask(self, orders: Vec<Order>) {
        if !orders.is_empty() {
            self.orders.set_value(orders);
            self.open.set(true);
        }
    }

    pub(super) fn dialog(self) -> AnyView {
        let question = move || parts::backfill_question(self);
        deferred::dialog(self.open, "Backfill lost fires", question)
    }

    fn send(self, orders: &[Order], reason: String) {
        let reason = if reason.trim().is_empty() { "lost fires".to_owned() } else { reason };
        for order in orders {
            let Order { schedule, name, from, to, .. } = order.clone();
            let mode = BackfillMode::Missing;
            let what = BackfillOrderOf { schedule_id: schedule, from, to, mode };
            let oldest_first = BackfillOrder::OldestFirst;
            let reason = reason.clone();
            let change = planning::create_backfill(what, oldest_first, 1, reason, None, new_key());
            let loading = self.loading;
            self.actor
                .act(change, format!("{name} is being backfilled."), move |_| loading.reload());
        }
        self.open.set(false);
    }
}

/// Lists the backfills, and asks for a reason.
pub(in crate::pages) fn question(backfilling: Backfilling) -> AnyView {
    let reason = RwSignal::new(String::new());
    let orders = backfilling.orders.get_value();
    let line = |order: &Order| {
        let fires = if order.count == 1 {
            "1 lost fire".to_owned()
        } else {
            format!("{} lost fires", order.count)
        };
        view! { <li><strong>{order.name.clone()}</strong>" "{fires}</li> }.into_any()
    };
    let lines: Vec<_> = orders.iter().map(line).collect();
    let go = move || backfilling.send(&orders, reason.get_untracked());
    let submit = on_submit(go.clone());
    view! {
        <form class="dialog-form" on:submit=submit>
            <p>"For each schedule, every instant in the range without a run is run now, oldest first, one after the other."</p>
            <ul class="orders">{lines}</ul>
            {Field::new("backfill-reason", "Reason", reason).first().text()}
            <div class="dialog-foot">
                {button(Look::Primary, None, "Backfill", go)}
                {button(Look::Plain, None, "Not now", move || backfilling.open.set(false))}
            </div>
        </form>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn row(schedule: &str, at: &str, change: &Value) -> LedgerRow {
        let mut row = json!({
            "id": "x", "scheduleVersion": 1, "dueAt": at, "claimedAt": at, "decidedAt": at, "node": "a",
            "scheduledAt": at, "lastScheduledAt": at, "local": "", "offset": "", "kind": "NORMAL",
            "verdict": "MISSED", "count": 1, "recoveryAttempts": 0, "run": null, "namespace": "default",
            "reason": { "code": "OUTAGE", "text": "" },
            "schedule": { "id": schedule, "name": schedule, "timing": { "zone": "UTC" } },
        });
        row.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn lost_fires_of_a_schedule_are_one_order() {
        let nothing = json!({});
        let rows = [
            row("a", "2026-11-26T06:00:00Z", &nothing),
            row("b", "2026-11-26T05:30:00Z", &json!({ "verdict": "SKIPPED" })),
            row("a", "2026-11-26T04:00:00Z", &json!({ "count": 3, "verdict": "COLLAPSED" })),
            row("c", "2026-11-26T03:00:00Z", &nothing),
        ];
        let orders = orders(rows.iter());
        let counts: Vec<_> =
            orders.iter().map(|order| (order.name.as_str(), order.count)).collect();
        assert_eq!(counts, [("a", 4), ("c", 1)]);
        assert_eq!(orders[0].to.since(orders[0].from), 2 * 3_600_000 + 1_000);
    }

    #[test]
    fn backfilled_fires_are_not_lost() {
        let run = json!({ "run": {
            "id": "r", "state": "SUCCEEDED", "startedAt": null, "durationMs": 1, "latenessMs": 1, "node": null,
        } });
        assert!(!is_lost(&row("a", "2026-11-26T06:00:00Z", &run)));
        assert!(is_lost(&row("a", "2026-11-26T06:00:00Z", &json!({}))));
    }
}
