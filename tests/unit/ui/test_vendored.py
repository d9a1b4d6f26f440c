"""Other projects' files are what npm has: unchanged, all listed, nothing comes from elsewhere."""

from __future__ import annotations

import hashlib
import re

from freshline.ui.page import ASSETS

VENDOR = ASSETS / "vendor"


def test_vendored_files_are_unchanged_and_have_licences():
    lines = (VENDOR / "SHA256SUMS").read_text().splitlines()
    listed = {line.split()[1]: line.split()[0] for line in lines}
    there = {path.name for path in VENDOR.iterdir()} - {"SHA256SUMS", "README.md"}
    assert there == set(listed)
    for name, expected in listed.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == expected, name
    assert {"LICENSE-uPlot", "LICENSE-htm", "LICENSE-preact"} <= there


def test_our_own_files_name_no_other_host_and_write_no_markup():
    own = [path for path in ASSETS.rglob("*") if path.is_file() and VENDOR not in path.parents]
    assert len(own) > 10
    for path in own:
        text = path.read_text()
        hosts = set(re.findall(r"(?:https?:)?//([\w.-]+\.[a-z]{2,})", text)) - {"www.w3.org"}
        assert hosts == set(), path.name
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                    "dangerouslySetInnerHTML", "new Function"):  # fmt: skip
            assert way not in text, (path.name, way)
        if path.suffix == ".html":
            assert not re.search(r"<script>|<style|\son\w+=|style=", text), path.name
