//! The focus after a change that takes the focused element away.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

/// Moves the focus, once the page is drawn, to what the first of these selectors finds that finds anything.
pub(crate) fn focus_first(selectors: Vec<String>) {
    request_animation_frame(move || {
        let find = |selector: &String| document().query_selector(selector).ok().flatten();
        let found = selectors.iter().find_map(find);
        if let Some(element) = found.and_then(|found| found.dyn_into::<HtmlElement>().ok()) {
            let _hidden = element.focus();
        }
    });
}
