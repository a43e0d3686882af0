//! The table of permitted guesses. The pause between two guesses is an hour here, so none ends
//! during a test.

use carillon::store::guesses::{Guess, GuessOutcome, give_back, remove_needless, take_if_left};
use sea_orm::ConnectionTrait;

use crate::support::{TestDatabase, on_both};

on_both!(
    a_refused_guess_takes_nothing,
    concurrent_guesses_share_the_remaining_allowance,
    names_guessed_often_are_kept,
    a_clock_that_was_set_back_locks_nobody_out,
);

const HOUR: i64 = 3_600_000;

fn guess(id: &str, most: i64) -> Guess {
    Guess { id: id.to_owned(), pause_ms: HOUR, room_ms: most * HOUR }
}

fn is_taken(counted: &GuessOutcome) -> bool {
    matches!(counted, GuessOutcome::Taken(_))
}

async fn a_refused_guess_takes_nothing(database: TestDatabase) {
    let store = &database.store;
    let (ada, home) = (guess("ada", 2), guess("home", 3));
    let both = [ada.clone(), home.clone()];
    for _ in 0..2 {
        assert!(is_taken(&take_if_left(store, &both).await.unwrap()));
    }
    for _ in 0..5 {
        let GuessOutcome::Refused(left) = take_if_left(store, &both).await.unwrap() else {
            panic!()
        };
        let missing = left.iter().find(|left| left.id == "ada").unwrap().missing_ms;
        assert!((2 * HOUR + 1..=3 * HOUR).contains(&missing), "{missing}");
    }
    assert!(is_taken(&take_if_left(store, std::slice::from_ref(&home)).await.unwrap()));
    assert!(!is_taken(&take_if_left(store, std::slice::from_ref(&home)).await.unwrap()));
    give_back(store, &both).await.unwrap();
    assert!(is_taken(&take_if_left(store, &both).await.unwrap()));
    assert!(!is_taken(&take_if_left(store, &both).await.unwrap()));
}

async fn concurrent_guesses_share_the_remaining_allowance(database: TestDatabase) {
    let store = &database.store;
    let tries = (0..20).map(|number| async move {
        // Callers may give the guesses in either order.
        let mut wanted = [guess("ada", 5), guess("home", 100)];
        if number % 2 == 0 {
            wanted.reverse();
        }
        is_taken(&take_if_left(store, &wanted).await.unwrap())
    });
    let taken = futures::future::join_all(tries).await;
    assert_eq!(taken.into_iter().filter(|taken| *taken).count(), 5);
}

async fn names_guessed_often_are_kept(database: TestDatabase) {
    let store = &database.store;
    for _ in 0..3 {
        take_if_left(store, &[guess("ada", 3)]).await.unwrap();
    }
    for number in 0..30 {
        take_if_left(store, &[guess(&format!("flood {number}"), 3)]).await.unwrap();
    }
    give_back(store, &[guess("flood 0", 3)]).await.unwrap();
    assert_eq!(remove_needless(store, 100).await.unwrap(), 1, "what is full");
    assert!(remove_needless(store, 10).await.unwrap() >= 20);
    // A name with many guesses is kept even if many other names are counted.
    assert!(!is_taken(&take_if_left(store, &[guess("ada", 3)]).await.unwrap()));
}

/// A trigger that makes a write so slow that the clock moves on in the meantime.
const SLOW: &str = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql \
        AS 'BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END'; \
    CREATE TRIGGER slow BEFORE UPDATE ON guess FOR EACH ROW EXECUTE FUNCTION slow()";

async fn a_clock_that_was_set_back_locks_nobody_out(database: TestDatabase) {
    let store = &database.store;
    if store.dialect().is_postgres() {
        let transaction = store.begin().await.unwrap();
        transaction.execute_unprepared(SLOW).await.unwrap();
        store.commit(transaction).await.unwrap();
    }
    let ada = [guess("ada", 3)];
    take_if_left(store, &ada).await.unwrap();
    let transaction = store.begin().await.unwrap();
    let later = format!("UPDATE guess SET full_at = full_at + {}", 1_000 * HOUR);
    transaction.execute_unprepared(&later).await.unwrap();
    store.commit(transaction).await.unwrap();
    let GuessOutcome::Refused(left) = take_if_left(store, &ada).await.unwrap() else { panic!() };
    assert!(left[0].missing_ms <= 4 * HOUR, "one pause is to be waited for: {left:?}");

    // After a pause, another guess is permitted.
    let transaction = store.begin().await.unwrap();
    let waited = format!("UPDATE guess SET full_at = full_at - {}", HOUR + 1);
    transaction.execute_unprepared(&waited).await.unwrap();
    store.commit(transaction).await.unwrap();
    assert!(is_taken(&take_if_left(store, &ada).await.unwrap()));
}
