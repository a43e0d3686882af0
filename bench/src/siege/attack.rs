use std::time::Duration;

use anyhow::Result;
use carillon::clock::Clock;
use serde_json::json;

use super::{
    callers::{asks, hold, largest, repeat, saves, socket_head},
    camp::Camp,
    tenants, texts,
};

/// An attack on the server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attack {
    /// No attack: the baseline.
    Calm,
    /// An editor saves deeply nested templates.
    DeepTemplates,
    /// An editor saves templates that are expensive to check or to render.
    WideTemplates,
    /// Unauthenticated callers request the introspection of the schema.
    Introspection,
    /// A viewer requests hundreds of previews at once.
    Previews,
    /// A viewer requests the list of zones as many times as one document may.
    Zones,
    /// A viewer requests a page of 200 schedules, with their warnings and descriptions, as many
    /// times as one document may.
    Listings,
    /// A namespace has as many schedules that fire every second as its quota allows.
    Crowd,
    /// The target of 900 runs of a namespace does not answer.
    Hanging,
    /// Unauthenticated callers open WebSockets and send nothing.
    Sockets,
    /// Unauthenticated callers send a large message over a WebSocket.
    LargeMessages,
    /// A viewer sends the largest bodies over many connections, and holds back their ends.
    Bodies,
    /// Unauthenticated callers open connections that begin HTTP/2 and then stop.
    Prefaces,
    /// Unauthenticated callers send only half the head of a request.
    Heads,
    /// A page of another site sends requests with a long origin.
    Origins,
}

impl Attack {
    pub(super) const ALL: [Self; 15] = [
        Self::Calm,
        Self::DeepTemplates,
        Self::WideTemplates,
        Self::Introspection,
        Self::Previews,
        Self::Zones,
        Self::Listings,
        Self::Crowd,
        Self::Hanging,
        Self::Sockets,
        Self::LargeMessages,
        Self::Bodies,
        Self::Prefaces,
        Self::Heads,
        Self::Origins,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::DeepTemplates => "deep templates",
            Self::WideTemplates => "wide templates",
            Self::Introspection => "introspection by strangers",
            Self::Previews => "450 previews in a document",
            Self::Zones => "zones in a document",
            Self::Listings => "pages of schedules in a document",
            Self::Crowd => "a quota of every-second schedules",
            Self::Hanging => "900 requests that hang",
            Self::Sockets => "silent WebSockets",
            Self::LargeMessages => "large messages over WebSockets",
            Self::Bodies => "large bodies without an end",
            Self::Prefaces => "beginnings of HTTP/2",
            Self::Heads => "half-sent heads",
            Self::Origins => "long origins of other sites",
        }
    }

    /// Whether the callers have no session and no token.
    pub(super) fn is_by_strangers(self) -> bool {
        match self {
            Self::Introspection
            | Self::Sockets
            | Self::LargeMessages
            | Self::Prefaces
            | Self::Heads
            | Self::Origins => true,
            Self::Calm
            | Self::DeepTemplates
            | Self::WideTemplates
            | Self::Previews
            | Self::Zones
            | Self::Listings
            | Self::Crowd
            | Self::Hanging
            | Self::Bodies => false,
        }
    }

    /// Attacks for this long. Returns the number of requests that were answered.
    pub(super) async fn carry_out(
        self,
        camp: &Camp,
        clock: &Clock,
        time: Duration,
    ) -> Result<usize> {
        let nowhere = "http://127.0.0.1:9/";
        match self {
            Self::Calm => {
                clock.sleep(time).await;
                Ok(0)
            }
            Self::DeepTemplates => {
                saves(camp, clock, time, &texts::deep_templates(), nowhere).await
            }
            Self::WideTemplates => {
                saves(camp, clock, time, &texts::wide_templates(), nowhere).await
            }
            Self::Introspection => {
                let body = json!({ "query": texts::introspection() }).to_string();
                asks(camp, clock, time, None, &body).await
            }
            Self::Previews => {
                let body = json!({ "query": texts::previews(450) }).to_string();
                asks(camp, clock, time, Some(&camp.viewer), &body).await
            }
            Self::Zones => {
                let body = largest(camp, clock, texts::zones).await?;
                asks(camp, clock, time, Some(&camp.viewer), &body).await
            }
            Self::Listings => {
                tenants::page(camp).await?;
                let body = largest(camp, clock, texts::listings).await?;
                asks(camp, clock, time, Some(&camp.viewer), &body).await
            }
            Self::Crowd => tenants::crowd(camp, clock, time).await,
            Self::Hanging => tenants::hanging(camp, clock, time).await,
            Self::Sockets => hold(camp, clock, time, &socket_head(camp)).await,
            Self::LargeMessages => {
                let mut begun = socket_head(camp);
                // The header of a masked text frame of a megabyte, and half of its content.
                begun.extend([0x81, 0xFF, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 2, 3, 4]);
                begun.resize(begun.len() + 512 * 1024, b'x');
                hold(camp, clock, time, &begun).await
            }
            Self::Bodies => {
                let head = format!(
                    "POST /graphql HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
                     content-type: application/json\r\ncontent-length: 4000000\r\n\r\n",
                    camp.address(),
                    camp.viewer
                );
                let mut begun = head.into_bytes();
                begun.resize(begun.len() + 3_900_000, b' ');
                hold(camp, clock, time, &begun).await
            }
            Self::Prefaces => hold(camp, clock, time, b"PRI * HT").await,
            Self::Heads => hold(camp, clock, time, b"GET / HTTP/1.1\r\nhost: x\r\n").await,
            Self::Origins => {
                let origin = format!("origin: https://{}.example\r\n", "x".repeat(7_000));
                let head = format!(
                    "POST /graphql HTTP/1.1\r\nhost: {}\r\ncookie: carillon-0=x\r\n{origin}\
                     content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}",
                    camp.address()
                );
                repeat(camp, clock, time, head.as_bytes()).await
            }
        }
    }
}
