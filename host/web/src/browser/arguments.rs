//! Command-line arguments of the browser.

/// Returns the arguments for a browser with a temporary profile, whose only network access is the proxy on
/// `proxy_port` of its loopback interface.
///
/// The browser runs in a sandbox without other networks, without the user's files, and without permission to
/// create namespaces. Its inner sandbox needs namespaces and is therefore disabled.
pub fn arguments(profile: &str, proxy_port: u16) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--headless=new",
        "--remote-debugging-pipe",
        "--no-sandbox",
        "--no-first-run",
        "--no-default-browser-check",
        // Sends everything through the proxy, including requests to loopback addresses.
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
