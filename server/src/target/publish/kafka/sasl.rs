//! Signing in to a broker.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};

use super::{
    codes,
    link::KafkaRequest,
    requests::{SaslAnswer, sasl_authenticate, sasl_handshake},
    scram::{self, Scram},
};
use crate::target::publish::{
    definition::{Kafka, Sasl},
    link::Link,
    problem::PublishProblem,
};

/// Signs in, if the definition has a user name.
pub(super) async fn sign_in(
    link: &Link<KafkaRequest>,
    kafka: &Kafka,
) -> Result<(), PublishProblem> {
    let connection = &kafka.connection;
    let Some((name, password)) = connection.username.as_ref().zip(connection.password.as_ref())
    else {
        return Ok(());
    };
    let password = password.expose();
    match kafka.sasl {
        Sasl::Plain => {
            begin(link, "PLAIN").await?;
            step(link, &format!("\0{name}\0{password}")).await.map(drop)
        }
        Sasl::ScramSha256 => prove(link, scram::sha_256(), name, password).await,
        Sasl::ScramSha512 => prove(link, scram::sha_512(), name, password).await,
    }
}

async fn begin(link: &Link<KafkaRequest>, mechanism: &str) -> Result<(), PublishProblem> {
    match sasl_handshake(link, mechanism).await? {
        (codes::NONE, _) => Ok(()),
        (_, known) => {
            let known = known.join(", ");
            Err(PublishProblem::broken(format!(
                "the broker does not know {mechanism}; it knows {known}"
            )))
        }
    }
}

async fn step(link: &Link<KafkaRequest>, said: &str) -> Result<String, PublishProblem> {
    let SaslAnswer { code, text, data } = sasl_authenticate(link, said.as_bytes()).await?;
    if code == codes::NONE {
        Ok(String::from_utf8_lossy(&data).into_owned())
    } else if text.is_empty() {
        Err(PublishProblem::broken(codes::text(code)))
    } else {
        Err(PublishProblem::broken(text))
    }
}

async fn prove(
    link: &Link<KafkaRequest>,
    scram: Scram,
    name: &str,
    password: &str,
) -> Result<(), PublishProblem> {
    begin(link, scram.name).await?;
    let mut random = [0; 24];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| PublishProblem::broken("the system has no random bytes"))?;
    let nonce = STANDARD_NO_PAD.encode(random);
    let first = scram::first(name, &nonce);
    let answer = step(link, &format!("n,,{first}")).await?;
    let last = scram
        .answer(password, &nonce, &first, &answer)
        .ok_or_else(|| PublishProblem::broken("the broker does not speak SCRAM"))?;
    let proven = step(link, &last.said).await?;
    if proven != last.expected {
        return Err(PublishProblem::broken("the broker does not know the password itself"));
    }
    Ok(())
}
