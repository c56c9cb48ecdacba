//! Tests of plugins from URLs: downloads, the rules that apply to them, and validation of the content.

use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex};

use scorpiox_tests::site::{Answer, Site};
use sha2::{Digest as _, Sha256};

use super::packed::{Bed, CALL, component};

/// Responses of a site by path. Other paths return 404.
type Files = Arc<Mutex<HashMap<String, Answer>>>;

/// Author's machine and a site that serves the author's packages.
struct Served {
    bed: Bed,
    site: Site,
    files: Files,
}

impl Served {
    fn new() -> Self {
        let files = Files::default();
        let served = Arc::clone(&files);
        let site = Site::start(move |asked| {
            let files = served.lock().expect("no test fails here");
            files.get(&asked.path).cloned().unwrap_or_else(Answer::not_found)
        });
        let served = Self { bed: Bed::new(), site, files };
        served.policy("");
        served
    }

    /// Writes a policy with acme as a signer and with access to the local machine.
    fn policy(&self, rules: &str) {
        self.bed.policy(rules, "approve = \"signed\"");
        let path = self.bed.program.home().join(".scorpiox/policy.toml");
        let text = fs::read_to_string(&path).expect("a policy");
        fs::write(path, text + "[web]\nallow_private = [\"127.0.0.1/32\"]\n").expect("writes");
    }

    fn put(&self, path: &str, answer: Answer) {
        self.files.lock().expect("no test fails here").insert(path.to_owned(), answer);
    }

    /// Serves a file, and its signature if it exists.
    fn serve(&self, path: &str, file: &str) {
        self.put(path, Answer::of("application/octet-stream", fs::read(file).expect("a file")));
        if let Ok(signature) = fs::read(format!("{file}.minisig")) {
            self.put(&format!("{path}.minisig"), Answer::of("text/plain", signature));
        }
    }

    fn url(&self, path: &str) -> String {
        self.site.url(path)
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_pack_at_an_address_is_added_with_the_signature_beside_it_and_updated_from_there() {
    let served = Served::new();
    let bed = &served.bed;
    served.serve("/kinds.plugin", &bed.signed("1.0.0", ""));
    let url = served.url("/kinds.plugin");
    let said = bed.add(&url);
    assert!(said.contains("Signed by acme") && said.contains("kinds is approved"), "{said}");
    assert!(bed.done(&CALL).contains('2'));
    let shown = bed.done(&["plugin", "show", "kinds"]);
    assert!(shown.contains(&format!("{url} sha256 ")), "{shown}");
    served.serve("/kinds.plugin", &bed.signed("1.1.0", ""));
    bed.done(&["plugin", "update", "kinds"]);
    assert_eq!(bed.version(), "1.1.0");
    // The approved version keeps running, regardless of the content served later.
    served.put("/kinds.plugin", Answer::html("gone"));
    bed.refused(&["plugin", "update", "kinds"], "kinds.plugin");
    bed.done(&CALL);
    assert_eq!(bed.version(), "1.1.0");
}

#[test]
fn a_component_at_an_address_has_the_name_of_its_file() {
    let served = Served::new();
    served.put("/x/my_kinds.wasm", Answer::of("application/wasm", component()));
    let said = served.bed.add(&served.url("/x/my_kinds.wasm"));
    assert!(said.contains("my-kinds is approved"), "{said}");
    let result = served.bed.done(&["call", "my-kinds.divide", r#"{"a": 6, "b": 3}"#]);
    assert!(result.contains('2'), "{result}");
}

#[test]
fn an_index_lists_packs_at_addresses() {
    let served = Served::new();
    let bed = &served.bed;
    bed.add(&bed.signed("1.0.0", ""));
    let file = bed.signed("1.2.0", "");
    served.serve("/kinds-1.2.0.plugin", &file);
    let index = bed.path("index.json");
    served.policy(&format!("index = {index:?}"));
    let list = |sha256: &str| {
        let text = format!(
            "{{\"version\": 1, \"plugins\": [{{\"name\": \"kinds\", \"version\": \"1.2.0\", \
             \"address\": {:?}, \"sha256\": \"{sha256}\"}}]}}",
            served.url("/kinds-1.2.0.plugin")
        );
        fs::write(&index, text).expect("writes");
    };
    list(&"0".repeat(64));
    assert!(bed.done(&["plugin", "outdated"]).contains("kinds 1.0.0: 1.2.0 is there"));
    assert_eq!(served.site.asked().len(), 0, "to list is not to fetch");
    bed.refused(&["plugin", "update"], "and the index lists 0000");
    assert_eq!(bed.version(), "1.0.0");
    list(&sha256(&fs::read(&file).expect("a pack")));
    bed.done(&["plugin", "update"]);
    assert_eq!(bed.version(), "1.2.0");
    // An index on another machine requires HTTPS.
    served.policy(&format!("index = {:?}", served.url("/index.json")));
    bed.refused(&["plugin", "outdated"], "write an https:// address");
}

#[test]
fn what_cannot_be_had_or_is_no_plugin_is_said_and_nothing_is_installed() {
    let served = Served::new();
    let bed = &served.bed;
    let other = bed.signed("1.0.0", "");
    served.serve("/other.plugin", &other);
    served.put("/page.plugin", Answer::html("<h1>Sign in</h1>"));
    served.put("/moved.plugin", Answer::redirect("http://127.0.0.1:1/x.plugin"));
    served.serve("/signed.plugin", &bed.pack("1.0.1", ""));
    let signature = fs::read(format!("{other}.minisig")).expect("a signature");
    served.put("/signed.plugin.minisig", Answer::of("text/plain", signature));
    for (path, why) in [
        ("/none.plugin", "none.plugin does not exist"),
        ("/page.plugin", "page cannot be a plugin: it is not a WebAssembly component"),
        ("/moved.plugin", "127.0.0.1:1"),
        ("/signed.plugin", "the signature by acme does not count"),
    ] {
        bed.refused(&["plugin", "add", &served.url(path)], why);
    }
    for (address, why) in [
        ("http://plugins.example.com/x.plugin", "anybody on the way could change what http brings"),
        (
            "ftp://plugins.example.com/x.plugin",
            "it is no address of a plugin; write oci://REGISTRY/NAME:TAG, or one with https://",
        ),
        ("oci://registry.example.com", "write oci://REGISTRY/NAME:TAG"),
        ("oci://registry.example.com/a@sha256:12", "stands sha256: with 64 digits"),
    ] {
        bed.refused(&["plugin", "add", address], why);
    }
    assert!(!bed.program.home().join(".scorpiox/plugins/kinds").exists());
    // Without the policy line, no request is sent to the local machine.
    bed.policy("", "");
    let asked = served.site.asked().len();
    bed.refused(&["plugin", "add", &served.url("/other.plugin")], "127.0.0.1");
    assert_eq!(served.site.asked().len(), asked);
}

#[test]
fn a_registry_is_asked_by_tag_once_and_its_bytes_are_compared() {
    let served = Served::new();
    let (bed, wasm) = (&served.bed, component());
    let registry = served.url("/").trim_start_matches("http://").to_owned();
    let address = format!("oci://{registry}acme/kinds:1");
    let digest = format!("sha256:{}", sha256(&wasm));
    let serve = |digest: &str, size: usize, layers: usize| {
        let layer =
            format!("{{\"mediaType\": \"application/wasm\", \"digest\": \"{digest}\", \"size\": {size}}}");
        let layers = vec![layer; layers].join(", ");
        let manifest_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = format!(
            "{{\"schemaVersion\": 2, \"mediaType\": \"{manifest_type}\", \"layers\": [{layers}], \
             \"config\": {{\"mediaType\": \"application/vnd.wasm.config.v0+json\", \"digest\": \"{digest}\", \"size\": 2}}}}"
        );
        served.put("/v2/acme/kinds/manifests/1", Answer::of(manifest_type, manifest));
        served.put(&format!("/v2/acme/kinds/blobs/{digest}"), Answer::of("application/wasm", wasm.clone()));
    };
    for (digest, size, layers, why) in [
        (digest.as_str(), wasm.len(), 2, "layers"),
        (digest.as_str(), 1 << 40, 1, "1099511627776"),
        (&format!("sha256:{}", "1".repeat(64)), wasm.len(), 1, "sha256:1111"),
    ] {
        serve(digest, size, layers);
        bed.refused(&["plugin", "add", &address], why);
    }
    serve(&digest, wasm.len(), 1);
    let asked = served.site.count("/v2/acme/kinds/manifests/1");
    let said = bed.done(&["plugin", "test", &address]);
    assert!(said.contains(&format!("{address} is oci://{registry}acme/kinds@sha256:")), "{said}");
    assert_eq!(served.site.count("/v2/acme/kinds/manifests/1"), asked + 1);
    assert!(bed.add(&address).contains("kinds is approved"));
    assert!(bed.done(&CALL).contains('2'));
}
