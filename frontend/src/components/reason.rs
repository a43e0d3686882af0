//! A reason in words, with the runs that it mentions as links.

use leptos::prelude::*;

use crate::route::Route;

/// The reason of a ledger row.
pub(crate) fn reason_text(text: &str) -> AnyView {
    parts(text)
        .into_iter()
        .map(|part| match part {
            Part::Words(words) => words.into_any(),
            Part::Run(id) => {
                // Ids begin with a timestamp, so ids of the same time differ only at the end.
                let short = format!("…{}", id.get(28..).unwrap_or_default());
                view! { <a href=Route::Run(id.clone()).path() title=id.clone()>{short}</a> }
                    .into_any()
            }
        })
        .collect::<Vec<_>>()
        .into_any()
}

#[derive(Debug, PartialEq)]
enum Part {
    Words(String),
    Run(String),
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut words = String::new();
    for piece in text.split_inclusive(' ') {
        let id = piece.trim_end();
        if is_id(id) {
            parts.push(Part::Words(std::mem::take(&mut words)));
            parts.push(Part::Run(id.to_owned()));
            words.push_str(piece.get(id.len()..).unwrap_or_default());
        } else {
            words.push_str(piece);
        }
    }
    parts.push(Part::Words(words));
    parts
}

/// Whether a word is a run's id.
pub(crate) fn is_id(word: &str) -> bool {
    let groups: Vec<usize> = word.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && word.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_within_the_words_is_a_run() {
        let id = "01a1fdd1-d28b-752d-ae50-549f33dabb5f";
        let words = |text: &str| Part::Words(text.to_owned());
        assert_eq!(
            parts(&format!("Skipped: run {id} was alive.")),
            [words("Skipped: run "), Part::Run(id.to_owned()), words(" was alive.")]
        );
        assert_eq!(parts("Started when it was due."), [words("Started when it was due.")]);
    }
}
