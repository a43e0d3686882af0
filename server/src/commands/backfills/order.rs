use entity::{
    Timestamp,
    backfill::{ActiveModel, Mode, Order, State},
    fire::Kind,
    schedule::{self, Model as Schedule},
};
use sea_orm::{ActiveEnum, Set};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{FiresPreview, OrderedBackfill, RequestedFires};
use crate::{
    access::{Operator, Viewer},
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    engine::planning::{backfill::Window, planner::kind},
    model::{check, laid_over},
    random::new_id,
};

/// How to run the fires of a backfill.
#[derive(Clone, Debug)]
pub struct BackfillOptions {
    /// The order of the runs.
    pub order: Order,
    /// How many runs may be alive at once, 1 to 100.
    pub concurrency: i64,
    /// Why the backfill is requested.
    pub reason: String,
    /// Context that is merged over the schedule's, key by key.
    pub context: Option<Value>,
}

/// A fire in the form of a backfill's row.
type ListedFire = (Timestamp, Kind);

impl Commands {
    /// Creates a backfill and stores the fires to run. It does not matter whether the schedule is
    /// paused.
    pub async fn create_backfill(
        &self,
        right: &Operator,
        wanted: RequestedFires,
        manner: &BackfillOptions,
        call: &Call,
    ) -> Result<OrderedBackfill, CommandError> {
        let window = self.backfill_window(wanted)?;
        check::number("concurrency", manner.concurrency, 1..=100, "runs at once")?;
        check::reason("reason", &manner.reason)?;
        if let Some(context) = &manner.context {
            check::context("context", context)?;
        }
        // A repeated call gets the first answer, even if the window now contains other fires.
        if let Some(earlier) = self.recall_early(right.who(), call).await? {
            return Ok(earlier);
        }
        // Computed outside the transaction, because ten thousand instants take a while. Changes in
        // the meantime are taken into account when the turn of an instant comes.
        let preview = self.look_at_window(right.permit(), wanted, window).await?;
        check::context("context", &laid_over(&preview.schedule.context, manner.context.as_ref()))?;
        let fires = listed(&preview, manner.order);
        if fires.is_empty() {
            return Err(nothing(&preview, wanted).into());
        }

        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let schedule = self.permitted(&tx, right.permit(), wanted.schedule_id).await?;
        if schedule.version != preview.schedule.version {
            return Err(CommandError::conflict(
                format!("schedule {:?} was edited at this moment", schedule.name),
                "look at the preview again and repeat the call",
            ));
        }
        let ordered = OrderedBackfill { id: new_id(self.clock.now()) };
        let row =
            self.backfill_row(right.who(), ordered.id, &schedule, window, wanted.mode, manner);
        let row = ActiveModel { total: Set(i32::try_from(fires.len()).unwrap_or(i32::MAX)), ..row };
        self.store.insert_backfill(&tx, row, ordered.id, schedule.id, &fires).await?;
        let entry = AuditEntry {
            action: "backfill.create",
            namespace: Some(schedule.namespace_id),
            subject_id: Some(ordered.id),
            subject: &schedule.name,
            reason: Some(manner.reason.trim()),
            before: None,
            after: Some(json!({
                "schedule": schedule.id, "from": window.from, "to": window.to,
                "mode": wanted.mode, "order": manner.order, "concurrency": manner.concurrency,
                "fires": fires.len(),
            })),
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &ordered).await?;
        self.store.commit(tx).await?;
        self.signals.wake_backfill();
        // The planner skipped the schedule while its row was locked.
        self.signals.wake_planner();
        Ok(ordered)
    }

    fn backfill_row(
        &self,
        who: &Viewer,
        id: Uuid,
        schedule: &schedule::Model,
        window: Window,
        mode: Mode,
        manner: &BackfillOptions,
    ) -> ActiveModel {
        ActiveModel {
            id: Set(id),
            namespace_id: Set(schedule.namespace_id),
            schedule_id: Set(schedule.id),
            schedule_version: Set(schedule.version),
            from_at: Set(window.from.into()),
            to_at: Set(window.to.into()),
            mode: Set(mode),
            fire_order: Set(manner.order),
            // The check above limits the value to 100.
            concurrency: Set(i32::try_from(manner.concurrency).unwrap_or(1)),
            state: Set(State::Running),
            reason: Set(manner.reason.trim().to_owned()),
            context: Set(manner.context.clone()),
            created_by: Set(who.name.clone()),
            created_at: Set(self.clock.now().into()),
            ..ActiveModel::default()
        }
    }
}

/// The fires to run, in the order of their turns.
fn listed(preview: &FiresPreview, order: Order) -> Vec<ListedFire> {
    let selected = preview.fires.iter().filter(|looked| looked.selected);
    let mut fires: Vec<ListedFire> =
        selected.map(|looked| (looked.fire.at.into(), kind(looked.fire.kind))).collect();
    match order {
        Order::OldestFirst => {}
        Order::NewestFirst => fires.reverse(),
    }
    fires
}

/// The error for a backfill without any fires to run, with the reason.
fn nothing(preview: &FiresPreview, wanted: RequestedFires) -> BadInput {
    if preview.fires.is_empty() {
        let Schedule { expressions, anchor_at, .. } = &preview.schedule;
        let anchor = anchor_at.utc();
        let is_interval = expressions.0.iter().any(|text| text.trim().starts_with("@every"));
        let help = if is_interval && wanted.to <= anchor {
            format!("@every counts from {}: end the window after that", anchor.to_rfc3339())
        } else {
            "look at the schedule's timing, start and end, and choose another window".to_owned()
        };
        return BadInput::new("from", wanted.from.to_rfc3339(), "no fire is in the window", help);
    }
    let problem = format!("selects none of the window's {} fires", preview.fires.len());
    let help = "look at the preview, and choose another mode or window";
    BadInput::new("mode", wanted.mode.to_value(), problem, help)
}
