//! Signing in to a Kafka broker. Tansu asks no client for a password, so this broker is scripted.
//! It stores the values derived from a password that RFC 5802 describes, and checks proofs with
//! them.

use std::{
    num::NonZeroU32,
    sync::{Arc, Mutex},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{digest, hmac, pbkdf2};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::{
    faults::{published, refused},
    kafka_duplicates::{
        INIT_PRODUCER_ID, METADATA, PRODUCE, TAKEN, metadata, number, produced, producer, read,
        text, write,
    },
};

const SASL_HANDSHAKE: i16 = 17;
const SASL_AUTHENTICATE: i16 = 36;

const UNSUPPORTED: i16 = 33;
const WRONG: i16 = 58;

/// The position of a request's own fields, after the head with the client's name.
const FIELDS: usize = 2 + 2 + 4 + 2 + "carillon".len();

/// A name with both characters that SCRAM escapes.
const NAME: &str = "mailer,eu=1";
const PASSWORD: &str = "open-sesame-417";
const ROUNDS: u32 = 4_096;

/// The broker's knowledge of its only user.
struct Guard {
    mechanism: &'static str,
    hash: &'static digest::Algorithm,
    sign: hmac::Algorithm,
    salt: &'static [u8],
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
    /// The number of times that a client has signed in.
    entered: Mutex<usize>,
}

/// A connection whose client is signing in.
#[derive(Default)]
struct Entrance {
    is_begun: bool,
    is_in: bool,
    /// The first SCRAM messages of the client and of the broker.
    first: Option<(String, String)>,
}

/// An error code, and the data of the broker's answer.
type Step = (i16, String);

impl Guard {
    /// Begins to listen with this password; returns the address.
    async fn start(mechanism: &'static str, password: &str) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        let guard = Arc::new(Self::new(mechanism, password));
        let acting = guard.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let guard = acting.clone();
                tokio::spawn(async move { guard.serve(stream, place.port()).await });
            }
        });
        (guard, place.to_string())
    }

    fn new(mechanism: &'static str, password: &str) -> Self {
        let (derive, hash, sign) = match mechanism {
            "SCRAM-SHA-512" => (pbkdf2::PBKDF2_HMAC_SHA512, &digest::SHA512, hmac::HMAC_SHA512),
            _ => (pbkdf2::PBKDF2_HMAC_SHA256, &digest::SHA256, hmac::HMAC_SHA256),
        };
        let salt = b"a grain of salt";
        let mut salted = vec![0; hash.output_len()];
        let rounds = NonZeroU32::new(ROUNDS).unwrap();
        pbkdf2::derive(derive, rounds, salt, password.as_bytes(), &mut salted);
        let key = hmac::Key::new(sign, &salted);
        let client_key = hmac::sign(&key, b"Client Key");
        Self {
            mechanism,
            hash,
            sign,
            salt,
            stored_key: digest::digest(hash, client_key.as_ref()).as_ref().to_vec(),
            server_key: hmac::sign(&key, b"Server Key").as_ref().to_vec(),
            entered: Mutex::default(),
        }
    }

    async fn serve(&self, mut stream: TcpStream, port: u16) -> Option<()> {
        let mut entrance = Entrance::default();
        loop {
            let asked = read(&mut stream).await?;
            let answer = match number(&asked, 0, i16::from_be_bytes) {
                SASL_HANDSHAKE => self.begin(&mut entrance, &asked[FIELDS + 2..]),
                SASL_AUTHENTICATE => {
                    let said = String::from_utf8(asked[FIELDS + 4..].to_vec()).unwrap();
                    let (code, data) = self.step(&mut entrance, &said);
                    let length = u32::try_from(data.len()).unwrap().to_be_bytes();
                    [&code.to_be_bytes()[..], &text(""), &length, data.as_bytes()].concat()
                }
                // The broker answers no other request before the client has signed in.
                _ if !entrance.is_in => return None,
                METADATA => metadata(&[port], 0, TAKEN),
                INIT_PRODUCER_ID => producer(1),
                PRODUCE => produced(TAKEN),
                other => panic!("a request of kind {other}"),
            };
            write(&mut stream, &asked, &answer).await?;
        }
    }

    fn begin(&self, entrance: &mut Entrance, mechanism: &[u8]) -> Vec<u8> {
        entrance.is_begun = mechanism == self.mechanism.as_bytes();
        let code = if entrance.is_begun { TAKEN } else { UNSUPPORTED };
        [&code.to_be_bytes()[..], &1_u32.to_be_bytes(), &text(self.mechanism)].concat()
    }

    fn step(&self, entrance: &mut Entrance, said: &str) -> Step {
        assert!(entrance.is_begun, "the mechanism comes first");
        let step = match (self.mechanism, entrance.first.take()) {
            ("PLAIN", _) if said == format!("\0{NAME}\0{PASSWORD}") => (TAKEN, String::new()),
            ("PLAIN", _) => (WRONG, String::new()),
            (_, None) => return self.first(entrance, said),
            (_, Some((client, own))) => self.last(said, &client, &own),
        };
        entrance.is_in = step.0 == TAKEN;
        *self.entered.lock().unwrap() += usize::from(entrance.is_in);
        step
    }

    fn first(&self, entrance: &mut Entrance, said: &str) -> Step {
        let client = said.strip_prefix("n,,").unwrap();
        let (name, nonce) = client.strip_prefix("n=").unwrap().split_once(",r=").unwrap();
        if name.replace("=2C", ",").replace("=3D", "=") != NAME {
            return (WRONG, String::new());
        }
        let salt = STANDARD.encode(self.salt);
        let own = format!("r={nonce}-and-more,s={salt},i={ROUNDS}");
        entrance.first = Some((client.to_owned(), own.clone()));
        (TAKEN, own)
    }

    fn last(&self, said: &str, client: &str, own: &str) -> Step {
        let (without_proof, proof) = said.rsplit_once(",p=").unwrap();
        let nonce = own.split(',').next().unwrap();
        assert_eq!(without_proof, format!("c=biws,{nonce}"));
        let told = format!("{client},{own},{without_proof}");
        let signed = |key: &[u8]| hmac::sign(&hmac::Key::new(self.sign, key), told.as_bytes());
        let signature = signed(&self.stored_key);
        let proof = STANDARD.decode(proof).unwrap();
        let client_key: Vec<u8> =
            proof.iter().zip(signature.as_ref()).map(|(proof, own)| proof ^ own).collect();
        if digest::digest(self.hash, &client_key).as_ref() != self.stored_key {
            return (WRONG, String::new());
        }
        (TAKEN, format!("v={}", STANDARD.encode(signed(&self.server_key))))
    }

    fn entered(&self) -> usize {
        *self.entered.lock().unwrap()
    }
}

fn definition(server: &str, sasl: &str, name: &str, password: &str) -> Value {
    json!({ "publish": { "to": { "kafka": {
        "connection": { "servers": [server], "username": name, "password": password },
        "sasl": sasl, "topic": "orders",
    } } } })
}

const MECHANISMS: [(&str, &str); 3] =
    [("plain", "PLAIN"), ("scram_sha_256", "SCRAM-SHA-256"), ("scram_sha_512", "SCRAM-SHA-512")];

#[tokio::test]
async fn who_knows_the_password_may_publish() {
    for (sasl, mechanism) in MECHANISMS {
        let (guard, place) = Guard::start(mechanism, PASSWORD).await;
        let output = published(definition(&place, sasl, NAME, PASSWORD)).await;
        assert_eq!(output["offset"], 70, "{mechanism}");
        assert!(guard.entered() >= 1, "{mechanism}");
    }
}

#[tokio::test]
async fn a_wrong_name_or_password_is_the_attempts_error_and_is_not_repeated_in_it() {
    for (sasl, mechanism) in MECHANISMS {
        let (guard, place) = Guard::start(mechanism, PASSWORD).await;
        for (name, password) in [(NAME, "open-sesame-418"), ("nobody", PASSWORD)] {
            let message = refused(definition(&place, sasl, name, password)).await;
            let of_place = message.starts_with(&place);
            assert!(of_place && message.ends_with("(error 58)"), "{mechanism}: {message}");
            assert!(!message.contains("sesame"), "{mechanism}: {message}");
        }
        assert_eq!(guard.entered(), 0, "{mechanism}");
    }
}

#[tokio::test]
async fn a_mechanism_that_the_broker_lacks_is_named_with_those_that_it_has() {
    let (_guard, place) = Guard::start("SCRAM-SHA-512", PASSWORD).await;
    let message = refused(definition(&place, "plain", NAME, PASSWORD)).await;
    assert!(message.contains("PLAIN") && message.ends_with("SCRAM-SHA-512"), "{message}");
}

/// A broker that cannot prove that it knows the password is not the intended one, and must not get
/// the event.
#[tokio::test]
async fn a_broker_that_cannot_prove_the_password_gets_no_event() {
    for (sasl, mechanism) in MECHANISMS.into_iter().skip(1) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap();
        // The impostor accepts the client's proof, but answers with the proof of another password.
        let (mut impostor, other) =
            (Guard::new(mechanism, PASSWORD), Guard::new(mechanism, "another"));
        impostor.server_key = other.server_key;
        let impostor = Arc::new(impostor);
        let acting = impostor.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let impostor = acting.clone();
                tokio::spawn(async move { impostor.serve(stream, place.port()).await });
            }
        });
        let message = refused(definition(&place.to_string(), sasl, NAME, PASSWORD)).await;
        assert!(message.contains("does not know the password"), "{message}");
        assert!(impostor.entered() >= 1, "it would have taken the event");
    }
}
