//! Fuzzes input to the proxy: it forwards exactly one request, to the host that the policy check approved.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((host, port, head)) = scorpiox_egress_proxy::read_head(bytes) else { return };
    assert!(!host.is_empty() && port > 0);
    assert!(host.bytes().all(|byte| byte.is_ascii_graphic()), "{host:?}");
    if head.is_empty() {
        return;
    }
    let text = String::from_utf8(head).expect("text");
    let (lines, end) = text.split_at(text.len() - 4);
    assert_eq!(end, "\r\n\r\n");
    let mut lines = lines.split("\r\n");
    let request = lines.next().expect("a request line");
    assert!(request.ends_with(" HTTP/1.1") && request.matches(' ').count() == 2, "{request:?}");
    let mut hosts = 0;
    for line in lines {
        assert!(!line.contains(['\r', '\n']) && line.contains(':'), "{line:?}");
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        hosts += u32::from(name == "host");
        assert!(name != "transfer-encoding" && name != "proxy-authorization", "{line:?}");
    }
    assert_eq!(hosts, 1);
});
