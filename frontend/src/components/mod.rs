//! Views. A component gets values or signals, and knows neither the API nor the address of its page; pages arrange
//! components. A test (`layers`) holds what each module of the console may use.
//!
//! A view that only draws is a function from values to a view, and is called again when the values change. The
//! renderer patches the existing view with the new one, so the focus and open details are kept. A view that has
//! state, or listens to events, is a component.
//!
//! Colours only express meaning. `badge` maps every state of every type to a name in one place, and the style sheet
//! knows only these names, as `data-state`.

mod async_view;
mod badge;
mod button;
mod checkbox;
mod cluster_strip;
mod copy;
mod dialog;
mod diff;
mod empty;
mod expression;
mod field;
mod figure;
mod fire_history;
mod fire_mark;
mod focus;
mod fold;
mod hold;
mod icon;
mod json_view;
mod live;
mod menu;
mod meter;
mod notice_list;
mod page_head;
mod pager;
mod panel;
mod picker;
mod plain_table;
mod query;
mod reason;
mod run_table;
mod save;
mod selection;
mod shapes;
mod switches;
mod table;
mod tabs;
mod tags;
mod tally_bar;
mod ticket;
mod typing;
mod unread;
mod warning_list;
mod weeks;
mod when;

pub(crate) use async_view::{AsyncView, FailureNote, Waiting};
pub(crate) use badge::{Mark, badge, badge_of};
pub(crate) use button::{Look, button, icon_button};
pub(crate) use checkbox::checkbox;
pub(crate) use cluster_strip::cluster_strip;
pub(crate) use copy::copy;
pub(crate) use dialog::Dialog;
pub(crate) use diff::{Sameness, diff, diff_lines, diff_values};
pub(crate) use empty::empty;
pub(crate) use expression::{expressions, pointed};
pub(crate) use field::{Choice, Field};
pub(crate) use figure::figure;
pub(crate) use fire_history::fire_history;
pub(crate) use fire_mark::fire_mark;
pub(crate) use focus::focus_first;
pub(crate) use hold::hold_button;
pub(crate) use icon::{Glyph, icon};
pub(crate) use json_view::json_view;
pub(crate) use live::{keyed, live, rows};
pub(crate) use menu::menu;
pub(crate) use meter::meter;
pub(crate) use notice_list::NoticeList;
pub(crate) use page_head::PageHead;
pub(crate) use pager::{Beside, pager};
pub(crate) use panel::{fact, panel};
pub(crate) use picker::{Fill, Suggestions, filter_field};
pub(crate) use plain_table::{Heading, heading, silent_heading, table};
pub(crate) use query::{
    FieldTerm, OwnViews, QueryBar, QueryField, QueryView, SplitQuery, field_term, has_term,
    plain_words, split_query, toggled, typed_value,
};
pub(crate) use reason::{is_id, reason_text};
pub(crate) use run_table::{run_columns, run_name, trigger_words};
pub(crate) use save::{copy_text, save_text};
pub(crate) use selection::Selection;
pub(crate) use shapes::{
    Band, BarColumn, Chosen, DagNode, DagView, Drag, GanttBar, GanttRow, SparkBar, TrendLayer,
    Week, band_chart, dag, gantt, heat_map, peak_bars, sparkline, stacked_bars, trend,
    use_dag_view, use_drag,
};
pub(crate) use switches::ThemeSwitch;
pub(crate) use table::{Column, Kept, RowName, Table};
pub(crate) use tabs::{Tab, tab_of, tabs};
pub(crate) use tags::tags;
pub(crate) use tally_bar::tally_bar;
pub(crate) use ticket::ticket;
pub(crate) use typing::{Typing, use_typing};
pub(crate) use unread::hold_back_unread;
pub(crate) use warning_list::warning_list;
pub(crate) use weeks::{days_by_arrow, week_rows, weekday_heads};
pub(crate) use when::{When, explain_times, when, when_relative};
