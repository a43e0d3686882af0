//! Sends an action in portions.

use crate::{
    api::{self, Many, Order},
    data,
    model::{Failure, ManyOutcome},
};

/// The searches of an action's portions, each with the number of schedules or runs that it matched.
pub(super) type Portions = Vec<(String, Option<i64>)>;

/// Sends each portion of an action, one after the other: first without a number, which only counts the matches, then
/// with the counted number, which performs the action. If an action takes longer than one request may, it is sent
/// again with the same key until nothing remains.
pub(super) async fn send(
    namespace: String,
    portions: Portions,
    order: Order,
    progress: impl Fn(i64),
) -> Result<(ManyOutcome, Vec<i64>), Failure> {
    let mut sum: Option<ManyOutcome> = None;
    let mut counts = Vec::new();
    for (search, expected_count) in portions {
        let key = data::new_key();
        let before = sum.as_ref().map_or(0, |sum| sum.done + sum.refused);
        let outcome = loop {
            let many =
                Many { namespace: namespace.clone(), search: search.clone(), expected_count };
            let outcome = api::order_many(order.clone(), many, key.clone()).send().await?;
            progress(before + outcome.done + outcome.refused);
            if outcome.remaining == 0 || expected_count.is_none() {
                break outcome;
            }
        };
        counts.push(outcome.matched);
        sum = Some(match sum {
            Some(sum) => sum.and(outcome),
            None => outcome,
        });
    }
    let sum = sum.ok_or_else(|| Failure::of_field("search", "Nothing is chosen."))?;
    Ok((sum, counts))
}
