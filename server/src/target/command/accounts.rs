//! The accounts of users, as the system knows them.
//!
//! A look-up reads files or asks a service, which takes longer than the rest of a start. Programs
//! usually run as one of few users, so an account is kept for a short time.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use nix::unistd::{Uid, User};

use crate::clock::Clock;

/// How long an account is used without another look-up.
const FRESH: Duration = Duration::from_secs(5);

/// Maximum number of kept accounts. Beyond it, all are looked up again.
const MAX_KEPT: usize = 256;

/// Looks up accounts, and keeps those that exist.
#[derive(Debug)]
pub(super) struct Accounts {
    /// By the name; `None` is this process's own user.
    kept: Mutex<HashMap<Option<String>, (User, Instant)>>,
    clock: Clock,
}

impl Accounts {
    pub(super) fn new(clock: Clock) -> Self {
        Self { kept: Mutex::default(), clock }
    }

    /// The account of that name, or this process's own if no name is given.
    pub(super) fn find(&self, name: Option<&str>) -> nix::Result<Option<User>> {
        self.find_with(name, || match name {
            Some(name) => User::from_name(name),
            None => User::from_uid(Uid::effective()),
        })
    }

    fn find_with(
        &self,
        name: Option<&str>,
        look_up: impl FnOnce() -> nix::Result<Option<User>>,
    ) -> nix::Result<Option<User>> {
        let (key, now) = (name.map(str::to_owned), self.clock.instant());
        let is_fresh = |since: &Instant| now.saturating_duration_since(*since) < FRESH;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some((account, _)) = kept.filter(|(_, since)| is_fresh(since)) {
            return Ok(Some(account));
        }
        // A slow look-up must not delay the starts of others, so the lock is not held.
        let found = look_up()?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        match &found {
            Some(account) => drop(kept.insert(key, (account.clone(), now))),
            None => drop(kept.remove(&key)),
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn an_account_is_looked_up_again_after_a_while() {
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        let accounts = Accounts::new(clock.clock());
        let nobody = || User::from_name("nobody");
        let known = nobody().unwrap().unwrap();
        assert_eq!(accounts.find_with(Some("some"), || Ok(None)), Ok(None));
        assert_eq!(accounts.find_with(Some("some"), nobody), Ok(Some(known.clone())));
        assert_eq!(accounts.find_with(Some("some"), || Ok(None)), Ok(Some(known.clone())));
        assert_eq!(accounts.find_with(Some("other"), || Ok(None)), Ok(None));
        assert_eq!(accounts.find(Some("nobody")), Ok(Some(known)));
        assert_eq!(accounts.find(None), User::from_uid(Uid::effective()));
        clock.pass(FRESH);
        assert_eq!(accounts.find_with(Some("some"), || Ok(None)), Ok(None), "it is gone");
    }
}
