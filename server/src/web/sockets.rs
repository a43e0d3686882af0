//! Limits how many WebSockets an address and a person may hold, and how many operations are in
//! progress on all sockets of a person. Each socket also holds a connection's place.

use std::{net::IpAddr, sync::Arc};

use uuid::Uuid;

use super::counter::{CountedItem, ItemCounter};
use crate::{access::network, config};

/// Maximum number of operations in progress on all sockets of a person, for each socket that a
/// person may have. Each subscription reads the database once a second, and up to twenty times a
/// second while much happens.
const OPERATIONS_PER_SOCKET: usize = 4;
/// The same for all sockets together, however few a person may have: one socket may have a hundred.
const MIN_OPERATIONS: usize = 200;

/// The open sockets of this server. Cheap to clone; clones share one count.
#[derive(Clone, Debug)]
pub(super) struct Sockets {
    max_of_address: usize,
    max_of_person: usize,
    max_operations: usize,
    addresses: Arc<ItemCounter<IpAddr>>,
    people: Arc<ItemCounter<Uuid>>,
    operations: Arc<ItemCounter<Uuid>>,
}

impl Sockets {
    pub(super) fn new(limits: &config::Connections) -> Self {
        let many = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
        let max_of_person = many(limits.sockets_per_person);
        let max_operations = max_of_person.saturating_mul(OPERATIONS_PER_SOCKET);
        Self {
            max_of_address: many(limits.sockets_per_address),
            max_of_person,
            max_operations: max_operations.max(MIN_OPERATIONS),
            addresses: Arc::default(),
            people: Arc::default(),
            operations: Arc::default(),
        }
    }

    /// Counts one more socket for an address.
    pub(super) fn of_address(&self, address: IpAddr) -> Result<CountedItem<IpAddr>, String> {
        self.addresses.take(network(address), self.max_of_address).ok_or_else(|| {
            let max = self.max_of_address;
            format!(
                "this address has {max} sockets open, the maximum \
                 (connections.sockets_per_address); close some"
            )
        })
    }

    /// Counts one more socket for a user, a service account or a token.
    pub(super) fn of_person(&self, id: Uuid) -> Result<CountedItem<Uuid>, String> {
        self.people.take(id, self.max_of_person).ok_or_else(|| {
            let max = self.max_of_person;
            format!(
                "you have {max} sockets open, the maximum (connections.sockets_per_person); close \
                 some"
            )
        })
    }

    /// Counts one more operation in progress of a user, a service account or a token.
    pub(super) fn operation_of(&self, id: Uuid) -> Result<CountedItem<Uuid>, String> {
        self.operations.take(id, self.max_operations).ok_or_else(|| {
            let max = self.max_operations;
            format!(
                "you have {max} operations in progress on all of your sockets, the maximum \
                 (connections.sockets_per_person); end some"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_who_may_have_more_sockets_may_have_more_operations() {
        let max = |sockets_per_person| {
            let limits =
                config::Connections { sockets_per_person, ..config::Connections::default() };
            Sockets::new(&limits).max_operations
        };
        assert_eq!([max(1), max(50), max(500)], [200, 200, 2_000]);
    }

    #[test]
    fn addresses_of_one_ipv6_network_share() {
        let limits =
            config::Connections { sockets_per_address: 2, ..config::Connections::default() };
        let sockets = Sockets::new(&limits);
        let of = |address: &str| sockets.of_address(address.parse().unwrap());
        let held = [of("2001:db8::1").unwrap(), of("2001:db8::ffff:0:0:2").unwrap()];
        assert!(of("2001:db8::3").unwrap_err().contains("connections.sockets_per_address"));
        let _other = of("2001:db8:0:1::1").unwrap();
        drop(held);
        assert!(of("2001:db8::3").is_ok());
    }
}
