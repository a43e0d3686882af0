//! A modal dialog, using the platform's own `<dialog>`: it traps the focus, Esc closes it, and the focus then returns
//! to the element that had it before.

use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{Glyph, icon_button, live};

/// Shows its children while `open` is set. They are created again each time, so earlier input is not kept.
#[component]
pub(crate) fn Dialog(
    open: RwSignal<bool>,
    /// The dialog's accessible name, which is also its heading.
    title: &'static str,
    /// Whether the children are still being loaded. Until they are there, the dialog does not open.
    #[prop(into, optional)]
    waits: Signal<bool>,
    children: ChildrenFn,
) -> impl IntoView {
    let node = NodeRef::<html::Dialog>::new();
    Effect::new(move |was_ready: Option<bool>| {
        let Some(dialog) = node.get() else { return false };
        let is_open = open.get();
        let is_ready = is_open && !waits.get();
        if is_ready && (was_ready != Some(true) || !dialog.open()) {
            if !dialog.open() {
                let _shown = dialog.show_modal();
            }
            // The browser would focus the first control, which is the close button. Focus the field that is marked as
            // first instead.
            let first = dialog.query_selector("[autofocus]").ok().flatten();
            if let Some(first) = first.and_then(|first| first.dyn_into::<HtmlElement>().ok()) {
                let _hidden = first.focus();
            }
        } else if !is_open && dialog.open() {
            dialog.close();
        }
        is_ready
    });
    let id = format!("dialog-{}", title.to_ascii_lowercase().replace(' ', "-"));
    view! {
        <dialog class="dialog" node_ref=node aria-labelledby=id.clone() on:close=move |_| open.set(false)>
            <div class="dialog-head">
                <h2 id=id.clone()>{title}</h2>
                {icon_button(Glyph::Close, "Close", "Close".to_owned(), move || open.set(false))}
            </div>
            {live(move || if open.get() { children().into_any() } else { ().into_any() })}
        </dialog>
    }
}
