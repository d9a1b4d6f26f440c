"""What docstrings cite can be followed: numbered rules, and pages of documentation."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
RULE = re.compile(r"(?<![A-Za-z0-9_:])([BCGLM])(\d{1,2})(?:(?:-| to )([BCGLM])(\d{1,2}))?(?![\w])")
PAGE = re.compile(r"[\w./-]+\.md\b")
# Words of the same shape that are no rules: Java's collector, a column of the moments' formula.
OTHERS = {("spark/engine/session.py", "G1"), ("sql/states/moments.py", "M2")}
NOWHERE = re.compile(r"[Rr]eading.notes?\b|\b[Tt]he contract of (?!:)|VIEWS\.md")


def known_rules() -> set[str]:
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    return {each.upper() for each in re.findall(r'<a id="([bcglm]\d+)"></a>', text)}


def cited(text: str) -> set[str]:
    rules: set[str] = set()
    for match in RULE.finditer(text):
        letter, first, last = match[1], int(match[2]), int(match[4] or match[2])
        rules |= {f"{letter}{first}", f"{letter}{last}"}
    return rules


def test_every_rule_that_the_source_cites_stands_in_docs_papers():
    known = known_rules()
    unknown = {
        (str(path.relative_to(ROOT / "src" / "freshline")), rule)
        for path in SOURCES
        for rule in cited(path.read_text(encoding="utf-8")) - known
    }
    assert unknown - OTHERS == set()


def test_every_page_that_the_source_names_exists():
    missing = {
        (path.name, page)
        for path in SOURCES
        for page in PAGE.findall(path.read_text(encoding="utf-8"))
        if not (ROOT / page).exists() and Path(page).name not in {"README.md", "IMPORTED.md"}
    }
    assert missing == set()


def test_every_module_that_the_source_names_exists():
    known = {
        f"/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")
    }
    ends = {path[at:] for path in known for at, letter in enumerate(path) if letter == "/"}
    missing = {
        (str(path.relative_to(ROOT)), name)
        for path in SOURCES
        for name in re.findall(
            r"``((?:\w+/)*\w+\.py)``|\(((?:\w+/)*\w+\.py)\)", path.read_text("utf-8")
        )
        if f"/{''.join(name)}" not in ends
    }
    assert missing == set()


def test_no_docstring_cites_what_is_not_in_the_repository():
    found = {
        (str(path.relative_to(ROOT)), match[0])
        for path in SOURCES
        for match in NOWHERE.finditer(path.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_every_link_between_pages_leads_somewhere():
    broken = [
        (str(page.relative_to(ROOT)), target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []


def _anchor(heading: str) -> str:
    """The name that renderers of Markdown give to a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def _anchors(text: str) -> set[str]:
    headings = {_anchor(heading) for heading in re.findall(r"(?m)^#+ (.*)$", text)}
    return headings | set(re.findall(r'<a id="([^"]+)">', text))


def test_every_link_to_a_heading_leads_to_one():
    anchors = {page: _anchors(page.read_text("utf-8")) for page in PAGES}
    broken = [
        (str(page.relative_to(ROOT)), f"{target}#{anchor}")
        for page in PAGES
        for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)]+)\)", page.read_text("utf-8"))
        if anchor not in anchors.get((page.parent / target).resolve() if target else page, {anchor})
    ]
    assert broken == []


def test_no_row_of_a_table_is_cut_off_from_its_head():
    torn = []
    for page in PAGES:
        lines = page.read_text("utf-8").splitlines()
        for before, row, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
            begins = row.startswith("|") and not before.startswith("|")
            if begins and not re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", after):
                torn.append((str(page.relative_to(ROOT)), row))
    assert torn == []


FOLDERS = ("src/freshline", "tests", "demo", "benchmarks", "experiments", "scripts")
MODULE = re.compile(r"`((?:\w+/)*\w+\.py|(?:\w+/)+)`")
# What a project of a user has, and not this repository.
USERS = {"warehouse/", "tables/"}


def test_every_module_and_folder_that_a_page_names_exists():
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    known = {f"/{path.relative_to(ROOT)}" for path in paths if path.suffix in {".py", ""}}
    ends = {path[at:] for path in known for at, letter in enumerate(path) if letter == "/"}
    missing = {
        (str(page.relative_to(ROOT)), name)
        for page in PAGES
        for name in MODULE.findall(page.read_text(encoding="utf-8"))
        if f"/{name.rstrip('/')}" not in ends and name not in USERS
    }
    assert missing == set()


def test_the_search_for_rules_reads_ranges_and_leaves_other_words_alone():
    assert cited("rules C1 to C9, and G8. x.M2 = G10a") >= {"C1", "C9", "G8"}
    assert "G10" not in cited("G10a")
