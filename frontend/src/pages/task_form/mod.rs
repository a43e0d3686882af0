//! The part of a form that says what one task does. The form of schedules has it once, the editor of workflows once for
//! each task.
//!
//! - `fields`: the fields, as text
//! - `action`: what a task does, as the API takes it (pure)
//! - `reading`: the fields' values, or which of them cannot be read
//! - `sections`: the fields on the page, for each kind of target
//! - `refusal`: the way to the field that was refused

mod action;
mod fields;
mod reading;
mod refusal;
mod sections;

pub(super) use action::{Action, NoopAction, TaskPlan};
pub(super) use fields::TaskFields;
pub(super) use reading::{given, number, split, whole};
pub(super) use refusal::{refusal, show_wrong_field};
pub(super) use sections::{FieldErrors, Place, kinds, limits, target_fields};
