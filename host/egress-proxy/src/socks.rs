//! SOCKS 5 (RFC 1928): `CONNECT` without authentication.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Reply code.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reply {
    Succeeded = 0,
    NotAllowed = 2,
    Unreachable = 4,
    UnknownCommand = 7,
    UnknownAddress = 8,
}

/// Reads the greeting and the request. Returns `None` if the request was already refused. The host is
/// returned unvalidated and may contain any byte.
pub(crate) fn ask(client: &mut (impl Read + Write)) -> io::Result<Option<(Vec<u8>, u16)>> {
    let [_version, methods] = take(client)?;
    let mut offered = vec![0; methods.into()];
    client.read_exact(&mut offered)?;
    if !offered.contains(&0) {
        client.write_all(&[5, 0xff])?;
        return Ok(None);
    }
    client.write_all(&[5, 0])?;
    let [version, command, _reserved, kind] = take(client)?;
    if version != 5 || command != 1 {
        reply(client, Reply::UnknownCommand)?;
        return Ok(None);
    }
    let host = match kind {
        1 => Ipv4Addr::from(take::<4>(client)?).to_string().into_bytes(),
        4 => format!("[{}]", Ipv6Addr::from(take::<16>(client)?)).into_bytes(),
        3 => {
            let [length] = take(client)?;
            let mut name = vec![0; length.into()];
            client.read_exact(&mut name)?;
            name
        }
        _ => {
            reply(client, Reply::UnknownAddress)?;
            return Ok(None);
        }
    };
    Ok(Some((host, u16::from_be_bytes(take(client)?))))
}

/// Sends a reply.
pub(crate) fn reply(client: &mut impl Write, reply: Reply) -> io::Result<()> {
    client.write_all(&[5, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0])
}

fn take<const N: usize>(client: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}
