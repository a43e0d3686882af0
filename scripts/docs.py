"""What scripts/docs does to a copy of docs/ before mdBook, and to the pages after it.

stage FOLDER   lists the decisions, makes the pages of the reference (scripts/reference.py), and
               brings along what links name outside of docs/
finish FOLDER  moves inline scripts into files, which the server's content security policy refuses,
               and follows every link of the pages
"""

import hashlib
import pathlib
import posixpath
import re
import shutil
import sys

sys.dont_write_bytecode = True
import reference  # noqa: E402

LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
DECISION = re.compile(r"^\| \[(\d+)\]\(([^)]+)\) \| (.*) \|$", re.MULTILINE)


def stage(folder):
    summary = folder / "SUMMARY.md"
    # Every decision is a page; the README of the folder lists all of them.
    decisions = DECISION.findall((folder / "decisions/README.md").read_text())
    below = "".join(f"  - [{number} {title}](decisions/{file})\n" for number, file, title in decisions)
    text = summary.read_text()
    assert "(decisions/README.md)\n" in text
    text = text.replace("(decisions/README.md)\n", f"(decisions/README.md)\n{below}")
    pages = "".join(f"- [{title}](reference/{name})\n" for title, name in reference.write(folder / "reference"))
    assert "(reference/cli.md)\n" in text
    summary.write_text(text.replace("(reference/cli.md)\n", f"(reference/cli.md)\n{pages}"))

    queue = [page for page in folder.rglob("*.md")]
    while queue:
        page = queue.pop()
        own = page.relative_to(folder).as_posix()
        inside = own.startswith("repository/")
        place = posixpath.dirname(own.removeprefix("repository/") if inside else f"docs/{own}")
        up = "../" * own.count("/")

        def lead(match):
            before, target, after = match.groups()
            if re.match(r"[a-z]+:", target):
                return match.group(0)
            path = posixpath.normpath(posixpath.join(place, target))
            # mdBook converts README.md to index.html, but does not change the links to it.
            shown = path if page == summary else re.sub(r"README\.md$", "index.md", path)
            if path.startswith("docs/"):
                return f"{before}{up}{shown[5:]}{after}"
            # The link leads out of docs/, so the target file is copied into the site.
            copy = folder / "repository" / path
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
                if path.endswith(".md"):
                    queue.append(copy)
            return f"{before}{up}repository/{shown}{after}"

        page.write_text(LINK.sub(lead, page.read_text()))
    listed = set(re.findall(r"\]\(([^)]+)\)", summary.read_text()))
    for page in folder.rglob("*.md"):
        own = page.relative_to(folder).as_posix()
        if own not in listed and own != "SUMMARY.md":
            sys.exit(f"error: {own} is not in docs/SUMMARY.md")


def finish(folder):
    for page in folder.rglob("*.html"):
        up = "../" * (len(page.relative_to(folder).parts) - 1)

        def outside(match):
            text = match.group(1)
            name = f"inline-{hashlib.sha256(text.encode()).hexdigest()[:16]}.js"
            (folder / name).write_text(text)
            return f'<script src="{up}{name}"></script>'

        text = re.sub(r"<script>(.*?)</script>", outside, page.read_text(), flags=re.DOTALL)
        text = text.replace(' style="clear: both"', "")
        # The content security policy allows no frames at all.
        text = re.sub(r'<iframe[^>]*src="([^"]*)"></iframe>', r'<a href="\1">Contents</a>', text)
        page.write_text(text)
    for file in (".nojekyll", "book.toml"):
        (folder / file).unlink(missing_ok=True)
    shutil.rmtree(folder / "theme", ignore_errors=True)
    for page in folder.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text()):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                sys.exit(f"error: {page.relative_to(folder)} leads to {target}, which is not there")


{"stage": stage, "finish": finish}[sys.argv[1]](pathlib.Path(sys.argv[2]))
