use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{definition::Definition, error::TimingError, pattern::Pattern, timetable::Timetable};

/// A bounded, thread-safe cache of compiled patterns.
///
/// Compiling a cron expression costs tens of microseconds, and a fleet has far fewer distinct
/// expressions than schedules.
/// Timetables made by one cache share the pattern of equal expressions, even across zones.
#[derive(Debug)]
pub struct Cache {
    /// Half of the cache's capacity: the size of one generation.
    half: usize,
    patterns: Mutex<Generations>,
}

/// Two generations of patterns: the recently used ones, and those used before them.
/// When the young generation reaches half of the capacity, it becomes the old one
/// and the previous old generation is dropped. A frequently used pattern is always in one of the
/// two, and neither a look-up nor a drop ever searches.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<String, Arc<Pattern>>,
    old: HashMap<String, Arc<Pattern>>,
}

impl Cache {
    /// A cache that keeps at most `capacity` patterns, or two if the capacity is below two.
    /// Each pattern takes at most about a kilobyte.
    pub fn new(capacity: usize) -> Cache {
        Cache { half: (capacity / 2).max(1), patterns: Mutex::default() }
    }

    /// Checks and compiles a definition, as [`Timetable::new`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`Timetable::new`]. A refused definition is not cached.
    pub fn timetable(&self, definition: &Definition) -> Result<Timetable, TimingError> {
        Timetable::build(definition, |cron| {
            let key = Pattern::key(cron);
            if let Some(pattern) = self.get(&key) {
                return Ok(pattern);
            }
            // A pattern is compiled outside the lock: at worst, two threads compile the same one.
            let pattern = Arc::new(Pattern::compile(cron)?);
            self.put(key, &pattern);
            Ok(pattern)
        })
    }

    fn get(&self, key: &str) -> Option<Arc<Pattern>> {
        let mut patterns = self.patterns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pattern) = patterns.young.get(key) {
            return Some(Arc::clone(pattern));
        }
        let (key, pattern) = patterns.old.remove_entry(key)?;
        patterns.keep(key, &pattern, self.half);
        Some(pattern)
    }

    fn put(&self, key: String, pattern: &Arc<Pattern>) {
        let mut patterns = self.patterns.lock().unwrap_or_else(PoisonError::into_inner);
        patterns.keep(key, pattern, self.half);
    }
}

impl Generations {
    fn keep(&mut self, key: String, pattern: &Arc<Pattern>, half: usize) {
        if self.young.len() >= half {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, Arc::clone(pattern));
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::timetable::Timetable;

    fn definition(expression: &str) -> Definition {
        Definition::new(vec![expression.to_owned()], "UTC")
    }

    fn kept(cache: &Cache) -> usize {
        let patterns = cache.patterns.lock().expect("not poisoned");
        patterns.young.len() + patterns.old.len()
    }

    #[test]
    fn a_cache_never_holds_more_than_its_capacity() {
        let cache = Cache::new(10);
        for minute in 0..60 {
            for _ in 0..2 {
                let cached = cache.timetable(&definition(&format!("{minute} * * * *")));
                let after = DateTime::UNIX_EPOCH;
                let plain = Timetable::new(&definition(&format!("{minute} * * * *")));
                assert_eq!(cached.expect("valid").next(after), plain.expect("valid").next(after));
            }
            assert!(kept(&cache) <= 10);
        }
    }

    #[test]
    fn equal_expressions_share_a_pattern_and_refused_ones_are_not_kept() {
        let cache = Cache::new(10);
        for text in ["0 9 * * 1-5", "0  9 * * MON-FRI", "00 09 ? * mon-fri"] {
            cache.timetable(&definition(text)).expect("valid");
        }
        assert_eq!(kept(&cache), 1);
        cache.timetable(&definition("0 0 30 2 *")).expect_err("never occurs");
        assert_eq!(kept(&cache), 1);
    }
}
