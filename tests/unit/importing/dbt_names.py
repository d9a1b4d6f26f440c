"""What the installed dbt says of its Jinja; run by the Python of dbt's environment.

It prints the names of a model's context, of filters and globals, and for each file of dbt's own
macros the names that Jinja finds undeclared in it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """Print them as one JSON object."""
    import dbt.include.global_project as own  # type: ignore[import-not-found, unused-ignore]
    from dbt.context import providers  # type: ignore[import-not-found, unused-ignore]
    from dbt.include import spark  # type: ignore[import-not-found, unused-ignore]
    from dbt_common.clients import jinja  # type: ignore[import-not-found, unused-ignore]
    from jinja2 import meta  # type: ignore[import-not-found, unused-ignore]

    environment = jinja.get_environment()
    templates = {}
    for package in (own, spark):
        for path in sorted(Path(package.__path__[0]).glob("**/*.sql")):
            text = path.read_text()
            names = meta.find_undeclared_variables(environment.parse(text))
            templates[str(path)] = [text, sorted(names)]
    contexts = (providers.ModelContext, providers.MacroContext)
    names = {name for each in contexts for name in each._context_members_}
    found = {
        "context": sorted(names | {"context", "builtins"}),
        "globals": sorted(environment.globals),
        "filters": sorted(environment.filters),
        "templates": templates,
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
