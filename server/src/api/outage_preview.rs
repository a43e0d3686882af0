//! What each catch-up policy would do about a time in which no scheduler runs, past or future.
//! Computed by the functions of the planner's claims.

use std::collections::HashMap;

use async_graphql::{Context, Object};
use chrono::{DateTime, Utc};
use entity::{
    Timestamp,
    schedule::{self, Model},
};
use uuid::Uuid;

use super::{
    calm::Calm,
    context::ContextExt,
    error::Result,
    filters::sought,
    loaders::ScheduleRow,
    outage::{OutageCounts, OutagePreview, OutageSchedule, OutageTotals, POLICIES},
    page::{Paging, bounded_by, cost_by, search_cost},
    query::{name_cursor, name_key, namespace_id},
    scalar::Instant,
    schedule_policy::CatchUp,
};
use crate::{
    commands::{BadInput, CommandError, schedules::outage_preview::is_paused_for},
    search::SearchedList,
    store::{
        Page,
        reads::{
            outcomes::{self, Outcomes},
            schedules,
            within::Within,
        },
    },
};

/// Maximum number of schedules in one preview.
const MAX_SCHEDULES: i32 = 100;

/// Previews of outages.
#[derive(Default)]
pub(super) struct ReadingOutages;

/// Previews of outages.
#[Object]
impl ReadingOutages {
    /// What each catch-up policy would do about the instants of schedules if no scheduler ran from
    /// `from` until `to`. A range in the past is shown beside what the ledger holds. Schedules are
    /// taken as they are now. It is assumed that no run of them is live when the outage ends, and
    /// that no quota is used up.
    #[graphql(
        complexity = "5_000 + search_cost(search.as_deref()) + cost_by(first, MAX_SCHEDULES, child_complexity)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments of a filtered list, and a range")]
    async fn outage_preview(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace of the schedules.")] namespace: String,
        #[graphql(
            desc = "Only schedules that match this search, in the language of docs/search.md."
        )]
        search: Option<String>,
        #[graphql(desc = "Only this schedule, in any namespace; instead of `search`.")]
        schedule_id: Option<Uuid>,
        #[graphql(desc = "When the outage begins, inclusive: at most 366 days ago or ahead.")]
        from: Instant,
        #[graphql(desc = "When a scheduler runs again: at most 31 days after `from`.")] to: Instant,
        #[graphql(desc = "The policies to compare; all three if absent.")] policies: Option<
            Vec<CatchUp>,
        >,
        #[graphql(default = 50, desc = "The number of schedules, 1 to 100.")] first: i32,
        #[graphql(desc = "Only schedules after this `endCursor`.")] after: Option<String>,
    ) -> Result<OutagePreview> {
        cx.viewer()?;
        bounded_by("first", first, MAX_SCHEDULES)?;
        let policies = compared(policies)?;
        let (namespace, page) = match (schedule_id, search) {
            (Some(_), Some(search)) => {
                let help = "give one of the two";
                let problem = "is given together with 'scheduleId'";
                return Err(BadInput::new("search", search, problem, help).into());
            }
            (Some(id), None) => {
                let row = named(cx, id).await?;
                let namespace = row.namespace_id;
                let rows = vec![row];
                (namespace, Page { rows, has_previous: false, has_next: false, total: None })
            }
            (None, search) => {
                let namespace = namespace_id(cx, &namespace).await?;
                let within = Within::One(namespace);
                let search = sought(cx, &within, SearchedList::Schedules, search)?;
                let filter = schedules::Filter { search, ..schedules::Filter::default() };
                let window = Paging::forward(Some(first), after).window(name_key)?;
                let page = schedules::page(cx.store(), &within, &filter, false, &window).await?;
                (namespace, page)
            }
        };
        preview(cx, namespace, page, from.0, to.0, &policies).await
    }
}

/// The policies to compare, each once.
fn compared(
    policies: Option<Vec<CatchUp>>,
) -> std::result::Result<Vec<schedule::CatchUp>, BadInput> {
    let all = || vec![CatchUp::Skip, CatchUp::Latest, CatchUp::All];
    let mut distinct: Vec<CatchUp> = Vec::with_capacity(POLICIES);
    for policy in policies.unwrap_or_else(all) {
        if !distinct.contains(&policy) {
            distinct.push(policy);
        }
    }
    if distinct.is_empty() {
        let help = "give at least one, or leave it out";
        return Err(BadInput::new("policies", "", "are missing", help));
    }
    Ok(distinct.into_iter().map(Into::into).collect())
}

/// The schedule with this id, which must exist for the caller.
async fn named(cx: &Context<'_>, id: Uuid) -> Result<Model> {
    let row = cx.rows().load_one(ScheduleRow(id)).await?;
    let row = row.filter(|row| row.deleted_at.is_none());
    let row = row.ok_or_else(|| CommandError::not_found("schedule", id))?;
    cx.at_home(Some(row.namespace_id), "schedule", id)?;
    Ok(row)
}

/// The preview of an outage for a page of schedules of one namespace.
async fn preview(
    cx: &Context<'_>,
    namespace: Uuid,
    page: Page<Model>,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    policies: &[schedule::CatchUp],
) -> Result<OutagePreview> {
    let (right, commands) = (cx.viewer()?, cx.commands());
    let now = commands.clock.now();
    let Page { rows, has_next, .. } = page;
    let preview = commands.outage_preview(&right, namespace, &rows, from, to, policies);
    let mut outages = preview.await?;
    let mut held = ledger(cx, &rows, from, to.min(now)).await?;
    let last = rows.last().map(|row| name_cursor(row.id, &row.name));
    let mut schedules = Vec::with_capacity(rows.len());
    for row in rows {
        schedules.push(OutageSchedule {
            outage: outages.remove(&row.id),
            is_paused: is_paused_for(&row, from, to, now),
            outcomes: held.as_mut().map(|held| held.remove(&row.id).unwrap_or_else(no_rows)),
            row,
            to,
        });
    }
    let expected: u64 = schedules.iter().flat_map(|one| &one.outage).map(|it| it.expected).sum();
    Ok(OutagePreview {
        from: from.into(),
        to: to.into(),
        expected: expected.into(),
        totals: policies.iter().map(|policy| totals(&schedules, *policy)).collect(),
        own: own(&schedules, policies),
        schedules: schedules.into_iter().map(Calm).collect(),
        end_cursor: last.filter(|_| has_next),
        has_more: has_next,
    })
}

fn no_rows() -> Outcomes {
    Outcomes { is_complete: true, ..Outcomes::default() }
}

/// What the ledger holds for the part of the outage that is over, if it is asked for.
async fn ledger(
    cx: &Context<'_>,
    rows: &[Model],
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Option<HashMap<Uuid, Outcomes>>> {
    let is_asked = cx.look_ahead().field("schedules").field("ledger").exists();
    if !is_asked || until <= from {
        return Ok(None);
    }
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let (from, until) = (Timestamp::from(from), Timestamp::from(until));
    Ok(Some(outcomes::of_schedules(cx.store(), &ids, from, until).await?))
}

/// The effect of a policy on all schedules.
fn totals(schedules: &[OutageSchedule], policy: schedule::CatchUp) -> OutageTotals {
    let mut counts = OutageCounts::default();
    for effect in schedules.iter().filter_map(|one| one.effect(policy)) {
        counts.add(effect);
    }
    OutageTotals { catch_up: policy.into(), counts }
}

/// The effect of the schedules' own policies, if all of them are compared.
fn own(schedules: &[OutageSchedule], policies: &[schedule::CatchUp]) -> Option<OutageCounts> {
    let mut counts = OutageCounts::default();
    for one in schedules {
        if !policies.contains(&one.row.catch_up) {
            return None;
        }
        if let Some(effect) = one.effect(one.row.catch_up) {
            counts.add(effect);
        }
    }
    Some(counts)
}
