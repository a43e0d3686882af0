use std::{error::Error, io, net::SocketAddr, sync::Arc};

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{
    guard::{EgressGuard, NameRefused},
    lookups::{self, Lookup},
};

/// Resolves names for the client, and returns only addresses that may be reached. A name is
/// resolved once for each connection, and the client connects to the checked address.
pub(crate) struct Resolver {
    egress: EgressGuard,
    lookup: Arc<Lookup>,
}

impl Resolver {
    /// A resolver that uses the system's name resolution, for a limited number of names of each
    /// namespace at once, and checks each answer against `egress`.
    pub(crate) fn new(egress: EgressGuard) -> Self {
        let asking = Self::asking(egress, |name| {
            // Port 0 means the port in the URL.
            Box::pin(async move { Ok(tokio::net::lookup_host((&*name, 0)).await?.collect()) })
        });
        Self { lookup: lookups::limited(lookups::places(), asking.lookup), egress }
    }

    /// A resolver that uses `lookup`.
    pub(crate) fn asking(
        egress: EgressGuard,
        lookup: impl Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { egress, lookup: Arc::new(lookup) }
    }
}

impl Resolver {
    /// The addresses of a name that may be reached, with port 0.
    pub(crate) async fn admitted(&self, name: &str) -> Result<Vec<SocketAddr>, Unreachable> {
        let found = (self.lookup)(name.to_owned());
        judged(self.egress, name, found).await
    }
}

/// Why a name cannot be used.
type Unreachable = Box<dyn Error + Send + Sync>;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (egress, name) = (self.egress, name.as_str().to_owned());
        let found = (self.lookup)(name.clone());
        Box::pin(async move {
            let admitted = judged(egress, &name, found).await?;
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

async fn judged(
    egress: EgressGuard,
    name: &str,
    found: BoxFuture<'static, io::Result<Vec<SocketAddr>>>,
) -> Result<Vec<SocketAddr>, Unreachable> {
    let found = found.await?;
    let mut admitted = Vec::with_capacity(found.len());
    let mut refused = None;
    for address in found {
        match egress.admit_address(address.ip()) {
            Ok(()) => admitted.push(address),
            Err(reason) => refused = refused.or(Some(reason)),
        }
    }
    match refused {
        Some(reason) if admitted.is_empty() => {
            Err(NameRefused { name: name.to_owned(), reason }.into())
        }
        Some(_) | None => Ok(admitted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_a_mixed_answer_only_what_is_admitted_is_handed_on() {
        let at = |text: &str| SocketAddr::new(text.parse().unwrap(), 0);
        let mixed = ["127.0.0.1", "8.8.8.8", "169.254.169.254", "::1", "2a00::1"].map(at);
        for (private, handed_on) in [
            (false, vec!["8.8.8.8", "2a00::1"]),
            (true, vec!["127.0.0.1", "8.8.8.8", "::1", "2a00::1"]),
        ] {
            let resolver = Resolver::asking(EgressGuard::new(private), move |name| {
                assert_eq!(name, "mixed.test");
                Box::pin(std::future::ready(Ok(mixed.to_vec())))
            });
            let found = resolver.resolve("mixed.test".parse().unwrap()).await.unwrap();
            let handed_on: Vec<_> = handed_on.into_iter().map(at).collect();
            assert_eq!(found.collect::<Vec<_>>(), handed_on);
        }
    }
}
