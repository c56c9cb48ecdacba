"""Packages for npm: `scorpiox-code` starts the program of the package for the user's system, on which it depends
optionally. npm downloads that package alone, and no package has an install script."""

import manifests

SCOPE = "@scorpiox"


def name(system):
    """Returns the name that the start script derives from Node's names of its system."""
    return f"{SCOPE}/code-{system.os}-{system.cpu}"


def _package(release, **more):
    return {
        "version": release.version,
        "description": manifests.DESCRIPTION,
        "license": manifests.LICENSE,
        "homepage": release.repository,
        "repository": {"type": "git", "url": f"git+{release.repository}.git"},
        **more,
        "publishConfig": {"access": "public"},
    }


def of_system(release, system, program, texts):
    """Returns the name and the files of the package with one program."""
    about = {"name": name(system), **_package(release, os=[system.os], cpu=[system.cpu])}
    if system.is_linux:
        about["libc"] = ["glibc"]
    # Yarn would keep the package as an archive, from which no program starts.
    about["preferUnplugged"] = True
    readme = f"# {name(system)}\n\nThe program of [{release.name}]({release.repository}) for {system.name}.\n"
    files = {
        "package.json": (manifests.text(about), 0o644),
        "README.md": (readme.encode(), 0o644),
        system.program: (program, 0o755),
        **_licences(texts),
    }
    return f"{name(system)[1:].replace('/', '-')}-{release.version}.tgz", files


def starter(release, systems, script, texts):
    """Returns the name and the files of the package that users name."""
    about = {
        "name": release.name,
        **_package(release, keywords=["mcp", "mcp-server", "sandbox", "shell", "webassembly"]),
        "bin": {release.name: "start.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {name(system): release.version for system in systems},
    }
    files = {
        "package.json": (manifests.text(about), 0o644),
        "README.md": (manifests.readme(release, f"npx -y {release.name}"), 0o644),
        "start.js": (script, 0o755),
        **_licences(texts),
    }
    return f"{release.name}-{release.version}.tgz", files


def _licences(texts):
    return {path: (data, 0o644) for path, data in texts.items() if path.startswith("LICENSE")}
