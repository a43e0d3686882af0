//! What draws. A component gets values or signals and knows neither the API nor the address; pages arrange them.
//!
//! Colour follows meaning alone: `badge` matches every state of every kind once, and the style sheet knows only the names
//! that come out of it, as `data-state`.

mod async_view;
mod badge;
mod beads;
mod connection;
mod dialog;
mod expression;
mod field;
mod fire_mark;
mod horizon;
mod icon;
mod json_view;
mod notice_list;
mod pager;
mod panel;
mod reason;
mod run_table;
mod shortcut_keys;
mod switches;
mod tags;
mod tally_bar;
mod top_bar;
mod warning_list;
mod when;

pub(crate) use async_view::{AsyncView, FailureNote};
pub(crate) use badge::{Badge, Mark};
pub(crate) use beads::{Bead, Beads};
pub(crate) use connection::Connection;
pub(crate) use dialog::Dialog;
pub(crate) use expression::{Expressions, Pointed};
pub(crate) use field::{AreaField, ChoiceField, TextField};
pub(crate) use fire_mark::FireMark;
pub(crate) use horizon::Horizon;
pub(crate) use icon::{Glyph, Icon};
pub(crate) use json_view::JsonView;
pub(crate) use notice_list::NoticeList;
pub(crate) use pager::Pager;
pub(crate) use panel::{Fact, Panel};
pub(crate) use reason::ReasonText;
pub(crate) use run_table::RunTable;
pub(crate) use shortcut_keys::ShortcutKeys;
pub(crate) use switches::{ThemeSwitch, ZoneSwitch};
pub(crate) use tags::Tags;
pub(crate) use tally_bar::TallyBar;
pub(crate) use top_bar::TopBar;
pub(crate) use warning_list::WarningList;
pub(crate) use when::When;
