//! The beginnings of two logs, line by line. Logs have any length: a bounded part is loaded, and the page says what is
//! left out.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    api,
    components::{AsyncView, Sameness, checkbox, diff_lines, live},
    data::{Load, use_load},
    model::{Line, Page, Place},
    pages::run::{log::plain, looking::Looking},
};

/// How many lines a request loads: as many as a page may have.
const PAGE: usize = 200;
/// Maximum number of lines of each log that are compared.
const MAX_LINES: usize = 1_000;
/// Maximum number of characters of a line that are compared.
const WIDTH: usize = 1_000;

/// The beginning of a log.
#[derive(Clone, Copy)]
struct Head {
    page: Load<Page<Line>>,
    lines: RwSignal<Vec<Arc<Line>>>,
    /// Whether the log has more lines than are compared; `None` while they load.
    goes_on: RwSignal<Option<bool>>,
}

/// The differences of the two logs.
#[component]
pub(super) fn Logs(own: String, other: String, is_live: bool, looking: Looking) -> impl IntoView {
    let (own, other) = (use_head(own), use_head(other));
    let ignores_numbers = Memo::new(move |_| looking.ignores_numbers());
    let unfinished = is_live.then(|| {
        view! { <p class="muted">"This run goes on: its log is compared as far as it is written now."</p> }
            .into_any()
    });
    view! {
        <div class="compared-head">
            <h3>"Log"</h3>
            {checkbox(
                "Ignore numbers, such as times",
                move || ignores_numbers.get(),
                move |ignores| looking.ignore_numbers(ignores),
            )}
        </div>
        {unfinished}
        <AsyncView loading=other.page.loading what="the log of the other run">
            <AsyncView loading=own.page.loading what="the log of this run">
                {live(move || compared(own, other, ignores_numbers.get()))}
            </AsyncView>
        </AsyncView>
    }
}

/// Loads the beginning of a run's log, page by page.
fn use_head(id: String) -> Head {
    let place = RwSignal::new(Place::First);
    let page: Load<Page<Line>> =
        use_load(move || Some(api::log_page(id.clone(), place.get(), PAGE)));
    let (lines, goes_on) = (RwSignal::new(Vec::new()), RwSignal::new(None));
    Effect::new(move |_| {
        let Some(page) = page.get() else { return };
        let count = lines.try_update(|lines: &mut Vec<Arc<Line>>| {
            lines.extend(page.rows.iter().cloned());
            lines.len()
        });
        let is_enough = count.is_none_or(|count| count >= MAX_LINES);
        match page.next.clone().filter(|_| !is_enough) {
            Some(next) => place.set(Place::After(next)),
            None => goes_on.set(Some(page.next.is_some())),
        }
    });
    Head { page, lines, goes_on }
}

fn compared(own: Head, other: Head, ignores_numbers: bool) -> AnyView {
    let (Some(own_goes_on), Some(other_goes_on)) = (own.goes_on.get(), other.goes_on.get()) else {
        return view! { <p class="muted" role="status">"Loading the logs …"</p> }.into_any();
    };
    let (own, other) = (own.lines.get(), other.lines.get());
    let is_mixed = is_mixed(&own) || is_mixed(&other);
    let (own, own_is_cut) = texts(&own, is_mixed);
    let (other, other_is_cut) = texts(&other, is_mixed);
    let sameness = if ignores_numbers { Sameness::ButNumbers } else { Sameness::Exact };
    let rest = left_out(own_goes_on, other_goes_on);
    let cut = (own_is_cut || other_is_cut)
        .then(|| format!("Of long lines the first {WIDTH} characters are compared."));
    let notes = [rest, cut].into_iter().flatten();
    let notes: Vec<_> =
        notes.map(|words| view! { <p class="muted">{words}</p> }.into_any()).collect();
    if own.is_empty() && other.is_empty() {
        return view! { <p class="muted">"Neither run wrote anything."</p> }.into_any();
    }
    view! {
        {notes}
        {diff_lines("Differences of the log", &other, &own, sameness)}
    }
    .into_any()
}

/// Says which log continues after the lines that are compared.
fn left_out(own: bool, other: bool) -> Option<String> {
    let which = match (own, other) {
        (false, false) => return None,
        (true, true) => "both runs wrote more",
        (true, false) => "this run wrote more",
        (false, true) => "the other run wrote more",
    };
    Some(format!("The first {MAX_LINES} lines of each log are compared; {which}."))
}

/// Whether the lines come from several tasks.
fn is_mixed(lines: &[Arc<Line>]) -> bool {
    lines.first().is_some_and(|first| lines.iter().any(|line| line.task != first.task))
}

/// The lines as they are compared, and whether a long one was cut.
fn texts(lines: &[Arc<Line>], is_mixed: bool) -> (Vec<String>, bool) {
    let mut is_cut = false;
    let text = |line: &Arc<Line>| {
        let whole = plain(&line.text);
        let text = match whole.char_indices().nth(WIDTH) {
            Some((end, _)) => {
                is_cut = true;
                format!("{}…", whole.get(..end).unwrap_or_default())
            }
            None => whole,
        };
        if is_mixed { format!("{}: {text}", line.task) } else { text }
    };
    let texts = lines.iter().map(text).collect();
    (texts, is_cut)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(task: &str, text: &str) -> Arc<Line> {
        let line = json!({
            "task": task, "attempt": 1, "at": "2026-11-25T02:30:00Z", "stream": "STDOUT",
            "text": text,
        });
        Arc::new(serde_json::from_value(line).unwrap())
    }

    #[test]
    fn lines_of_several_tasks_name_their_task() {
        let lines = [line("fetch", "\u{1b}[31mred\u{1b}[0m"), line("build", "done")];
        assert!(is_mixed(&lines) && !is_mixed(&lines[..1]) && !is_mixed(&[]));
        assert_eq!(texts(&lines, true).0, ["fetch: red", "build: done"]);
        assert_eq!(texts(&lines[..1], false).0, ["red"]);
    }

    #[test]
    fn long_lines_are_cut_and_the_page_says_so() {
        let lines = [line("main", &"ä".repeat(WIDTH)), line("main", &"ä".repeat(WIDTH + 1))];
        assert!(!texts(&lines[..1], false).1);
        let (texts, is_cut) = texts(&lines, false);
        assert!(is_cut);
        assert_eq!(texts[1].chars().count(), WIDTH + 1);
    }

    #[test]
    fn lines_that_are_left_out_are_mentioned() {
        assert_eq!(left_out(false, false), None);
        assert!(left_out(true, false).unwrap().ends_with("this run wrote more."));
        assert!(left_out(false, true).unwrap().ends_with("the other run wrote more."));
    }
}
