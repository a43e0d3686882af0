use async_graphql::{Context, InputObject, Object, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    filters::{distinct, sought_schedules},
    fire::{Fire, ReasonCode, Verdict},
    loaders::ScheduleRow,
    page::{Connection, DECLARED, Paging, connection, cost, search_cost},
    query::within,
    scalar::{Instant, Long},
};
use crate::{
    commands::BadInput,
    store::reads::{ledger, within::Within},
};

/// The cost of counting the ledger, in addition to the answer.
const COUNTED: usize = 5_000;
/// Maximum number of schedules in one filter.
const MAX_SCHEDULES: usize = 100;
/// The range of the totals if there is no `after`.
const USUAL: TimeDelta = TimeDelta::hours(24);

/// Queries of the ledger across schedules.
#[derive(Default)]
pub(super) struct ReadingLedger;

/// Queries of the ledger across schedules.
#[Object]
impl ReadingLedger {
    /// The ledger of one namespace, or of all that the caller may see; newest first by scheduled
    /// time.
    #[graphql(complexity = "search_cost(search.as_deref()) + cost(first, last, child_complexity)")]
    async fn ledger(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "If absent, all namespaces that you may see.")] namespace: Option<String>,
        #[graphql(desc = "Only fires that match this filter.")] filter: Option<LedgerFilter>,
        #[graphql(
            desc = "A search that selects schedules, in the language of docs/search.md, such as \
                    `tag:billing -zone:UTC`."
        )]
        search: Option<String>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
        #[graphql(
            desc = "The page size, 1 to 200, to page from the end of the list; instead of `first`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only entries before this cursor of the list.")] before: Option<String>,
    ) -> Result<Connection<Fire>> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let filter = filter.unwrap_or_default().read(cx, search).await?;
        let window = Paging { first, after, last, before }.window(key)?;
        let page = ledger::page(cx.store(), &within, &filter, &window).await?;
        let cursor =
            |row: &entity::fire::Model| format!("{}.{}", row.scheduled_at.0, row.id.simple());
        Ok(connection(page, cursor, Fire))
    }

    /// How many instants the same filter matches, by verdict and reason.
    #[graphql(complexity = "COUNTED + child_complexity")]
    async fn ledger_totals(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "If absent, all namespaces that you may see.")] namespace: Option<String>,
        #[graphql(desc = "Only fires that match this filter.")] filter: Option<LedgerFilter>,
        #[graphql(desc = "A search that selects schedules, in the language of docs/search.md.")]
        search: Option<String>,
    ) -> Result<LedgerTotals> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let filter = filter.unwrap_or_default().read(cx, search).await?;
        LedgerTotals::count(cx, &within, filter).await
    }
}

/// The cursor of a page of the ledger.
fn key(text: &str) -> Option<ledger::Key> {
    let (at, id) = text.split_once('.')?;
    Some((Timestamp(at.parse().ok()?), Uuid::try_parse(id).ok()?))
}

/// Selects fires of the ledger.
#[derive(InputObject, Default)]
pub(super) struct LedgerFilter {
    /// Only fires with one of these verdicts.
    verdicts: Option<Vec<Verdict>>,
    /// Only fires with one of these reasons.
    reasons: Option<Vec<ReasonCode>>,
    /// Only fires of these schedules: 1 to 100.
    schedule_ids: Option<Vec<Uuid>>,
    /// Scheduled at this instant or later. Without it the totals count the last 24 hours.
    after: Option<Instant>,
    /// Scheduled before this instant.
    before: Option<Instant>,
}

impl LedgerFilter {
    async fn read(self, cx: &Context<'_>, search: Option<String>) -> Result<ledger::Filter> {
        if let Some(ids) = &self.schedule_ids {
            may_see(cx, ids).await?;
        }
        Ok(ledger::Filter {
            verdicts: self.verdicts.map(distinct),
            reasons: self.reasons.map(distinct),
            schedules: self.schedule_ids,
            after: self.after.map(Into::into),
            before: self.before.map(Into::into),
            search: sought_schedules(cx, search)?,
        })
    }
}

/// Refuses schedules that do not exist for the caller.
async fn may_see(cx: &Context<'_>, ids: &[Uuid]) -> Result<()> {
    if !(1..=MAX_SCHEDULES).contains(&ids.len()) {
        let help = format!("give 1 to {MAX_SCHEDULES}");
        return Err(BadInput::new("scheduleIds", ids.len(), "are too many or none", help).into());
    }
    let rows = cx.rows().load_many(ids.iter().copied().map(ScheduleRow)).await?;
    for id in ids {
        let namespace = rows.get(&ScheduleRow(*id)).map(|row| row.namespace_id);
        cx.at_home(namespace, "schedule", *id)?;
    }
    Ok(())
}

/// Counts of instants in the ledger: `expected` is always `ran + skipped + missed + open`.
#[derive(SimpleObject)]
pub(super) struct LedgerTotals {
    /// Start of the counted range.
    from: Instant,
    /// End of the counted range, exclusive; null if the filter has no end.
    until: Option<Instant>,
    /// Instants that were due.
    expected: Long,
    /// Instants for which a run was started: STARTED.
    ran: Long,
    /// SKIPPED instants, skipped on purpose (because of a calendar, a pause, a change or a request)
    /// or for load (because of a live run, a full buffer, a start deadline or a quota).
    skipped: Long,
    /// Instants that were lost: MISSED, COLLAPSED into a later one, or ABANDONED.
    missed: Long,
    /// Instants without a run so far: PENDING.
    open: Long,
    /// The same counts by verdict and reason, the most frequent first.
    #[graphql(complexity = "DECLARED * child_complexity")]
    groups: Vec<LedgerGroup>,
    /// False if there are more than 200,000 rows: then only the newest 200,000 are counted, and
    /// `from` is the earliest of them.
    is_complete: bool,
}

/// Instants of the ledger with the same verdict and reason.
#[derive(SimpleObject)]
pub(super) struct LedgerGroup {
    /// What became of the instants.
    verdict: Verdict,
    /// Why they have this verdict.
    reason: ReasonCode,
    /// The number of instants; one row of the ledger may cover several.
    count: Long,
}

impl LedgerTotals {
    async fn count(cx: &Context<'_>, within: &Within, mut filter: ledger::Filter) -> Result<Self> {
        let now = cx.commands().clock.now();
        let from = *filter.after.get_or_insert_with(|| {
            let until = filter.before.map_or(now, Timestamp::utc);
            until.checked_sub_signed(USUAL).unwrap_or(DateTime::<Utc>::MIN_UTC).into()
        });
        let totals = ledger::totals(cx.store(), within, &filter).await?;
        let mut counted = Self {
            from: totals.counted_from.unwrap_or(from).into(),
            until: filter.before.map(Into::into),
            expected: Long(0),
            ran: Long(0),
            skipped: Long(0),
            missed: Long(0),
            open: Long(0),
            groups: Vec::with_capacity(totals.groups.len()),
            is_complete: totals.counted_from.is_none(),
        };
        for group in totals.groups {
            counted.add(group);
        }
        Ok(counted)
    }

    fn add(&mut self, group: ledger::VerdictGroup) {
        use entity::fire::Verdict as Word;
        let ledger::VerdictGroup { verdict, reason, count } = group;
        let part = match verdict {
            Word::Started => &mut self.ran,
            Word::Skipped => &mut self.skipped,
            Word::Missed | Word::Collapsed | Word::Abandoned => &mut self.missed,
            Word::Pending => &mut self.open,
        };
        part.0 += count;
        self.expected.0 += count;
        let (verdict, reason, count) = (verdict.into(), reason.into(), count.into());
        self.groups.push(LedgerGroup { verdict, reason, count });
    }
}
