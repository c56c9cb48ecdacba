//! How the browser is started.

/// Arguments for a browser whose only way out is the proxy on `proxy_port` of its own loopback
/// interface, and whose profile is thrown away.
///
/// It runs inside of a sandbox that has no other network, no files of the user's and no way to
/// make namespaces of its own; so its inner sandbox, which needs those, is left out.
pub fn arguments(profile: &str, proxy_port: u16) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--headless=new",
        "--remote-debugging-pipe",
        "--no-sandbox",
        "--no-first-run",
        "--no-default-browser-check",
        // Everything through the proxy, addresses of the machine itself, too.
        "--proxy-bypass-list=<-loopback>",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--force-webrtc-ip-handling-policy",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-domain-reliability",
        "--disable-sync",
        "--disable-breakpad",
        "--disable-crash-reporter",
        "--disable-default-apps",
        "--disable-extensions",
        "--disable-gpu",
        "--disable-notifications",
        "--disable-speech-api",
        "--disable-client-side-phishing-detection",
        "--disable-features=Translate,OptimizationHints,MediaRouter,AutofillServerCommunication,CertificateTransparencyComponentUpdater",
        "--metrics-recording-only",
        "--mute-audio",
        "--no-pings",
        "--password-store=basic",
        "--use-mock-keychain",
        "--hide-scrollbars",
        "--window-size=1280,1024",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("--user-data-dir={profile}"));
    arguments.push(format!("--proxy-server=http://127.0.0.1:{proxy_port}"));
    arguments
}
