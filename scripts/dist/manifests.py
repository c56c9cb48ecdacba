"""Manifests of a release for clients and registries."""

import datetime
import json

DESCRIPTION = "Shell, web, images, tasks and skills for AI clients, in sandboxes under an operator's policy"
LICENSE = "MIT OR Apache-2.0"
# Default repository of releases; DIST_REPOSITORY overrides it.
REPOSITORY = "https://example.com/scorpiox/scorpiox-code-mcp"


class Release:
    def __init__(self, name, version, repository):
        self.name, self.version, self.repository = name, version, repository or REPOSITORY

    @property
    def downloads(self):
        """Returns the address of the files of this release."""
        return f"{self.repository}/releases/download/v{self.version}"


def text(value):
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def readme(release, start):
    """Returns the page of the program in a registry, where `start` starts it."""
    page = f"""# {release.name}

An MCP server for AI clients: a shell, background tasks, web pages, web search, images, task lists, plans, questions,
timed callbacks and skills. Tools run in WebAssembly sandboxes, and commands run in a sandbox of the operating system.
Each has only the permissions that it was granted.

```sh
{start} doctor    # checks the installation, and says how to fix it
{start}           # starts the server, as a client does
```

This package contains one program, and downloads nothing. Its documentation is in its
[repository]({release.repository}).
"""
    return page.encode()


def mcpb(release, system, program):
    """Returns the manifest (0.3) of a bundle for Claude Desktop and others."""
    entry = f"server/{system.program}"
    manifest = {
        "manifest_version": "0.3",
        "name": release.name,
        "display_name": release.name,
        "version": release.version,
        "description": DESCRIPTION,
        "author": {"name": "scorpiox"},
        "license": LICENSE,
        "keywords": ["shell", "sandbox", "webassembly", "skills"],
        "server": {
            "type": "binary",
            "entry_point": entry,
            "mcp_config": {
                "command": "${__dirname}/" + entry,
                "args": ["--workspace", "${user_config.workspace}"],
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "user_config": {
            "workspace": {
                "type": "directory",
                "title": "Folder",
                "description": "The project's folder, which the tools may change",
                "required": True,
            }
        },
        "compatibility": {"platforms": [system.os]},
    }
    return {"manifest.json": (text(manifest), 0o644), entry: (program, 0o755)}


def claude_code(release, system, program, readme):
    """Returns a marketplace with one Claude Code plugin that contains the program."""
    marketplace = {
        "name": "scorpiox",
        "description": DESCRIPTION,
        "owner": {"name": "scorpiox"},
        "plugins": [{"name": release.name, "source": "./plugin", "description": DESCRIPTION}],
    }
    plugin = {
        "name": release.name,
        "version": release.version,
        "description": DESCRIPTION,
        "author": {"name": "scorpiox"},
        "license": LICENSE,
        "keywords": ["mcp", "sandbox"],
        "mcpServers": {
            "scorpiox": {"command": "${CLAUDE_PLUGIN_ROOT}/bin/" + system.program, "args": [], "alwaysLoad": True}
        },
    }
    return {
        ".claude-plugin/marketplace.json": (text(marketplace), 0o644),
        "plugin/.claude-plugin/plugin.json": (text(plugin), 0o644),
        "plugin/README.md": (readme, 0o644),
        f"plugin/bin/{system.program}": (program, 0o755),
    }


def server(release, bundles):
    """Returns the entry for the MCP registry. BUNDLES: {file: SHA-256}."""
    owner = release.repository.removeprefix("https://").split("/")
    reversed_host = ".".join(reversed(owner[0].split(".")))
    name = f"io.github.{owner[1]}" if owner[0] == "github.com" else reversed_host
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": f"{name}/{release.name}",
        "title": release.name,
        "description": DESCRIPTION[:100],
        "version": release.version,
        "repository": {"url": release.repository, "source": "github"},
        "packages": [
            {
                "registryType": "mcpb",
                "identifier": f"{release.downloads}/{file}",
                "fileSha256": digest,
                "transport": {"type": "stdio"},
            }
            for file, digest in bundles.items()
        ],
    }


def sbom(release, system, metadata, when):
    """Returns the crates of the program as CycloneDX 1.6."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = next(identity for identity, package in packages.items() if package["name"] == release.name)

    def uses(identity):
        dependencies = nodes[identity]["deps"]
        normal = [dep["pkg"] for dep in dependencies if any(kind["kind"] is None for kind in dep["dep_kinds"])]
        return sorted(normal)

    reached, left = set(), [root]
    while left:
        identity = left.pop()
        if identity not in reached:
            reached.add(identity)
            left.extend(uses(identity))

    def purl(identity):
        return f"pkg:cargo/{packages[identity]['name']}@{packages[identity]['version']}"

    def component(identity, kind):
        package = packages[identity]
        described = {
            "type": kind,
            "bom-ref": purl(identity),
            "name": package["name"],
            "version": package["version"],
            "purl": purl(identity),
        }
        if package["license"]:
            expression = package["license"].replace("/", " OR ").replace("  ", " ")
            described["licenses"] = [{"expression": expression}]
        return described

    others = sorted(reached - {root}, key=purl)
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(when, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(root, "application"),
            "properties": [{"name": "scorpiox:target", "value": system.target}],
        },
        "components": [component(identity, "library") for identity in others],
        "dependencies": [
            {"ref": purl(identity), "dependsOn": sorted({purl(used) for used in uses(identity)})}
            for identity in sorted(reached, key=purl)
        ],
    }
    return text(document)
