//! Where requests may go: the guard against server-side request forgery.
//!
//! Whoever may save a target can make this server send requests, so it must not become a door to
//! what only the server can reach: the cloud's metadata service, the node itself, the network
//! behind it. Two classes of addresses are told apart. *Forbidden* ones (unspecified, link-local,
//! multicast, broadcast, reserved, cloud metadata) are never reached; *private* ones (loopback,
//! private ranges, carrier NAT) only where the configuration says so. An IPv6 address that carries
//! an IPv4 address is judged by both.
//!
//! The invariant: no connection is opened to an address that was not judged. It holds because
//! there are two ways to an address and both are guarded. A host that is an address is judged
//! before each request and each redirect ([`Egress::admit`]); a name goes through the client's
//! resolver ([`Resolver`]), which hands on only what was judged, so the address that is checked
//! is the address that is connected to and a name that changes its mind in between gains nothing.
//! No proxy is used, since a proxy would connect on our behalf without asking.
//!
//! - `address`: judges an address; pure
//! - `guard`: judges a URL
//! - `resolver`: resolves names for the client

mod address;
mod guard;
mod resolver;

pub(super) use guard::{Egress, NameRefused};
pub(super) use resolver::Resolver;
