"""What the binary and its console are made of, read from Cargo.lock and the crates' own folders.

materials VERSION   a bill of materials, CycloneDX 1.5 as JSON
notices VERSION     the licences of all of it, as a text to be handed on
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import uuid

OURS = {"carillon", "frontend"}


def crates():
    """The crates that are linked (not those of tests and benchmarks), and who needs whom."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    for target in ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "wasm32-unknown-unknown"):
        command += ["--filter-platform", target]
    # Tries without the network first, in case all packages are already there.
    offline = subprocess.run(command + ["--offline"], capture_output=True, text=True)
    done = offline if offline.returncode == 0 else subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    metadata = json.loads(done.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    queue = [id for id in nodes if packages[id]["name"] in OURS and packages[id]["source"] is None]
    needs = {}
    while queue:
        id = queue.pop()
        if id not in needs:
            linked = [d["pkg"] for d in nodes[id]["deps"] if any(k["kind"] != "dev" for k in d["dep_kinds"])]
            needs[id] = linked
            queue += linked
    key = lambda id: (packages[id]["name"], packages[id]["version"])
    return packages, {id: sorted(needs[id], key=key) for id in sorted(needs, key=key)}


def materials(version):
    packages, needs = crates()
    locked = tomllib.loads(pathlib.Path("Cargo.lock").read_text())["package"]
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in locked}
    reference = lambda id: f"pkg:cargo/{packages[id]['name']}@{packages[id]['version']}"
    components = []
    for id in needs:
        package = packages[id]
        checksum = checksums.get((package["name"], package["version"]))
        component = {
            "type": "library",
            "bom-ref": reference(id),
            "name": package["name"],
            "version": package["version"],
            "purl": reference(id),
        }
        if package["license"]:
            component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if checksum:
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        if package["name"] != "carillon":
            components.append(component)
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    body = {
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": f"pkg:cargo/carillon@{version}",
                "name": "carillon",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": components,
        "dependencies": [{"ref": reference(id), "dependsOn": [reference(d) for d in needs[id]]} for id in needs],
    }
    serial = uuid.UUID(bytes=hashlib.sha256(json.dumps(body).encode()).digest()[:16], version=4)
    head = {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1}
    print(json.dumps(head | body, indent=1))


def notices(version):
    packages, needs = crates()
    by_text = {}
    for id in needs:
        package = packages[id]
        if package["source"] is None:
            continue
        folder = pathlib.Path(package["manifest_path"]).parent
        files = [f for f in folder.iterdir() if re.match(r"(licen[cs]e|copying|notice|unlicense)", f.name, re.I) and f.is_file()]
        name = f"{package['name']} {package['version']} ({package['license'] or 'see below'})"
        texts = [f.read_text(errors="replace").strip() for f in sorted(files)] or [f"No text comes along: {package['repository']}"]
        for text in texts:
            by_text.setdefault(text, []).append(name)
    for fonts in sorted(pathlib.Path("assets/fonts").glob("*.LICENSE.txt")):
        by_text.setdefault(fonts.read_text().strip(), []).append(f"the font {fonts.name.split('.')[0]}")
    by_text["Mozilla Public License 2.0: https://www.mozilla.org/MPL/2.0/"] = ["scripts and styles of mdBook, in the documentation"]
    print(f"Carillon {version} is under Apache-2.0 (LICENSE). It contains the work of others:\n")
    for text, names in sorted(by_text.items(), key=lambda item: item[1]):
        print("=" * 100, *names, "-" * 100, text, "", sep="\n")


{"materials": materials, "notices": notices}[sys.argv[1]](sys.argv[2])
