//! The ticket that something belongs to: a link if it is the address of a web page.

use leptos::prelude::*;

/// The ticket.
pub(crate) fn ticket(text: &str) -> AnyView {
    if !is_web_address(text) {
        return view! { <span class="ticket">{text.to_owned()}</span> }.into_any();
    }
    let (href, words) = (text.to_owned(), without_scheme(text).to_owned());
    view! { <a class="ticket" href=href target="_blank" rel="noopener noreferrer">{words}</a> }
        .into_any()
}

/// Whether a link may lead there. The text comes from a user, so other schemes, such as `javascript:`, stay text.
fn is_web_address(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.starts_with("https://") || lower.starts_with("http://")
}

fn without_scheme(text: &str) -> &str {
    text.split_once("://").map_or(text, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_of_a_web_page_is_a_link() {
        for address in ["https://tickets.example/OPS-42", "HTTP://tickets.example"] {
            assert!(is_web_address(address), "{address}");
        }
        for text in ["OPS-42", "javascript:alert(1)", "data:text/html,x", "", "//tickets.example"] {
            assert!(!is_web_address(text), "{text}");
        }
        assert_eq!(without_scheme("https://tickets.example/42"), "tickets.example/42");
    }
}
