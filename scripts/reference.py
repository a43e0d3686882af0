"""The reference pages of the site that are made from files: the API and the keys of module files.

    python3 scripts/reference.py FOLDER    writes them below FOLDER/, as scripts/docs.py does

The sources are server/schema.graphql and server/module.schema.json, which the server writes.
"""

import json
import pathlib
import re
import sys

# Each page, with the kinds of definitions on it. Operations have their own page.
PAGES = {
    "graphql.md": ("GraphQL API", ()),
    "graphql-types.md": ("GraphQL types", ("type", "interface", "union")),
    "graphql-inputs.md": ("GraphQL inputs", ("input",)),
    "graphql-enums.md": ("GraphQL enums and scalars", ("enum", "scalar")),
}
ROOTS = ("Query", "Mutation", "Subscription")
# The path from docs/reference/ to docs/.
UP = "../"
MODULE = "module.md"


class Entry:
    """A type, a field, an argument or a value, with what belongs to it."""

    def __init__(self, name, text, kind="", shape="", default=None):
        self.name, self.text, self.kind, self.shape, self.default = name, text, kind, shape, default
        self.below = []


TOKEN = re.compile(r'"""(.*?)"""|"((?:\\.|[^"\\])*)"|([\w.-]+|[@!=:|&(){}\[\]])|[\s,]+|#[^\n]*', re.DOTALL)


class Reader:
    """Reads the part of GraphQL's schema language that the server writes."""

    def __init__(self, text):
        self.tokens, place = [], 0
        while place < len(text):
            found = TOKEN.match(text, place)
            assert found, f"not read: {text[place:place + 40]!r}"
            block, line, word = found.groups()
            if block is not None:
                self.tokens.append(("text", "\n".join(one.strip() for one in block.strip().splitlines())))
            elif line is not None:
                self.tokens.append(("text", line.replace('\\"', '"')))
            elif word is not None:
                self.tokens.append(("word", word))
            place = found.end()
        self.tokens.append(("word", ""))
        self.at = 0

    def peek(self):
        return self.tokens[self.at][1] if self.tokens[self.at][0] == "word" else None

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1][1]

    def passes(self, word):
        if self.peek() == word:
            self.at += 1
            return True
        return False

    def text(self):
        return self.next() if self.tokens[self.at][0] == "text" else ""

    def shape(self):
        shape = f"[{self.shape()}]" if self.passes("[") else self.next()
        self.passes("]")
        return shape + ("!" if self.passes("!") else "")

    def value(self):
        """A default value, as it is written."""
        kind, word = self.tokens[self.at]
        self.at += 1
        if kind == "text":
            return f'"{word}"'
        if word in "[{":
            close = {"[": "]", "{": "}"}[word]
            while not self.passes(close):
                word += self.next()
            return word + close
        return word

    def directives(self):
        while self.passes("@"):
            self.next()
            if self.passes("("):
                while not self.passes(")"):
                    self.next()

    def entry(self):
        text = self.text()
        one = Entry(self.next(), text)
        if self.passes("("):
            while not self.passes(")"):
                one.below.append(self.entry())
        if self.passes(":"):
            one.shape = self.shape()
        if self.passes("="):
            one.default = self.value()
        self.directives()
        return one

    def definition(self):
        text = self.text()
        kind = self.next()
        if kind == "directive":
            self.passes("@")
            self.next()
            if self.passes("("):
                while not self.passes(")"):
                    self.next()
            while re.fullmatch(r"on|\||[A-Z_]+", self.peek() or ""):
                self.next()
            return None
        if kind == "schema":
            while not self.passes("}"):
                self.next()
            return None
        one = Entry(self.next(), text, kind)
        if self.passes("implements"):
            while self.peek() not in ("{", "@"):
                self.next()
        self.directives()
        if self.passes("="):
            while True:
                self.passes("|")
                one.below.append(Entry(self.next(), "", shape=""))
                if self.peek() != "|":
                    break
        if self.passes("{"):
            while not self.passes("}"):
                one.below.append(self.entry())
        return one

    def definitions(self):
        found = []
        while self.tokens[self.at] != ("word", ""):
            one = self.definition()
            if one:
                found.append(one)
        return found


def cell(text):
    """A text in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def anchor(name):
    return name.lower()


def graphql(text):
    """The pages of the API, by their names."""
    definitions = Reader(text).definitions()
    pages = {}
    where = {}
    for one in definitions:
        for page, (_, kinds) in PAGES.items():
            if one.kind in kinds and one.name not in ROOTS:
                where[one.name] = page

    def linked(shape):
        base = shape.strip("[]!")
        if base not in where:
            return f"`{shape}`"
        return f"[`{shape}`]({where[base]}#{anchor(base)})"

    def rows(heads, lines):
        yield "| " + " | ".join(heads) + " |"
        yield "|" + " --- |" * len(heads)
        yield from ("| " + " | ".join(line) + " |" for line in lines)

    def operation(one):
        yield f"### {one.name}"
        yield ""
        if one.text:
            yield one.text
            yield ""
        yield f"Returns {linked(one.shape)}."
        yield ""
        if one.below:
            lines = ([f"`{arg.name}`", argument(arg), cell(arg.text)] for arg in one.below)
            yield from rows(["argument", "type", ""], lines)
            yield ""

    def argument(one):
        return linked(one.shape) + (f" = `{one.default}`" if one.default is not None else "")

    def section(one):
        yield f"## {one.name}"
        yield ""
        if one.text:
            # Converts a heading inside a description to bold text, because it must not become a
            # section of the page.
            yield re.sub(r"^#+ (.*)$", r"**\1**", one.text, flags=re.MULTILINE)
            yield ""
        if one.kind == "union":
            yield "One of " + ", ".join(linked(member.name) for member in one.below) + "."
            yield ""
        elif one.kind == "enum":
            yield from rows(["value", ""], ([f"`{value.name}`", cell(value.text)] for value in one.below))
            yield ""
        elif one.below:
            def said(field):
                taken = ", ".join(f"`{arg.name}`: {argument(arg)}" for arg in field.below)
                return cell(field.text + (f" Arguments: {taken}." if taken else ""))

            lines = ([f"`{field.name}`", argument(field), said(field)] for field in one.below)
            yield from rows(["field", "type", ""], lines)
            yield ""

    for page, (title, kinds) in PAGES.items():
        lines = [f"# {title}", ""]
        if not kinds:
            lines += [
                "All queries, mutations and subscriptions, at `POST /graphql` and over the WebSocket there.",
                f"The schema itself is [server/schema.graphql]({UP}{UP}server/schema.graphql); `/graphiql` of a",
                "running server tries them out. The types are on pages of their own:",
                "[types](graphql-types.md), [inputs](graphql-inputs.md), [enums and scalars](graphql-enums.md).",
                "",
            ]
            for root in (one for name in ROOTS for one in definitions if one.name == name):
                lines += [f"## {root.name}", "", root.text, ""]
                for field in root.below:
                    lines += operation(field)
        for one in sorted((one for one in definitions if where.get(one.name) == page), key=lambda one: one.name):
            lines += section(one)
        pages[page] = "\n".join(lines).rstrip("\n") + "\n"
    return pages


def shape(schema):
    """The type of a value of a module's file, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{anchor(name)})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"] if one is not None)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            parts = [shape(one) for one in schema[several] if one != {"type": "null"}]
            return " or ".join(dict.fromkeys(parts))
    kind = schema.get("type", "any value")
    if isinstance(kind, list):
        kind = " or ".join(one for one in kind if one != "null")
    if kind == "array":
        return f"list of {shape(schema.get('items', {}))}"
    if kind == "object" and "additionalProperties" in schema and "properties" not in schema:
        below = schema["additionalProperties"]
        return f"map of {shape(below)}" if isinstance(below, dict) else "object"
    if kind == "object" and len(schema.get("properties", {})) == 1:
        ((key, below),) = schema["properties"].items()
        return f"`{key}`: {shape(below)}"
    return kind


def module(schema):
    """The page about the keys of module files."""
    lines = [
        "# Keys of module files",
        "",
        f"Every key of a [module file]({UP}modules.md), from the JSON schema",
        f"[server/module.schema.json]({UP}{UP}server/module.schema.json) that editors use. The sections have the names",
        "of the schema; a file has only the keys.",
        "",
    ]

    def section(title, one):
        yield f"## {title}"
        yield ""
        if one.get("description"):
            yield one["description"]
            yield ""
        if "properties" in one:
            required = one.get("required", [])
            yield "| key | value | |"
            yield "| --- | --- | --- |"
            for key, value in one["properties"].items():
                needed = "Required. " if key in required else ""
                yield f"| `{key}` | {cell(shape(value))} | {cell(needed + value.get('description', ''))} |"
            yield ""
        elif "oneOf" in one:
            yield "| value | |"
            yield "| --- | --- |"
            for value in one["oneOf"]:
                yield f"| {cell(shape(value))} | {cell(value.get('description', ''))} |"
            yield ""
        else:
            yield f"Value: {shape({key: value for key, value in one.items() if key != 'description'})}."
            yield ""
            if "pattern" in one:
                yield f"Pattern: `{one['pattern']}`"
                yield ""

    lines += section("The file", schema)
    for name, one in sorted(schema.get("$defs", {}).items()):
        lines += section(name, one)
    return "\n".join(lines).rstrip("\n") + "\n"


def write(folder):
    """Writes the pages; returns their titles and names, for the table of contents."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = graphql(pathlib.Path("server/schema.graphql").read_text())
    for name, text in pages.items():
        (folder / name).write_text(text)
    (folder / MODULE).write_text(module(json.loads(pathlib.Path("server/module.schema.json").read_text())))
    return [(title, name) for name, (title, _) in PAGES.items()] + [("Keys of module files", MODULE)]


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
