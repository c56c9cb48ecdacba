//! Systems on which no port of a command is published.

use std::io;
use std::net::TcpStream;

/// Way to the servers of a command, which has no values here.
#[derive(Debug)]
pub enum Dialer {}

impl Dialer {
    /// Connects to a port of the command's loopback interface.
    pub fn connect(&self, _: u16) -> io::Result<TcpStream> {
        match *self {}
    }
}
