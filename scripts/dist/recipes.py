"""Recipes that install the archives: for Homebrew, Scoop and cargo-binstall."""

import manifests


def homebrew(release, sums, systems):
    """Returns the formula. SUMS: {file: SHA-256}."""
    blocks = []
    for os, word in (("darwin", "macos"), ("linux", "linux")):
        inner = []
        for cpu, processor in (("arm64", "arm"), ("x64", "intel")):
            for system in (system for system in systems if (system.os, system.cpu) == (os, cpu)):
                file = system.file(release)
                inner.append(
                    f"    on_{processor} do\n"
                    f'      url "{release.downloads}/{file}"\n'
                    f'      sha256 "{sums[file]}"\n'
                    f"    end\n"
                )
        if inner:
            blocks.append(f"  on_{word} do\n{''.join(inner)}  end\n\n")
    return f"""class ScorpioxCode < Formula
  desc "{manifests.DESCRIPTION}"
  homepage "{release.repository}"
  version "{release.version}"
  license any_of: ["MIT", "Apache-2.0"]

{"".join(blocks)}  def install
    bin.install "scorpiox-code"
    bash_completion.install "completions/scorpiox-code.bash" => "scorpiox-code"
    zsh_completion.install "completions/_scorpiox-code"
    fish_completion.install "completions/scorpiox-code.fish"
    man1.install Dir["man/*.1"]
    doc.install "README.md", "CHANGELOG.md", "docs"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/scorpiox-code --version")
  end
end
""".encode()


def scoop(release, sums, systems):
    """Returns the manifest of an app for Scoop."""
    built = [system for system in systems if system.os == "win32"]
    keys = {"x64": "64bit", "arm64": "arm64"}
    pattern = f"{release.repository}/releases/download/v$version"
    manifest = {
        "version": release.version,
        "description": manifests.DESCRIPTION,
        "homepage": release.repository,
        "license": "MIT|Apache-2.0",
        "architecture": {
            keys[system.cpu]: {
                "url": f"{release.downloads}/{system.file(release)}",
                "hash": sums[system.file(release)],
            }
            for system in built
        },
        "bin": built[0].program,
        "checkver": {"github": release.repository},
        "autoupdate": {
            "architecture": {
                keys[system.cpu]: {"url": f"{pattern}/{release.name}-$version-{system.name}{system.archive}"}
                for system in built
            },
            "hash": {"url": "$baseurl/SHA256SUMS"},
        },
    }
    return manifests.text(manifest)


def binstall(release, systems, public):
    """Returns a manifest for `cargo binstall --manifest-path`; PUBLIC is the key of the release, or empty."""
    lines = [
        "[package]",
        f'name = "{release.name}"',
        f'version = "{release.version}"',
        'edition = "2024"',
        f'repository = "{release.repository}"',
        f'license = "{manifests.LICENSE}"',
        "",
        "[[bin]]",
        f'name = "{release.name}"',
        'path = "main.rs"',
        "",
        "[package.metadata.binstall]",
        'disabled-strategies = ["quick-install", "compile"]',
    ]
    for system in systems:
        # Archives for Windows have no folder at their top.
        top = "" if system.os == "win32" else f"{{ name }}-{{ version }}-{system.name}/"
        # The program is the same for both C libraries of Windows, and cargo-binstall first asks for the other.
        targets = [system.target, *([system.target.replace("-gnu", "-msvc")] if system.os == "win32" else [])]
        for target in targets:
            lines += [
                "",
                f"[package.metadata.binstall.overrides.{target}]",
                f'pkg-url = "{{ repo }}/releases/download/v{{ version }}/'
                f'{{ name }}-{{ version }}-{system.name}{system.archive}"',
                f'pkg-fmt = "{"zip" if system.os == "win32" else "tgz"}"',
                f'bin-dir = "{top}{{ bin }}{{ binary-ext }}"',
            ]
    if public:
        lines += [
            "",
            "[package.metadata.binstall.signing]",
            'algorithm = "minisign"',
            f'pubkey = "{public}"',
            'file = "{ url }.minisig"',
        ]
    return ("\n".join(lines) + "\n").encode()
