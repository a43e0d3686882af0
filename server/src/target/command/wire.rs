//! Sends launches to the starter of programs. Each launch is one message on a socket, with the open
//! files that belong to it.

use std::{
    fs::File,
    io::{self, IoSlice, IoSliceMut, Seek, SeekFrom, Write},
    os::fd::{AsRawFd, OwnedFd},
};

use nix::{
    errno::Errno,
    sys::{
        memfd::{MFdFlags, memfd_create},
        socket::{
            AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType,
            recvmsg, sendmsg, socketpair,
        },
    },
};
use serde::{Serialize, de::DeserializeOwned};

/// The two ends of a socket that preserves message boundaries and reports when the other end is
/// closed.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC;
    Ok(socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?)
}

/// Maximum size in bytes of a message whose text is in the message itself. As many of these as
/// programs start at the same time fit into the socket's buffer, so sending does not block.
const MAX_INLINE_BYTES: usize = 4 * 1024;

/// Sends a message with `files`. The message may have any size, because the text of a large one is
/// sent as one more file, which is the first.
pub(super) fn send(
    socket: &OwnedFd,
    message: &impl Serialize,
    files: &[OwnedFd],
) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let is_large = text.len() > MAX_INLINE_BYTES;
    let written = is_large.then(|| file_of(&text)).transpose()?;
    let mut descriptors: Vec<_> = written.iter().map(AsRawFd::as_raw_fd).collect();
    descriptors.extend(files.iter().map(AsRawFd::as_raw_fd));
    let rights = [ControlMessage::ScmRights(&descriptors)];
    let letter: &[u8] = if is_large { b"launch" } else { &text };
    let (letter, flags) = ([IoSlice::new(letter)], MsgFlags::MSG_NOSIGNAL);
    sendmsg::<()>(socket.as_raw_fd(), &letter, &rights, flags, None)?;
    Ok(())
}

/// A file in memory with that text.
fn file_of(text: &[u8]) -> io::Result<File> {
    let mut written = File::from(memfd_create(c"launch", MFdFlags::MFD_CLOEXEC)?);
    written.write_all(text)?;
    written.seek(SeekFrom::Start(0))?;
    Ok(written)
}

/// Waits for the next message; `None` when the other end is gone.
pub(super) fn receive<const N: usize, T: DeserializeOwned>(
    socket: &OwnedFd,
) -> io::Result<Option<(T, [OwnedFd; N])>> {
    let mut letter = [0; MAX_INLINE_BYTES];
    let mut space = nix::cmsg_space!([i32; 16]);
    let (bytes, mut received) = loop {
        let mut parts = [IoSliceMut::new(&mut letter)];
        let (space, flags) = (Some(space.as_mut_slice()), MsgFlags::MSG_CMSG_CLOEXEC);
        match recvmsg::<()>(socket.as_raw_fd(), &mut parts, space, flags) {
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
            Ok(message) => {
                let mut received: Vec<OwnedFd> = Vec::new();
                for control in message.cmsgs()? {
                    if let ControlMessageOwned::ScmRights(descriptors) = control {
                        received.extend(descriptors.into_iter().map(owned));
                    }
                }
                break (message.bytes, received);
            }
        }
    };
    if bytes == 0 {
        return Ok(None);
    }
    let message = if received.len() > N {
        let text = File::from(received.remove(0));
        serde_json::from_reader(io::BufReader::new(text))?
    } else {
        serde_json::from_slice(&letter[..bytes])?
    };
    let files = received.try_into().map_err(|_| io::Error::other("a message without its files"))?;
    Ok(Some((message, files)))
}

#[expect(unsafe_code, reason = "descriptors that came with a message have no other form")]
fn owned(descriptor: i32) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: the system created the descriptor for this message, and nothing else uses it.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_large_message_and_its_files_arrive() {
        let (near, far) = pair().unwrap();
        let text = "x".repeat(1_000_000);
        let (mut reader, writer) = io::pipe().unwrap();
        send(&near, &text, &[writer.into()]).unwrap();
        let (received, [writer]) = receive::<1, String>(&far).unwrap().unwrap();
        assert_eq!(received, text);
        File::from(writer).write_all(b"by the pipe").unwrap();
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "by the pipe");
        drop(near);
        assert!(receive::<1, String>(&far).unwrap().is_none());
    }

    #[test]
    fn messages_of_all_sizes_around_the_largest_inline_one_arrive() {
        let (near, far) = pair().unwrap();
        for size in MAX_INLINE_BYTES - 4..MAX_INLINE_BYTES + 4 {
            let text = "y".repeat(size);
            let (_reader, writer) = io::pipe().unwrap();
            send(&near, &text, &[writer.into()]).unwrap();
            let (received, [_writer]) = receive::<1, String>(&far).unwrap().unwrap();
            assert_eq!(received, text);
        }
    }

    #[test]
    fn a_message_without_a_receiver_is_an_error() {
        let (near, far) = pair().unwrap();
        drop(far);
        assert!(send(&near, &1, &[]).is_err());
    }
}
