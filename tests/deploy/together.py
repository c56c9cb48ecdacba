"""together.py MANIFESTS POLICY: checks the references within the manifests. Writes the policy of their config
map into POLICY."""

import ipaddress
import pathlib
import sys
import tomllib
from urllib.parse import urlsplit

import yaml

APPLICATION = {"app.kubernetes.io/name": "scorpiox-code"}
# Addresses for the names in the examples. `database`, `logs` and `web` have no access to each other.
NAMES = {"db.example.com": "192.0.2.10", "logs.example.com": "192.0.2.65", "login.example.com": "203.0.113.20"}
PORTS = {"https": 443, "http": 80, "postgres": 5432, "tls": 6514, "tcp": 601}
# Ports that every server needs regardless of its policy: DNS, and the public web for WebSearch and ReadDocs.
ALWAYS = {53, 80, 443}


def destinations(policy):
    """Yields each external destination of a policy: (name, port)."""
    policy = tomllib.loads(policy)
    http, audit = policy.get("http", {}), policy.get("audit", {})
    auth, observe = http.get("auth", {}), http.get("observe", {})
    urls = [auth.get("jwks_url"), observe.get("traces"), policy.get("store", {}).get("address"), *audit.get("export", [])]
    urls += [issuer.get("jwks_url") for issuer in auth.get("issuers", {}).values()]
    for url in filter(None, urls):
        parts = urlsplit(url)
        if parts.hostname and "://" in url:
            yield parts.hostname, parts.port or PORTS[parts.scheme]


def admits(rule, address, port):
    """Returns whether an egress rule admits TCP to an address and a port."""
    address = ipaddress.ip_address(address)
    blocks = [peer["ipBlock"] for peer in rule.get("to", []) if "ipBlock" in peer]
    inside = any(address in ipaddress.ip_network(block["cidr"])
                 and not any(address in ipaddress.ip_network(other) for other in block.get("except", []))
                 for block in blocks if ipaddress.ip_network(block["cidr"]).version == address.version)
    ports = {one["port"] for one in rule.get("ports", []) if one.get("protocol", "TCP") == "TCP"}
    return inside and port in ports


def check_network(policy, egress):
    """Checks that the network policy admits each destination of the policy, and no other port."""
    needed = list(destinations(policy))
    for name, port in needed:
        assert any(admits(rule, NAMES[name], port) for rule in egress), f"nothing opens {name}:{port}, which the policy names"
    opened = {one["port"] for rule in egress for one in rule["ports"]}
    assert all(rule.get("ports") and rule.get("to") for rule in egress), "a rule of egress opens every port or every place"
    assert opened == ALWAYS | {port for _, port in needed}, f"{opened} is opened, and the policy names {needed}"
    for name, port in needed:
        others = [other for other in NAMES if other != name and (other, port) not in needed]
        for other in others if port not in ALWAYS else []:
            assert not any(admits(rule, NAMES[other], port) for rule in egress), f"{other}:{port} is opened, too"


def main():
    manifests = list(yaml.safe_load_all(pathlib.Path(sys.argv[1]).read_text()))
    named = {(one["kind"], one["metadata"]["name"]): one for one in manifests}
    servers = named["StatefulSet", "scorpiox-code"]["spec"]
    pod = servers["template"]["spec"]
    (server,) = pod["containers"]

    assert servers["template"]["metadata"]["labels"] == servers["selector"]["matchLabels"] == APPLICATION
    for kind, name in named:
        spec = named[kind, name].get("spec", {})
        selector = {"Service": spec.get("selector"), "PodDisruptionBudget": (spec.get("selector") or {}).get("matchLabels"),
                    "NetworkPolicy": (spec.get("podSelector") or {}).get("matchLabels")}
        assert selector.get(kind, APPLICATION) == APPLICATION, f"{kind} {name} selects other pods"
    assert ("Service", servers["serviceName"]) in named
    assert ("ServiceAccount", pod["serviceAccountName"]) in named

    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    claims = {claim["metadata"]["name"] for claim in servers["volumeClaimTemplates"]}
    assert {mount["name"] for mount in server["volumeMounts"]} == volumes.keys() | claims
    assert ("PersistentVolumeClaim", volumes["workspace"]["persistentVolumeClaim"]["claimName"]) in named
    policy = named["ConfigMap", volumes["policy"]["configMap"]["name"]]["data"]["policy.toml"]
    pathlib.Path(sys.argv[2]).write_text(policy)
    check_network(policy, named["NetworkPolicy", "scorpiox-code"]["spec"]["egress"])

    ports = {port["name"]: port["containerPort"] for port in server["ports"]}
    probes = [server[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert set(probes) == {"observe"} and f'listen = "0.0.0.0:{ports["observe"]}"' in policy
    assert server["args"][-1] == f'0.0.0.0:{ports["http"]}'
    (backend,) = [path["backend"]["service"] for rule in named["Ingress", "scorpiox-code"]["spec"]["rules"]
                  for path in rule["http"]["paths"]]
    served = named["Service", backend["name"]]["spec"]["ports"]
    assert backend["port"]["name"] in {port["name"] for port in served}


if __name__ == "__main__":
    main()
