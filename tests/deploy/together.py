"""together.py MANIFESTS POLICY: whether manifests name what is there. Writes the policy of their map into POLICY."""

import pathlib
import sys

import yaml

APPLICATION = {"app.kubernetes.io/name": "scorpiox-code"}


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
