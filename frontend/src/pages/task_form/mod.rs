//! The part of a form that defines one task. The form of a schedule contains it once, and the
//! workflow editor once for each task.
//!
//! - `fields`: the fields, as text
//! - `credentials`: decides which credentials may be saved and shown in plain text (pure)
//! - `lost`: the credentials that a restored draft does not contain
//! - `event`, `event_fields`, `event_sections`: the action, the fields and the sections of an event
//!   for a broker
//! - `action`: the action of a task, in the shape that the API accepts (pure)
//! - `reading`: parses the fields into values, or reports the field that cannot be parsed
//! - `sections`: the fields on the page, for each kind of target
//! - `refusal`: moves the focus to the field that was refused

mod action;
mod credentials;
mod event;
mod event_fields;
pub(super) mod event_sections;
mod fields;
mod lost;
mod reading;
mod refusal;
pub(super) mod sections;

pub(super) use action::{Action, CommandAction, HttpAction, NoopAction, TaskPlan};
pub(super) use credentials::{CREDENTIAL_KEYS, MASK, is_open, reveals_nothing};
pub(super) use event::{AddressAction, BrokerAction, EventAction, PublishAction};
pub(super) use fields::TaskFields;
pub(super) use lost::{ENTER_AGAIN, LostCredentials, lost_sentence};
pub(super) use reading::{given, number, split, whole};
pub(super) use refusal::{refusal, show_wrong_field};
pub(super) use sections::{FieldErrors, Place, kinds, limits, target_fields};
