//! A button that opens a small popup below it. Esc, a click elsewhere, and tabbing out of it close it.

use leptos::{
    ev::{self, FocusEvent, KeyboardEvent},
    html,
    prelude::*,
};
use wasm_bindgen::JsCast;
use web_sys::Node;

/// A menu. `name` is the accessible name of the button if its face has no text, `face` is the button's content, and
/// `content` is that of the popup.
pub(crate) fn menu(name: &'static str, face: AnyView, content: AnyView) -> AnyView {
    let frame = NodeRef::<html::Div>::new();
    let button = NodeRef::<html::Button>::new();
    let open = RwSignal::new(false);
    let holds = move |node: Option<web_sys::EventTarget>| {
        let node = node.and_then(|node| node.dyn_into::<Node>().ok());
        frame.get_untracked().is_some_and(|frame| frame.contains(node.as_ref()))
    };
    let listener = window_event_listener(ev::pointerdown, move |event| {
        if open.get_untracked() && !holds(event.target()) {
            open.set(false);
        }
    });
    on_cleanup(move || listener.remove());
    let key = move |event: KeyboardEvent| {
        if event.key() == "Escape" && open.get_untracked() {
            event.stop_propagation();
            open.set(false);
            if let Some(button) = button.get_untracked() {
                let _hidden = button.focus();
            }
        }
    };
    let leave = move |event: FocusEvent| {
        if event.related_target().is_some() && !holds(event.related_target()) {
            open.set(false);
        }
    };
    // Following a link closes the menu.
    let used = move |event: ev::MouseEvent| {
        let target = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        if target.is_some_and(|target| {
            target.closest("a[href], [data-closes]").is_ok_and(|link| link.is_some())
        }) {
            let focused = document().active_element();
            open.set(false);
            // The focus would be lost together with the hidden element.
            if let Some(button) = button.get_untracked().filter(|_| holds(focused.map(Into::into)))
            {
                let _hidden = button.focus();
            }
        }
    };
    // The name contains the visible text, for users of voice control.
    let called = (!name.is_empty())
        .then(|| view! { <span class="visually-hidden">{format!("{name}: ")}</span> }.into_any());
    view! {
        <div class="menu" node_ref=frame on:keydown=key on:focusout=leave>
            <button
                type="button"
                class="menu-button"
                aria-expanded=move || open.get().to_string()
                node_ref=button
                on:click=move |_| open.update(|open| *open = !*open)
            >{called}{face}</button>
            <div class="menu-body" hidden=move || !open.get() on:click=used>{content}</div>
        </div>
    }
    .into_any()
}
