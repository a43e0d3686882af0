use super::{CliError, caret};
use crate::search::{Search, SearchedList};

/// Refuses a search that the server would refuse, and marks the mistake. `name` is the name of the
/// argument.
pub(super) fn check(list: SearchedList, name: &str, text: Option<&str>) -> Result<(), CliError> {
    let Some(text) = text else { return Ok(()) };
    let Err(error) = Search::parse(list, text) else { return Ok(()) };
    let marks = caret::mark(text, error.position.clone());
    let marks = marks.map(|marks| format!("\n{marks}")).unwrap_or_default();
    Err(CliError::Search(format!("{name}: {error}{marks}")))
}
