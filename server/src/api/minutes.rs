//! Upcoming fires per minute, and what an unsaved timing would add.

use std::collections::HashMap;

use async_graphql::{Context, Object, SimpleObject};
use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use entity::schedule::Model;
use futures::future::join_all;
use timetable::Timetable;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    maintenance,
    page::{bounded_by, search_cost},
    payload::schedule,
    query::{usual, within},
    scalar::{Instant, Long},
    timing::{TimingInput, TimingProblem, compile_with},
    upcoming::{FiresLeft, begin, count, soonest_rows, usual_durations},
};
use crate::{
    commands::{BadInput, CommandError, modules::instants},
    model::percentile,
    store::{reads::within::Within, workflows},
};

/// A week in minutes.
const MINUTES: i32 = 10_080;
/// Maximum number of fires that are computed one by one.
const LOOKS: usize = 500_000;
/// Maximum number of the candidate's starts in the list.
const TOLD: usize = 100;
/// How many minutes shifts are tried in each direction, and how many shifts are listed.
const SHIFTS: i64 = 30;
const TOLD_SHIFTS: usize = 5;
const MOMENT: TimeDelta = TimeDelta::milliseconds(1);
/// The cost of a field about worker time: the newest runs of all schedules are read for it.
const WORK: usize = 5_000;

/// Queries of upcoming fires per minute.
#[derive(Default)]
pub(super) struct ReadingMinutes;

/// Queries of upcoming fires per minute.
#[Object]
impl ReadingMinutes {
    /// How many fires each coming minute has, if nothing changes; and what a timing that is not
    /// saved yet would add.
    #[graphql(complexity = "20_000 + search_cost(search.as_deref()) + child_complexity")]
    async fn upcoming_by_minute(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(
            desc = "Only schedules that match this search, in the language of docs/search.md."
        )]
        search: Option<String>,
        #[graphql(desc = "Now if absent; a past instant counts as now. At most a year ahead.")]
        from: Option<Instant>,
        #[graphql(default = 1_440, desc = "How many minutes, 1 to 10080.")] minutes: i32,
        #[graphql(desc = "A timing that is not saved yet.")] candidate: Option<TimingInput>,
        #[graphql(
            desc = "The schedule that the candidate edits, if any; its fires are left out of the \
                    counts."
        )]
        schedule_id: Option<Uuid>,
        #[graphql(
            desc = "The name of the workflow that the candidate runs, in `namespace`: how long its \
                    runs take is then known from its other schedules."
        )]
        workflow: Option<String>,
    ) -> Result<MinuteForecast> {
        cx.viewer()?;
        let minutes = bounded_by("minutes", minutes, MINUTES)?;
        let within = within(cx, namespace.as_deref()).await?;
        let edited = match schedule_id {
            Some(id) => Some(schedule(cx, id).await?.0),
            None => None,
        };
        let from = begin(cx, from)?;
        let workflow = match workflow {
            Some(name) => Some(workflow_id(cx, &within, &name).await?),
            None => edited.as_ref().map(|row| row.workflow_id),
        };
        let (mut rows, is_all) = soonest_rows(cx, &within, search).await?;
        let work = RunDurations::of(cx, &rows, edited.as_ref(), workflow).await?;
        rows.retain(|row| Some(row.id) != schedule_id);
        let mut grid = MinuteGrid::new(from, minutes);
        grid.is_complete = is_all;
        // All timetables at once, so that their calendars and windows are read together.
        let timetables = join_all(rows.iter().map(|row| maintenance::timetable(cx, row))).await;
        let mut schedules = 0;
        for (row, timetable) in rows.into_iter().zip(timetables) {
            if let Ok(timetable) = timetable? {
                let takes = work.durations.get(&row.id).copied().unwrap_or_default();
                let one = FiresLeft::new(row, timetable, from, &mut grid.looks);
                grid.add(&one.timetable, one.after, one.left, takes);
                schedules += 1;
            }
            // Yield to other tasks, however many schedules there are.
            tokio::task::yield_now().await;
        }
        let candidate = match candidate {
            None => None,
            Some(timing) => Some(match compile_with(cx, timing, edited.as_ref(), None).await? {
                Ok(timetable) => grid.try_out(&timetable, from, work.usual),
                Err(problem) => CandidateForecast::refused(problem.into()),
            }),
        };
        Ok(MinuteForecast {
            from: grid.begin.into(),
            to: grid.end().into(),
            starts: grid.starts,
            schedules,
            is_complete: grid.is_complete,
            candidate,
        })
    }
}

/// The key of the workflow with this name, which must be in the only namespace of the forecast.
async fn workflow_id(cx: &Context<'_>, within: &Within, name: &str) -> Result<Uuid> {
    let Within::One(namespace) = within else {
        let help = "name the namespace of the workflow, too";
        return Err(BadInput::new("workflow", name, "is given for all namespaces", help).into());
    };
    let found = workflows::by_name(cx.store().read(), *namespace, name).await?;
    Ok(found.ok_or_else(|| CommandError::not_found("workflow", name))?.id)
}

/// How long runs take, in milliseconds.
#[derive(Default)]
struct RunDurations {
    /// The usual duration of each schedule's runs; a schedule without successful runs has none.
    durations: HashMap<Uuid, i64>,
    /// The usual duration of the candidate's runs, if it is known.
    usual: Option<i64>,
}

impl RunDurations {
    /// Reads the runs of these schedules, if the request asks for worker time. The candidate's runs
    /// take as long as those of the schedule that it edits; otherwise as the median of all
    /// schedules that run the same workflow.
    async fn of(
        cx: &Context<'_>,
        rows: &[Model],
        edited: Option<&Model>,
        workflow: Option<Uuid>,
    ) -> Result<Self> {
        if !is_work_requested(cx) {
            return Ok(Self::default());
        }
        let now = cx.commands().clock.now();
        let durations = usual_durations(cx, rows, now).await?;
        let own = match edited {
            Some(row) => usual_durations(cx, std::slice::from_ref(row), now).await?,
            None => HashMap::new(),
        };
        let usual = own.into_values().next().or_else(|| {
            let same = rows.iter().filter(|row| Some(row.workflow_id) == workflow);
            let mut of_workflow: Vec<i64> =
                same.filter_map(|row| durations.get(&row.id).copied()).collect();
            of_workflow.sort_unstable();
            percentile(&of_workflow, 50)
        });
        Ok(Self { durations, usual })
    }
}

fn is_work_requested(cx: &Context<'_>) -> bool {
    let candidate = cx.look_ahead().field("candidate");
    candidate.field("usualMs").exists()
        || candidate.field("workMs").exists()
        || ["starts", "busiest"].iter().any(|of| candidate.field(of).field("workMs").exists())
}

/// Upcoming fires per minute.
#[derive(SimpleObject)]
pub(super) struct MinuteForecast {
    /// Start of the first minute: a whole minute in UTC.
    from: Instant,
    /// The end of the window, exclusive.
    to: Instant,
    /// How many fires each minute has, starting at `from`: one number per minute.
    starts: Vec<u32>,
    /// How many schedules were counted.
    schedules: u32,
    /// False if there is too much to count: then some fires of the schedules that are due last are
    /// left out.
    is_complete: bool,
    /// What the candidate would add; null without one.
    candidate: Option<CandidateForecast>,
}

/// What a timing that is not saved yet would add.
#[derive(SimpleObject)]
pub(super) struct CandidateForecast {
    /// Why the timing cannot be used; then the other fields are empty.
    problem: Option<TimingProblem>,
    /// The candidate's first 100 starts in the window, each with the number of fires in its minute.
    starts: Vec<CandidateStart>,
    /// The busiest of the candidate's minutes.
    busiest: Option<CandidateStart>,
    /// Shifts of up to half an hour after which the candidate's busiest minute is quieter, the
    /// quietest first; at most 5.
    quieter: Vec<QuieterShift>,
    /// How long a run of the candidate usually takes. If it edits a schedule of which any of the
    /// newest 10 runs in the last 30 days succeeded: the median of these. Otherwise: the median of
    /// the counted schedules that run the same workflow. Null if no run has succeeded.
    #[graphql(complexity = "WORK + child_complexity")]
    usual_ms: Option<Long>,
    /// How long the runs of all of the candidate's fires in the window take together, if each takes
    /// as long as usual; null if `usualMs` is.
    #[graphql(complexity = "WORK + child_complexity")]
    work_ms: Option<Long>,
}

/// A minute in which a candidate fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SimpleObject)]
pub(super) struct CandidateStart {
    /// Start of the minute.
    at: Instant,
    /// Fires of the minute without the candidate.
    before: u32,
    /// Fires of the minute with the candidate.
    after: u32,
    /// How long the runs of these fires take together, those of the candidate included, if each
    /// takes as long as usual. Fires whose runs have no usual duration do not count.
    #[graphql(complexity = "WORK + child_complexity")]
    work_ms: Long,
}

/// A shift of the candidate by some minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SimpleObject)]
pub(super) struct QuieterShift {
    /// Minutes to shift by; negative is earlier.
    minutes: i64,
    /// Fires of the candidate's busiest minute after the shift, including the candidate's own.
    starts: u32,
}

impl CandidateForecast {
    fn refused(problem: TimingProblem) -> Self {
        Self {
            problem: Some(problem),
            starts: vec![],
            busiest: None,
            quieter: vec![],
            usual_ms: None,
            work_ms: None,
        }
    }
}

/// The window's minutes, filled while fires are counted.
struct MinuteGrid {
    starts: Vec<u32>,
    /// How long the runs of each minute's fires take together, in milliseconds.
    work: Vec<i64>,
    begin: DateTime<Utc>,
    looks: usize,
    is_complete: bool,
}

impl MinuteGrid {
    fn new(from: DateTime<Utc>, minutes: u64) -> Self {
        let begin = from.duration_trunc(TimeDelta::minutes(1)).unwrap_or(from);
        let minutes = usize::try_from(minutes).unwrap_or_default();
        let (starts, work) = (vec![0; minutes], vec![0; minutes]);
        Self { starts, work, begin, looks: LOOKS, is_complete: true }
    }

    fn end(&self) -> DateTime<Utc> {
        self.begin + TimeDelta::minutes(i64::try_from(self.starts.len()).unwrap_or(i64::MAX))
    }

    fn minute(&self, at: DateTime<Utc>) -> usize {
        usize::try_from((at - self.begin).num_minutes()).unwrap_or(usize::MAX)
    }

    /// Counts at most `left` fires of a timing after an instant, whose runs take this many
    /// milliseconds each.
    fn add(&mut self, timetable: &Timetable, after: DateTime<Utc>, left: u64, takes: i64) {
        let last = self.end() - MOMENT;
        let fires = count(timetable, after, last).min(left);
        let fires = usize::try_from(fires).unwrap_or(usize::MAX);
        // A timing that fires more than twice a minute is counted minute by minute.
        if fires > 2 * self.starts.len() {
            self.add_often(timetable, after, fires, takes);
            return;
        }
        let looked_at = fires.min(self.looks);
        self.is_complete &= looked_at == fires;
        self.looks -= looked_at;
        for at in instants(timetable, after, last).take(looked_at) {
            let minute = self.minute(at);
            if let (Some(starts), Some(work)) =
                (self.starts.get_mut(minute), self.work.get_mut(minute))
            {
                *starts += 1;
                *work = work.saturating_add(takes);
            }
        }
    }

    fn add_often(&mut self, timetable: &Timetable, after: DateTime<Utc>, fires: usize, takes: i64) {
        let looked_at = self.starts.len().min(self.looks);
        self.is_complete &= looked_at == self.starts.len();
        self.looks -= looked_at;
        let (mut begin, mut left) = (self.begin, u32::try_from(fires).unwrap_or(u32::MAX));
        let minutes = self.starts.iter_mut().zip(&mut self.work);
        for (starts, work) in minutes.take(looked_at) {
            let end = begin + TimeDelta::minutes(1);
            let here = count(timetable, after.max(begin - MOMENT), end - MOMENT);
            let here = u32::try_from(here).unwrap_or(u32::MAX).min(left);
            *starts += here;
            *work = work.saturating_add(takes.saturating_mul(here.into()));
            left -= here;
            begin = end;
        }
    }

    /// What the timing would add. A run takes `usual` milliseconds, if that is known.
    fn try_out(
        &self,
        timetable: &Timetable,
        from: DateTime<Utc>,
        usual: Option<i64>,
    ) -> CandidateForecast {
        let minutes = self.starts.len();
        let (starts, work) = (vec![0; minutes], vec![0; minutes]);
        let mut own = Self { starts, work, looks: LOOKS, ..*self };
        own.add(timetable, from - MOMENT, u64::MAX, usual.unwrap_or_default());
        let busy: Vec<(usize, u32)> =
            own.starts.iter().copied().enumerate().filter(|(_, starts)| *starts > 0).collect();
        let told = |(minute, starts): &(usize, u32)| {
            let before = self.starts.get(*minute).copied().unwrap_or_default();
            let at = self.begin + TimeDelta::minutes(i64::try_from(*minute).unwrap_or(i64::MAX));
            let of = |grid: &Self| grid.work.get(*minute).copied().unwrap_or_default();
            CandidateStart {
                at: at.into(),
                before,
                after: before.saturating_add(*starts),
                work_ms: of(self).saturating_add(of(&own)).into(),
            }
        };
        let all: Vec<CandidateStart> = busy.iter().map(told).collect();
        // The first of several equally busy minutes.
        let busiest = all.iter().copied().rev().max_by_key(|one| one.after);
        let mut quieter: Vec<QuieterShift> = (-SHIFTS..=SHIFTS)
            .filter_map(|shift| {
                let starts = self.busiest_after(&busy, shift)?;
                let is_quieter = busiest.is_some_and(|busiest| starts < busiest.after);
                is_quieter.then_some(QuieterShift { minutes: shift, starts })
            })
            .collect();
        quieter.sort_by_key(|one| (one.starts, one.minutes.abs(), one.minutes));
        quieter.truncate(TOLD_SHIFTS);
        let starts = all.into_iter().take(TOLD).collect();
        let total = own.work.iter().fold(0_i64, |sum, work| sum.saturating_add(*work));
        CandidateForecast {
            problem: None,
            starts,
            busiest,
            quieter,
            usual_ms: usual.map(Into::into),
            work_ms: usual.map(|_| total.into()),
        }
    }

    /// The number of fires in the busiest minute if the candidate fired `shift` minutes later.
    /// Starts that the shift moves out of the window are not counted; None if it moves all of them
    /// out.
    fn busiest_after(&self, busy: &[(usize, u32)], shift: i64) -> Option<u32> {
        let after = |(minute, starts): &(usize, u32)| {
            let minute = i64::try_from(*minute).ok()?.checked_add(shift)?;
            let there = self.starts.get(usize::try_from(minute).ok()?)?;
            Some(there.saturating_add(*starts))
        };
        busy.iter().filter_map(after).max()
    }
}
