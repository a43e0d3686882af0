use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::guard::{Egress, NameRefused};

/// Resolves names for the client, and hands on only addresses that may be reached.
pub(crate) struct Resolver {
    egress: Egress,
}

impl Resolver {
    /// A resolver that judges by `egress`.
    pub(crate) fn new(egress: Egress) -> Self {
        Self { egress }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let egress = self.egress;
        Box::pin(async move {
            let name = name.as_str().to_owned();
            // Port 0 stands for the one in the URL.
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let mut admitted = Vec::with_capacity(found.len());
            let mut refused = None;
            for address in found {
                match egress.admit_address(address.ip()) {
                    Ok(()) => admitted.push(address),
                    Err(reason) => refused = refused.or(Some(reason)),
                }
            }
            match refused {
                Some(reason) if admitted.is_empty() => Err(NameRefused { name, reason }.into()),
                Some(_) | None => Ok(Box::new(admitted.into_iter()) as Addrs),
            }
        })
    }
}
