//! A minimal transaction-mode pooler: it resets all settings after each transaction.

use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Starts a pooler for a server, which runs until the test ends. Returns its port.
pub fn pooler(server: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || {
                let server = TcpStream::connect(("127.0.0.1", server)).expect("a server");
                // Ends when either side disconnects.
                let _ = serve(client, server);
            });
        }
    });
    port
}

/// Reads a message and returns its type and all its bytes.
fn message(from: &mut TcpStream) -> Result<(u8, Vec<u8>)> {
    let mut all = vec![0; 5];
    from.read_exact(&mut all)?;
    let length = u32::from_be_bytes([all[1], all[2], all[3], all[4]]);
    all.resize(1 + length as usize, 0);
    from.read_exact(&mut all[5..])?;
    Ok((all[0], all))
}

/// Reads the first message, which has no type byte.
fn first(from: &mut TcpStream) -> Result<Vec<u8>> {
    let mut all = vec![0; 4];
    from.read_exact(&mut all)?;
    let length = u32::from_be_bytes([all[0], all[1], all[2], all[3]]);
    all.resize(length as usize, 0);
    from.read_exact(&mut all[4..])?;
    Ok(all)
}

fn serve(mut client: TcpStream, mut server: TcpStream) -> Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    server.write_all(&first(&mut client)?)?;
    loop {
        let (kind, all) = message(&mut server)?;
        client.write_all(&all)?;
        // An authentication request that the client must answer.
        if kind == b'R' && [3, 5, 10, 11].contains(&all[8]) {
            server.write_all(&message(&mut client)?.1)?;
        }
        if kind == b'Z' {
            break;
        }
    }
    loop {
        let kind = loop {
            let (kind, all) = message(&mut client)?;
            server.write_all(&all)?;
            if [b'S', b'Q', b'X'].contains(&kind) {
                break kind;
            }
        };
        if kind == b'X' {
            return Err(Error::from(ErrorKind::ConnectionAborted));
        }
        if is_idle_after(&mut server, Some(&mut client))? {
            let reset = b"RESET ALL\0";
            let length = u32::try_from(reset.len() + 4).expect("small").to_be_bytes();
            server.write_all(&[&b"Q"[..], &length, reset].concat())?;
            is_idle_after(&mut server, None)?;
        }
    }
}

/// Forwards an answer. Returns `true` if no transaction is open after it.
fn is_idle_after(server: &mut TcpStream, mut client: Option<&mut TcpStream>) -> Result<bool> {
    loop {
        let (kind, all) = message(server)?;
        if let Some(client) = client.as_mut() {
            client.write_all(&all)?;
        }
        if kind == b'Z' {
            return Ok(all[5] == b'I');
        }
    }
}
