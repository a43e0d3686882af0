//! Tells systemd that the server is ready, for a unit of `Type=notify`.

use std::{
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
};

use crate::config::variable;

/// Tells systemd that the server is ready. Does nothing where systemd has not asked for it.
pub(super) fn ready() {
    let Some(socket) = variable("NOTIFY_SOCKET") else { return };
    if let Err(error) = tell(&socket, "READY=1") {
        tracing::warn!(%error, "failed to tell systemd that the server is ready");
    }
}

fn tell(socket: &str, message: &str) -> io::Result<()> {
    // A name that begins with @ is an abstract one, not that of a file.
    let address = match socket.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_socket_is_a_file_or_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("carillon-test-{}", Uuid::now_v7());
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        for (socket, address) in [
            (UnixDatagram::bind(&path).unwrap(), path.to_str().unwrap().to_owned()),
            (UnixDatagram::bind_addr(&abstract_name).unwrap(), format!("@{name}")),
        ] {
            tell(&address, "READY=1").unwrap();
            let mut message = [0; 16];
            let length = socket.recv(&mut message).unwrap();
            assert_eq!(&message[..length], b"READY=1");
        }
        assert!(tell("/nowhere/notify", "READY=1").is_err());
    }
}
