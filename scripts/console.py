"""Packs the split modules of the console, and stages them: scripts/split-console runs this.

wasm-split puts the code that parts share into one file for each combination of parts, dozens for
each page. Here, all that a part needs becomes one file: fewer requests, and a fifth less to load,
since each piece compresses better beside the others. A piece that many pages need is in the file
`shared`, which every part loads besides its own.

Such a file is a WebAssembly module without code whose custom sections are the pieces, so browsers
read it without a decoder of ours, and servers compress it like any other module.

    scripts/console.py APP STAGING      APP: the output of wasm-split and wasm-bindgen
"""

import hashlib
import pathlib
import re
import shutil
import sys

HEADER = b"\0asm\1\0\0\0"
CUSTOM = 0

# A piece that at least this share of the parts of pages needs is in the file `shared`.
SHARED_FROM = 0.75

# The names of the files of other parts, those of what a page shows only on request, begin with this.
ON_DEMAND = "split_on_demand"

# A loader as wasm-split writes it: its variable, its file, the loaders that it needs.
LOADER = re.compile(
    r"const (?P<name>\w+) = (?P<open>wrapAsyncCb\()?makeLoad\(\(\) => \{\s*"
    r"const src = fetch\(new URL\(\"\./(?P<file>\w+)\.wasm\", import\.meta\.url\)\);\s*"
    r"src\.catch\(\(\) => \{\}\);\s*"
    r"return async \(imports\) => \(WebAssembly\.instantiateStreaming\(src, imports\)\);\s*"
    r"\}\s*, \[(?P<needs>[^\]]*)\]\)\)?;"
)

# What wasm-split writes before the loader of a piece: the parts that share it.
COMMENT = re.compile(r"^/\*.*\*/\n", re.MULTILINE)

PRELUDE = """
const packs = {};
const loads = [];
let opening;
// Numbers the loader of a piece, for the lists of what the parts need.
const numbered = (load) => {
    loads.push(load);
    return load;
};
// The loaders of a list of numbers, each written as its distance from the one before.
const listed = (steps) => {
    let at = 0;
    return steps.split(" ").map((step) => loads[(at += Number(step))]);
};
const pack = (name) =>
    packs[name] ??= WebAssembly.compileStreaming(fetch(new URL(`./${name}.wasm`, import.meta.url))).catch((error) => {
        delete packs[name];
        throw error;
    });
// Loads a part, whose loader asks for its pieces before it waits for anything.
const opened = (part, load) => () => {
    opening = part;
    return load();
};
const section = (module, name) => WebAssembly.Module.customSections(module, name)[0];
const sectionOf = async (part, name) => section(await pack(part), name);
const piece = (name, inShared) => {
    const found = sectionOf(inShared ? "shared" : opening, name).catch(async (error) => {
        // Another part that was opened may have the piece, too.
        for (const other of Object.values(packs)) {
            const module = await other.catch(() => null);
            const bytes = module && section(module, name);
            if (bytes) return bytes;
        }
        throw error;
    });
    found.catch(() => {});
    return async (imports) => WebAssembly.instantiate(await found, imports);
};
"""


def read_number(code, at):
    """Reads an unsigned LEB128 number; returns it and the position after it."""
    value = shift = 0
    while True:
        byte = code[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def number(value):
    """An unsigned number as LEB128."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def without_custom_sections(code):
    """The module without its custom sections, which only tools read."""
    kept, at = [code[: len(HEADER)]], len(HEADER)
    while at < len(code):
        length, start = read_number(code, at + 1)
        if code[at] != CUSTOM:
            kept.append(code[at : start + length])
        at = start + length
    return b"".join(kept)


def packed(pieces):
    """A module with a custom section for each piece."""
    module = bytearray(HEADER)
    for name, code in pieces:
        section = number(len(name)) + name.encode() + code
        module += bytes([CUSTOM]) + number(len(section)) + section
    return bytes(module)


def steps(numbers):
    """The numbers as text, each as its distance from the one before, which compresses best."""
    return " ".join(str(after - before) for before, after in zip([0, *numbers], numbers))


def pack(app):
    """Replaces the modules of the parts and of what they share by one file for each part."""
    script = app / "__wasm_split.js"
    text = COMMENT.sub("", script.read_text())
    loaders = {found["name"]: found for found in LOADER.finditer(text)}
    if len(loaders) != text.count("= makeLoad(") + text.count("(makeLoad("):
        sys.exit(f"error: {script} has loaders of another form than this script knows")

    def needs(name):
        return [need.strip() for need in loaders[name]["needs"].split(",") if need.strip()]

    parts = {name: loader for name, loader in loaders.items() if loader["open"]}
    pages = [name for name, loader in parts.items() if not loader["file"].startswith(ON_DEMAND)]
    users = {name: sum(name in needs(page) for page in pages) for name in loaders if name not in parts}
    shared = {name for name, count in users.items() if count >= SHARED_FROM * len(pages)}

    def pieces(names):
        files = [loaders[name]["file"] for name in names]
        return [(file, (app / f"{file}.wasm").read_bytes()) for file in files]

    packs = {"shared": packed(pieces(sorted(shared)))}
    for part, loader in parts.items():
        own = sorted(set(needs(part)) - shared)
        packs[loader["file"]] = packed(pieces([part, *own]))

    # Each piece stands in the lists of several parts, and the lists are most of the script.
    places = {name: place for place, name in enumerate(name for name in loaders if name not in parts)}

    def rewritten(found):
        name, file = found["name"], found["file"]
        numbers = [places.get(need) for need in needs(name)]
        is_numbered = numbers and None not in numbers
        needed = f'listed("{steps(numbers)}")' if is_numbered else f'[{found["needs"]}]'
        load = f'makeLoad(() => piece("{file}", {str(name in shared).lower()}), {needed})'
        if name in parts:
            load = f'wrapAsyncCb(opened("{file}", {load}))'
        else:
            load = f"numbered({load})"
        return f"const {name} = {load};"

    first = min(loader.start() for loader in loaders.values())
    first = text.rindex("\n", 0, first)
    text = LOADER.sub(rewritten, text[:first] + PRELUDE + text[first:])
    # There are hundreds of them, and each stands in the lists of several parts.
    script.write_text(text.replace("__chunk_", "c"))
    for loader in loaders.values():
        (app / f"{loader['file']}.wasm").unlink()
    for name, module in packs.items():
        (app / f"{name}.wasm").write_bytes(module)


def stage(app, staging):
    """Puts the files into a folder with a hash in its name, and lets the page refer to it."""
    files = sorted(file for file in app.rglob("*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(app)}\0".encode() + file.read_bytes())
    folder = f"console-{digest.hexdigest()[:16]}"
    shutil.copytree(app, staging / folder)
    # Trunk staged the unsplit module, and the page still refers to it.
    index = staging / "index.html"
    page = index.read_text()
    for pattern, name in (("frontend-*.js", "frontend.js"), ("frontend-*_bg.wasm", "frontend_bg.wasm")):
        [whole] = staging.glob(pattern)
        if page.count(f"/{whole.name}") != 1:
            sys.exit(f"error: index.html does not name {whole.name} once: {page}")
        page = page.replace(f"/{whole.name}", f"/{folder}/{name}")
        whole.unlink()
    # Each page needs it, whichever is opened first.
    shared = f'<link rel="preload" href="/{folder}/shared.wasm" as="fetch" type="application/wasm" crossorigin>'
    index.write_text(page.replace("</head>", f"{shared}</head>"))


def main():
    app, staging = map(pathlib.Path, sys.argv[1:])
    for module in app.glob("*.wasm"):
        module.write_bytes(without_custom_sections(module.read_bytes()))
    pack(app)
    stage(app, staging)


main()
