//! Places for connections: how many there are, how many of them one address may hold, and which are
//! reserved for probes.
//!
//! A connection keeps its place until its stream is dropped, even after it has become a WebSocket.
//! A connection beyond the limit gets a reserved place: only probes are answered on it, and it ends
//! with its first response. The newest such connection cuts off the oldest one that has not sent a
//! complete request yet. A probe sends its request at once, so idle connections cannot keep it out.

use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ipnet::IpNet;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::counter::{CountedItem, ItemCounter};
use crate::{
    access::network,
    telemetry::{ConnectionRefusal, Instruments},
};

/// Maximum number of reserved connections that have not sent a complete request yet, and of those
/// that are being answered.
pub(super) const MAX_KEPT: usize = 32;

/// The places for ordinary connections.
#[derive(Debug)]
pub(super) struct ConnectionPlaces {
    max: usize,
    max_of_address: usize,
    /// Proxies have no limit per address, because many clients come through one.
    proxies: Vec<IpNet>,
    free: Arc<Semaphore>,
    addresses: Arc<ItemCounter<IpAddr>>,
    metrics: Instruments,
}

/// One ordinary place.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    places: Arc<ConnectionPlaces>,
    /// The permit; `None` only while the place is being dropped.
    free: Option<OwnedSemaphorePermit>,
    _address: Option<CountedItem<IpAddr>>,
}

impl ConnectionPlaces {
    pub(super) fn new(
        max: usize,
        max_of_address: usize,
        proxies: Vec<IpNet>,
        metrics: Instruments,
    ) -> Arc<Self> {
        let (free, addresses) = (Arc::new(Semaphore::new(max)), Arc::default());
        metrics.connections(0, max);
        Arc::new(Self { max, max_of_address, proxies, free, addresses, metrics })
    }

    /// Takes a place for a connection from `address`.
    pub(super) fn take(
        self: &Arc<Self>,
        address: IpAddr,
    ) -> Result<ConnectionPlace, ConnectionRefusal> {
        let address = address.to_canonical();
        let is_proxy = self.proxies.iter().any(|network| network.contains(&address));
        let counted = match is_proxy {
            true => None,
            false => {
                let counted = self.addresses.take(network(address), self.max_of_address);
                Some(counted.ok_or(ConnectionRefusal::Address)?)
            }
        };
        let free = self.free.clone().try_acquire_owned().map_err(|_| ConnectionRefusal::Full)?;
        self.record();
        Ok(ConnectionPlace { places: self.clone(), free: Some(free), _address: counted })
    }

    fn record(&self) {
        let open = self.max.saturating_sub(self.free.available_permits());
        self.metrics.connections(open, self.max);
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.free = None;
        self.places.record();
    }
}

/// The places reserved for probes.
#[derive(Debug)]
pub(super) struct ProbePlaces {
    waiting: Mutex<ProbeQueue>,
    answering: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct ProbeQueue {
    next: u64,
    oldest_first: VecDeque<(u64, CancellationToken)>,
}

/// One reserved place.
#[derive(Debug)]
pub(super) struct KeptPlace {
    kept: Arc<ProbePlaces>,
    number: u64,
    /// Cancelled when the place is given to another connection.
    pub(super) lost: CancellationToken,
    answering: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Default for ProbePlaces {
    fn default() -> Self {
        Self { waiting: Mutex::default(), answering: Arc::new(Semaphore::new(MAX_KEPT)) }
    }
}

impl ProbePlaces {
    /// Takes a reserved place; if all are taken, the new connection replaces the oldest one.
    pub(super) fn take(self: &Arc<Self>) -> KeptPlace {
        let lost = CancellationToken::new();
        let mut waiting = self.locked();
        let number = waiting.next;
        waiting.next += 1;
        waiting.oldest_first.push_back((number, lost.clone()));
        if waiting.oldest_first.len() > MAX_KEPT
            && let Some((_, oldest)) = waiting.oldest_first.pop_front()
        {
            oldest.cancel();
        }
        drop(waiting);
        KeptPlace { kept: self.clone(), number, lost, answering: Mutex::default() }
    }

    fn locked(&self) -> MutexGuard<'_, ProbeQueue> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptPlace {
    /// Called when a probe's request has arrived. If there is room, the connection is then no
    /// longer cut off before its response.
    pub(super) fn answers(&self) {
        let Ok(room) = self.kept.answering.clone().try_acquire_owned() else { return };
        *self.answering.lock().unwrap_or_else(PoisonError::into_inner) = Some(room);
        self.leave();
    }

    fn leave(&self) {
        self.kept.locked().oldest_first.retain(|(number, _)| *number != self.number);
    }
}

impl Drop for KeptPlace {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    fn places(max: usize, of_address: usize, proxies: &[&str]) -> Arc<ConnectionPlaces> {
        let proxies = proxies.iter().map(|network| network.parse().unwrap()).collect();
        ConnectionPlaces::new(max, of_address, proxies, Instruments::unread(Clock::system()))
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_its_share_and_a_proxy_has_all() {
        let places = places(4, 2, &["10.0.0.0/8"]);
        let (one, two) = (address("203.0.113.1"), address("203.0.113.2"));
        let first = places.take(one).unwrap();
        // The same address in IPv6 notation.
        let _second = places.take(address("::ffff:203.0.113.1")).unwrap();
        assert_eq!(places.take(one).err(), Some(ConnectionRefusal::Address));
        let _third = places.take(two).unwrap();
        let _fourth = places.take(address("10.1.1.1")).unwrap();
        assert_eq!(places.take(address("10.1.1.1")).err(), Some(ConnectionRefusal::Full));
        // A refused connection holds no place.
        assert_eq!(places.take(two).err(), Some(ConnectionRefusal::Full));
        drop(first);
        assert!(places.take(two).is_ok());
    }

    #[test]
    fn addresses_of_one_ipv6_network_share() {
        let places = places(4, 2, &["2001:db8:0:9::/64"]);
        let _first = places.take(address("2001:db8::1")).unwrap();
        let _second = places.take(address("2001:db8::ffff:0:0:2")).unwrap();
        let third = places.take(address("2001:db8::3"));
        assert_eq!(third.err(), Some(ConnectionRefusal::Address));
        let _other = places.take(address("2001:db8:0:1::1")).unwrap();
        // A proxy is recognised by its complete address, not by its network.
        assert!(places.take(address("2001:db8:0:9::7")).is_ok());
    }

    #[test]
    fn a_kept_place_goes_to_the_newest_unless_its_probe_is_being_answered() {
        let kept = Arc::new(ProbePlaces::default());
        let probe = kept.take();
        probe.answers();
        let held: Vec<_> = (0..MAX_KEPT).map(|_| kept.take()).collect();
        assert!(held.iter().all(|place| !place.lost.is_cancelled()));
        let _newest = kept.take();
        assert!(held[0].lost.is_cancelled() && !held[1].lost.is_cancelled());
        assert!(!probe.lost.is_cancelled());
        drop((held, probe));
        assert_eq!(kept.locked().oldest_first.len(), 1);
    }
}
