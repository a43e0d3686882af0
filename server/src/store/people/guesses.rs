//! Counts wrong passwords by the database's clock, so that all nodes agree.
//!
//! Rows are written in the order of their keys, so that two writers of the same rows cannot
//! deadlock. The removal of rows never waits.

use sea_orm::{ConnectionTrait, FromQueryResult, Value};

use crate::store::{Store, StoreError};

/// An allowance from which one guess is to be taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guess {
    /// The key of the allowance: a hash of the name or address.
    pub id: String,
    /// How long the allowance takes to refill by one guess.
    pub pause_ms: i64,
    /// The size of the allowance in milliseconds: the sum of its pauses.
    pub room_ms: i64,
}

/// The rest of an allowance after a guess.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct AllowanceLeft {
    /// The key of the allowance.
    pub id: String,
    /// The time until the allowance is full again, in milliseconds. If it exceeds the size of the
    /// allowance, the guess was one too many.
    pub missing_ms: i64,
}

/// The result of an attempt to take a guess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuessOutcome {
    /// A guess was taken from all allowances.
    Taken(Vec<AllowanceLeft>),
    /// One of the allowances was used up, so nothing was taken.
    /// Contains the allowances as if the guess had been taken.
    Refused(Vec<AllowanceLeft>),
}

/// Takes one guess from each allowance, or from none if one of them is used up.
pub async fn take_if_left(store: &Store, guesses: &[Guess]) -> Result<GuessOutcome, StoreError> {
    let mut guesses = guesses.to_vec();
    guesses.sort_unstable();
    let tx = store.begin().await?;
    let now = store.dialect().now();
    // A row never reaches further into the future than the size of its allowance, so that setting
    // the clock back locks no user out.
    let most = guesses.iter().map(|guess| guess.room_ms).max().unwrap_or_default();
    let rows = rows(&guesses, |pause| format!("{now} + {pause}"));
    let sql = format!(
        "INSERT INTO guess (id, pause_ms, full_at) VALUES {rows} ON CONFLICT (id) DO UPDATE \
         SET pause_ms = excluded.pause_ms, full_at = excluded.pause_ms + CASE \
           WHEN guess.full_at > {now} + {most} THEN {now} + {most} \
           WHEN guess.full_at > {now} THEN guess.full_at ELSE {now} END \
         RETURNING id, full_at - {now} AS missing_ms"
    );
    let statement = store.dialect().statement(sql, values(&guesses));
    let left = AllowanceLeft::find_by_statement(statement).all(&tx).await?;
    let is_over = |left: &AllowanceLeft| {
        guesses.iter().any(|guess| guess.id == left.id && left.missing_ms > guess.room_ms)
    };
    if left.len() != guesses.len() || left.iter().any(is_over) {
        tx.rollback().await?;
        cut_back(store, &guesses, &left, most).await?;
        return Ok(GuessOutcome::Refused(left));
    }
    store.commit_unseen(tx).await?;
    Ok(GuessOutcome::Taken(left))
}

/// How far the database's clock may advance between the start and the end of a statement.
const MOMENT_MS: i64 = 1_000;

/// Shortens used-up allowances that extend further than `most`, as they do after a clock was set
/// back.
/// Otherwise each attempt would find them as far from full as before, however long the user waits.
async fn cut_back(
    store: &Store,
    guesses: &[Guess],
    left: &[AllowanceLeft],
    most: i64,
) -> Result<(), StoreError> {
    let is_far = |guess: &&Guess| {
        let furthest = most + guess.pause_ms - MOMENT_MS;
        left.iter().any(|left| left.id == guess.id && left.missing_ms >= furthest)
    };
    let far: Vec<&Guess> = guesses.iter().filter(is_far).collect();
    if far.is_empty() {
        return Ok(());
    }
    let tx = store.begin().await?;
    let now = store.dialect().now();
    let sql = format!(
        "UPDATE guess SET full_at = {now} + {most} WHERE id = $1 AND full_at > {now} + {most}"
    );
    for guess in far {
        tx.execute_raw(store.dialect().statement(&sql, [guess.id.clone().into()])).await?;
    }
    store.commit_unseen(tx).await
}

/// Gives one guess back to each allowance.
pub async fn give_back(store: &Store, guesses: &[Guess]) -> Result<(), StoreError> {
    let mut guesses = guesses.to_vec();
    guesses.sort_unstable();
    let tx = store.begin().await?;
    let sql = format!(
        "INSERT INTO guess (id, pause_ms, full_at) VALUES {} ON CONFLICT (id) DO UPDATE \
         SET full_at = guess.full_at - excluded.pause_ms",
        rows(&guesses, |_| "0".to_owned())
    );
    tx.execute_raw(store.dialect().statement(sql, values(&guesses))).await?;
    store.commit_unseen(tx).await
}

/// Removes allowances that are full, and all others except for the `most` that are furthest from
/// full. So guesses at many names do not reset the count of a name that is under attack.
pub async fn remove_needless(store: &Store, most: u32) -> Result<u64, StoreError> {
    let tx = store.begin().await?;
    let (now, skip) = (store.dialect().now(), store.dialect().skip_locked("guess"));
    let mut removed = 0;
    for which in [
        format!("SELECT id FROM guess WHERE full_at <= {now} {skip}"),
        format!(
            "SELECT id FROM guess WHERE full_at <= (SELECT full_at FROM guess \
             ORDER BY full_at DESC LIMIT 1 OFFSET {most}) {skip}"
        ),
    ] {
        let sql = format!("DELETE FROM guess WHERE id IN ({which})");
        removed += tx.execute_raw(store.dialect().statement(sql, [])).await?.rows_affected();
    }
    store.commit_unseen(tx).await?;
    Ok(removed)
}

fn rows(guesses: &[Guess], full_at: impl Fn(&str) -> String) -> String {
    let row = |place: usize| {
        let pause = format!("${}", 2 * place + 2);
        format!("(${}, {pause}, {})", 2 * place + 1, full_at(&pause))
    };
    (0..guesses.len()).map(row).collect::<Vec<_>>().join(", ")
}

fn values(guesses: &[Guess]) -> Vec<Value> {
    guesses.iter().flat_map(|guess| [guess.id.clone().into(), guess.pause_ms.into()]).collect()
}
