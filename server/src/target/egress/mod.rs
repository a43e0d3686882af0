//! The guard against server-side request forgery: decides which destinations requests may reach.
//!
//! Anyone who may save a target can make this server send requests. So a target must not give
//! access to destinations that only the server can reach: the cloud's metadata service, the node
//! itself, the network behind it. There are two restricted classes of addresses. *Forbidden* ones
//! (unspecified, link-local, multicast, broadcast, reserved, cloud metadata) are never reached;
//! *private* ones (loopback, private ranges, carrier NAT) only if the configuration allows them. An
//! IPv6 address that contains an IPv4 address is checked as both.
//!
//! No connection is opened to an address that was not checked. There are two ways to an address,
//! and both are guarded. A host that is an address is checked before each request and each redirect
//! ([`EgressGuard::admit`]). A host name goes through the client's resolver ([`Resolver`]), which
//! returns only checked addresses. The client connects to the checked address itself, so a name
//! that resolves differently in between gains nothing. No proxy is used, because a proxy would
//! connect without a check.
//!
//! - `address`: classifies an address; pure
//! - `guard`: checks a URL
//! - `resolver`: resolves names for the client; `lookups`: how many at once

mod address;
mod guard;
mod lookups;
mod resolver;

pub(super) use guard::{EgressGuard, NameRefused};
#[cfg(feature = "sqs")]
pub(super) use lookups::spawn_for_same;
pub(super) use lookups::{for_namespace, namespace};
pub(super) use resolver::Resolver;
