//! Searches in the notation of callers.

use crate::{
    clock::Clock,
    commands::{BadInput, CommandError},
    search::{Criterion, Search, SearchError, SearchedList, WordField},
    store::reads::search::TimedSearch,
};

/// Parses the search of a list; relative times in it count from now. An error text may contain
/// output of a program. So callers who may not see payloads cannot search by `error`, and their
/// plain words do not match it.
pub(crate) fn sought(
    clock: &Clock,
    list: SearchedList,
    text: &str,
    sees_payloads: bool,
) -> Result<TimedSearch, CommandError> {
    let search = Search::parse(list, text).map_err(|error| {
        let SearchError { position, problem, help } = error;
        BadInput { position: Some(position), ..BadInput::new("search", text, problem, help) }
    })?;
    let is_error = |test: &Criterion| matches!(test, Criterion::Word(WordField::Error, _));
    if !sees_payloads && search.terms.iter().any(|term| is_error(&term.test)) {
        return Err(CommandError::Denied {
            problem: "to search in errors needs the right to see payloads",
            help: "leave 'error:' out, or ask an administrator of the namespace for that right",
        });
    }
    Ok(TimedSearch { search, at: clock.now().into(), in_errors: sees_payloads })
}
