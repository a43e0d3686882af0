//! The element that is typed into: a line or an area.

use leptos::prelude::document;
use wasm_bindgen::JsCast;
use web_sys::{HtmlInputElement, HtmlTextAreaElement};

use super::fill::byte_at;

/// The control of a field.
pub(super) enum Control {
    Line(HtmlInputElement),
    Area(HtmlTextAreaElement),
}

impl Control {
    pub(super) fn with_id(id: &str) -> Option<Self> {
        let element = document().get_element_by_id(id)?;
        match element.dyn_into::<HtmlInputElement>() {
            Ok(line) => Some(Self::Line(line)),
            Err(element) => element.dyn_into().ok().map(Self::Area),
        }
    }

    pub(super) fn is_area(&self) -> bool {
        matches!(self, Self::Area(_))
    }

    /// The cursor's position in the control's text, in bytes.
    pub(super) fn cursor(&self, text: &str) -> usize {
        let units = match self {
            Self::Line(line) => line.selection_start(),
            Self::Area(area) => area.selection_start(),
        };
        units.ok().flatten().map_or(text.len(), |units| byte_at(text, units))
    }

    /// Replaces the text, and puts the cursor at a position, in the browser's units.
    pub(super) fn put(&self, text: &str, cursor: u32) {
        let _no_cursor = match self {
            Self::Line(line) => {
                line.set_value(text);
                line.set_selection_range(cursor, cursor)
            }
            Self::Area(area) => {
                area.set_value(text);
                area.set_selection_range(cursor, cursor)
            }
        };
    }
}
