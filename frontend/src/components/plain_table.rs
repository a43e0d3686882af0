//! A table in its own frame that scrolls sideways, with a name for screen readers. On a phone, each row is a card, in
//! which each cell has the heading of its column beside it.

use std::borrow::Cow;

use leptos::{html, prelude::*};

/// The heading of a column.
pub(crate) struct Heading {
    words: Cow<'static, str>,
    /// The class of the column's cells.
    class: &'static str,
    is_seen: bool,
}

/// A column's heading, and the class of its cells.
pub(crate) fn heading(words: impl Into<Cow<'static, str>>, class: &'static str) -> Heading {
    Heading { words: words.into(), class, is_seen: true }
}

/// A heading that is not visible, and that only screen readers announce.
pub(crate) fn silent_heading(words: &'static str) -> Heading {
    Heading { words: words.into(), class: "", is_seen: false }
}

/// A table with these headings and rows.
pub(crate) fn table(
    caption: &'static str,
    class: &'static str,
    headings: Vec<Heading>,
    rows: AnyView,
) -> AnyView {
    let table = NodeRef::<html::Table>::new();
    let labels: Vec<_> = headings.iter().map(Heading::label).collect();
    // The style sheet finds the heading of a cell by the number of its column.
    table.on_load(move |table| {
        let style = web_sys::HtmlElement::style(&table);
        for (number, label) in (1..).zip(&labels) {
            let _set = style.set_property(&format!("--heading-{number}"), label);
        }
    });
    let headings: Vec<_> = headings.into_iter().map(Heading::view).collect();
    view! {
        <div class="table-frame" tabindex="0" role="group" aria-label=caption>
            <table class=class node_ref=table>
                <caption class="visually-hidden">{caption}</caption>
                <thead><tr>{headings}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

impl Heading {
    fn view(self) -> AnyView {
        let Self { words, class, is_seen } = self;
        if is_seen {
            view! { <th scope="col" class=class>{words}</th> }.into_any()
        } else {
            view! { <th scope="col"><span class="visually-hidden">{words}</span></th> }.into_any()
        }
    }

    /// The heading as a CSS string.
    fn label(&self) -> String {
        if self.is_seen {
            format!("\"{}\"", self.words.replace(['"', '\\'], ""))
        } else {
            "\"\"".to_owned()
        }
    }
}
