//! Sockets, which are never granted.

use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp_create_socket::create_udp_socket;

fn said(error: ErrorCode) -> String {
    error.name().to_owned()
}

fn local(port: u16) -> IpSocketAddress {
    IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (127, 0, 0, 1) })
}

pub fn connect(port: u16) -> Result<(), String> {
    let socket = create_tcp_socket(IpAddressFamily::Ipv4).map_err(said)?;
    let network = instance_network();
    socket.start_connect(&network, local(port)).map_err(said)?;
    socket.subscribe().block();
    socket.finish_connect().map(drop).map_err(said)
}

pub fn listen() -> Result<(), String> {
    let socket = create_tcp_socket(IpAddressFamily::Ipv4).map_err(said)?;
    let network = instance_network();
    socket.start_bind(&network, local(0)).map_err(said)?;
    socket.finish_bind().map_err(said)?;
    socket.start_listen().map_err(said)
}

pub fn datagram() -> Result<(), String> {
    let socket = create_udp_socket(IpAddressFamily::Ipv4).map_err(said)?;
    let network = instance_network();
    socket.start_bind(&network, local(0)).map_err(said)?;
    socket.finish_bind().map_err(said)
}

pub fn look_up(name: &str) -> Result<(), String> {
    let network = instance_network();
    resolve_addresses(&network, name).map(drop).map_err(said)
}
