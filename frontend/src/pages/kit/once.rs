//! Values that are shown only once: tokens, addresses of feeds, the first password of a new user.

use js_sys::{Function, Reflect, Uint8Array};
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};

use crate::components::{Look, button, copy};

/// The letters of passwords, without letters and digits that are easily confused.
const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
const GROUPS: usize = 4;
const LENGTH: usize = 5;

/// The value in its own box until the user dismisses it.
pub(in crate::pages) fn shown_once(
    value: RwSignal<Option<String>>,
    title: &'static str,
    words: &'static str,
) -> AnyView {
    let shown = move || {
        value.get().map(|text| {
            view! {
                <section class="panel once" aria-label=title>
                    <h2>{title}</h2>
                    <p class="muted">{words}</p>
                    <div class="once-line">
                        <code data-testid="shown-once">{text.clone()}</code>
                        {copy_button("Copy", text)}
                        {button(Look::Plain, None, "Dismiss", move || value.set(None))}
                    </div>
                </section>
            }
            .into_any()
        })
    };
    view! { <div role="status">{move || shown()}</div> }.into_any()
}

/// A button that copies a text to the clipboard.
pub(in crate::pages) fn copy_button(words: &'static str, text: String) -> AnyView {
    copy(words, move || text.clone())
}

/// A random password, in groups that can be read out.
pub(in crate::pages) fn new_password() -> String {
    let bytes = chance().unwrap_or_default();
    let letter = |byte: &u8| {
        LETTERS.get(usize::from(*byte) % LETTERS.len()).copied().map_or('x', char::from)
    };
    let groups: Vec<String> =
        bytes.chunks(LENGTH).map(|group| group.iter().map(letter).collect()).collect();
    groups.join("-")
}

/// Random bytes from the browser's cryptographic generator; an error without one.
fn chance() -> Result<Vec<u8>, JsValue> {
    let crypto = Reflect::get(&window(), &"crypto".into())?;
    let fill: Function = Reflect::get(&crypto, &"getRandomValues".into())?.dyn_into()?;
    let bytes = Uint8Array::new_with_length((GROUPS * LENGTH) as u32);
    fill.call1(&crypto, &bytes)?;
    Ok(bytes.to_vec())
}
