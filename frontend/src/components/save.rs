//! Copies text to the clipboard or saves it to a file.
//!
//! Browsers provide the clipboard only over HTTPS or on localhost. It is looked up through `Reflect`, because a
//! direct access would fail where the clipboard does not exist.

use js_sys::{Array, Function, Promise, Reflect};
use leptos::{prelude::*, task::spawn_local};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, HtmlAnchorElement, Url};

use crate::state::Notices;

/// Copies a text, and shows a notice that says so, or that the browser has refused it.
pub(crate) fn copy_text(text: String, notices: Notices, said: &'static str) {
    spawn_local(async move {
        match write(&text) {
            Ok(written) if JsFuture::from(written.clone()).await.is_ok() => {
                notices.done(said.to_owned())
            }
            Ok(_) | Err(_) => notices.refused(
                "This browser does not allow copying here, perhaps because the page came without HTTPS. Select the text \
                 instead.",
            ),
        }
    });
}

fn write(text: &str) -> Result<Promise, JsValue> {
    let navigator = Reflect::get(&window(), &"navigator".into())?;
    let clipboard = Reflect::get(&navigator, &"clipboard".into())?;
    let write: Function = Reflect::get(&clipboard, &"writeText".into())?.dyn_into()?;
    write.call1(&clipboard, &text.into())?.dyn_into()
}

/// Downloads a text as a file.
pub(crate) fn save_text(name: &str, kind: &str, text: &str) {
    let _not_saved = save(name, kind, text);
}

fn save(name: &str, kind: &str, text: &str) -> Result<(), JsValue> {
    let options = js_sys::Object::new();
    Reflect::set(&options, &"type".into(), &kind.into())?;
    let constructor: Function = Reflect::get(&window(), &"Blob".into())?.dyn_into()?;
    let parts = Array::of1(&text.into());
    let blob = Reflect::construct(&constructor, &Array::of2(&parts, &options))?;
    let address = Url::create_object_url_with_blob(blob.unchecked_ref::<Blob>())?;
    let link: HtmlAnchorElement = document().create_element("a")?.dyn_into()?;
    link.set_href(&address);
    link.set_download(name);
    link.click();
    Url::revoke_object_url(&address)
}
