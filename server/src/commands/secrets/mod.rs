//! Secrets inside targets: masked wherever a definition is shown, kept where an edit gives the
//! mask back.
//!
//! - `mask`: a target as it may be shown; `context`: the same for JSON
//! - `retain`: what a mask that comes back stands for
//! - `vault`: secrets set and deleted; `rotation`: what is sealed, sealed anew
//! - `literal`: credentials in clear, refused
//! - `watchdog`: the addresses that a schedule calls, checked
//! - `unset`: secrets that definitions ask for and that are not there

mod context;
pub(super) mod literal;
mod mask;
mod retain;
pub(super) mod rotation;
pub(super) mod unset;
pub(super) mod vault;
pub(crate) mod watchdog;

pub(super) use self::mask::origin;
pub(crate) use self::{
    context::{masked_json, unmasked_json},
    mask::{holds_any, masked, masked_url},
    retain::{KEPT_REDIRECTS, retain, unmask},
};
pub(crate) use crate::target::is_reference;
