# ruff: noqa: E501 - lines of tables
"""What a command runs, by the table and by the project's own files; what is on no list is of unknown kind."""

from __future__ import annotations

import re
import shlex

import pytest

from sluice.record.command_kinds import MAX_RUNS, CommandKinds, kind_of_name, table

FILES = {
    "package.json": """{"scripts": {"test": "vitest run", "test:unit": "vitest run src/unit", "lint": "eslint . && tsc --noEmit",
        "check": "npm run lint && npm test", "loop": "npm run loop", "ci": "node scripts/ci.js", "build": "node build.js"}}""",
    "web/package.json": '{"scripts": {"test": "jest"}}',
    "Makefile": "PY ?= .venv/bin/python\n\nall: check\n\ncheck: lint test\n\ntest:\n\t@$(PY) -m pytest -q\n\nlint: ; ruff check .\n"
    "\nlint:\n\t-ruff check .\n\nfast:\n\t$(PY) -m pytest -q tests/unit\n\nship:\n\t./deploy.sh\n",
    "justfile": "test *args:\n    pytest {{args}}\n",
    "tox.ini": "[tox]\nenvlist = py311\n[testenv]\ncommands = pytest {posargs}\n[testenv:lint]\ncommands =\n    ruff check .\n    mypy src\n",
    "noxfile.py": 'import nox\n\n@nox.session\ndef tests(session):\n    session.run("pytest", "-q")\n\n@nox.session\n'
    'def lint(session):\n    session.run("ruff", "check", ".")\n',
    "pyproject.toml": '[tool.poe.tasks]\ntypes = "mypy src"\nall = {sequence = ["ruff check .", "pytest"]}\n[tool.hatch.envs.default.scripts]\ncov = "pytest"\n',
    "mise.toml": '[tasks.verify]\nrun = "cargo test"\n',
    ".cargo/config.toml": '[alias]\nt1 = "test --workspace"\n',
    ".pre-commit-config.yaml": "repos:\n- repo: x\n  hooks:\n  - id: ruff\n  - id: ruff-format\n  - id: mypy\n",
    ".github/workflows/ci.yml": "jobs:\n  test:\n    steps:\n    - run: ./tools/all.sh\n    - name: Lint\n      run: ./tools/style\n",
    "scripts/verify.sh": "#!/bin/bash\nset -e\npytest -q\n",
    "composer.json": '{"scripts": {"test": ["phpunit", "phpstan"]}}',
}


def runs(line: str, cwd: str = "/r") -> list[tuple[str, tuple[str, ...]]]:
    found = CommandKinds(FILES.get).runs(shlex.split(line), cwd, "/r")
    return [(one.kind, one.scope) for one in found]


def test_the_table() -> None:
    """At least 30 runners; every expression is one, with at most one group but for names."""
    assert len(table().runner) >= 30
    for row in table().runner:
        for given in (row.passed, row.failed, row.errors):
            for one in [given] if isinstance(given, str) else given:
                assert re.compile(one, re.MULTILINE).groups <= 1, row.name
        re.compile(row.names)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("pytest", [("test", ())]),
        ("python3.12 -m pytest -q tests/", [("test", ())]),
        (".venv/bin/python -m pytest", [("test", ())]),
        ("uv run pytest -x tests/a", [("test", ("tests/a", "-x"))]),
        ("poetry run python -m pytest -k 'a or b'", [("test", ("-k a or b",))]),
        ("CI=1 timeout 60 pytest tests/a/test_b.py::test_c", [("test", ("tests/a/test_b.py::test_c",))]),
        ("pytest -n 4 --tb short", [("test", ())]),
        ("pytest /r/tests/a", [("test", ("tests/a",))]),
        ("pytest ../elsewhere", [("other", ())]),
        ("coverage run -m pytest", [("test", ())]),
        ("python -m unittest discover", [("test", ())]),
        ("npx jest src/a.test.js", [("test", ("src/a.test.js",))]),
        ("cargo test", [("test", ())]),
        ("cargo --quiet test -p core", [("test", ("-p core",))]),
        ("cargo clippy --all-targets -- -D warnings", [("lint", ("warnings",))]),
        ("cargo build --release", [("build", ())]),
        ("go test ./...", [("test", ())]),
        ("go test ./pkg/a -run TestX", [("test", ("pkg/a", "-run TestX"))]),
        ("mvn -B test", [("test", ())]),
        ("./gradlew test --tests A", [("test", ("--tests A",))]),
        ("bundle exec rspec spec/a_spec.rb", [("test", ("spec/a_spec.rb",))]),
        ("ruff check .", [("lint", ())]),
        ("ruff format --check .", [("format", ())]),
        ("npx tsc --noEmit", [("type-check", ())]),
        ("bash -c 'pytest tests/a && ruff check'", [("test", ("tests/a",)), ("lint", ())]),
        # the project's files
        ("npm test", [("test", ())]),
        ("npm run test:unit", [("test", ("src/unit",))]),
        ("npm run lint", [("lint", ()), ("type-check", ())]),
        ("yarn check", [("lint", ()), ("type-check", ()), ("test", ())]),
        ("npm test -- -t name", [("test", ("-t name",))]),
        ("npm run loop", [("unknown", ())]),
        ("npm run ci", [("unknown", ())]),
        ("npm run build", [("build", ())]),
        ("pnpm vitest run a", [("test", ("a",))]),
        ("make test", [("test", ())]),
        ("make", [("lint", ()), ("test", ())]),
        ("make check", [("lint", ()), ("test", ())]),
        ("make fast", [("test", ("tests/unit",))]),
        ("make ship", [("unknown", ())]),
        ("make lint test", [("lint", ()), ("test", ())]),
        ("just test", [("test", ())]),
        ("tox", [("test", ())]),
        ("tox -e lint", [("lint", ()), ("type-check", ())]),
        ("nox -s lint", [("lint", ())]),
        ("poe types", [("type-check", ())]),
        ("poe all", [("lint", ()), ("test", ())]),
        ("hatch run cov", [("test", ())]),
        ("mise run verify", [("test", ())]),
        ("cargo t1", [("test", ())]),
        ("pre-commit run --all-files", [("lint", ()), ("format", ()), ("type-check", ())]),
        ("composer test", [("test", ()), ("type-check", ())]),
        ("./tools/all.sh", [("test", ())]),
        ("./tools/style", [("lint", ())]),
        ("bash scripts/verify.sh", [("test", ())]),
        ("./scripts/unknown.sh", [("unknown", ())]),
        # programs that run nothing, or change files
        ("git status", [("other", ())]),
        ("git checkout a.py", [("edit", ())]),
        ("sed -n 1p a.py", [("other", ())]),
        ("sed -i s/a/b/ a.py", [("edit", ())]),
        ("find . -name a -delete", [("unknown", ())]),
        ("python scripts/a.py", [("unknown", ())]),
        ("xargs pytest", [("unknown", ())]),
    ],
)
def test_kinds(line: str, wanted: list[tuple[str, tuple[str, ...]]]) -> None:
    """Kind and scope of each run."""
    assert runs(line) == wanted


def test_folders() -> None:
    """A run in a folder is of that folder; one in another project is none of this one's."""
    assert runs("pytest", "/r/packages/a") == [("test", ("packages/a",))]
    assert runs("pytest tests", "/r/packages/a") == [("test", ("packages/a",))]
    assert runs("pytest b.py", "/r/packages/a") == [("test", ("packages/a/b.py",))]
    assert runs("npm test", "/r/web") == [("test", ("web",))]
    assert runs("pytest", "/elsewhere") == [("other", ())]
    assert runs("npm --prefix web test", "/r") == [("test", ("--prefix web",))]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "null", '{"scripts": []}', '{"scripts": {"test": {"a": 1}}}', "\x00", "a: [", "[" * 400, "[" * 5_000],
)
@pytest.mark.parametrize(
    "line",
    ["npm test", "make check", "tox -e a", "nox", "poe all", "mise run a", "cargo t1", "pre-commit run", "./x.sh"],
)
def test_files_that_are_broken(text: str, line: str) -> None:
    """A file of the project that is none says nothing, and stops nothing."""
    found = CommandKinds(lambda path: text).runs(shlex.split(line), "/r", "/r")
    assert 0 < len(found) <= MAX_RUNS


def test_tasks_that_multiply() -> None:
    """Tasks that run many others are bounded."""
    rules = "\n".join(f"a{n}: " + " ".join(f"a{m}" for m in range(40)) for n in range(40))
    assert len(CommandKinds({"Makefile": rules}.get).runs(["make", "a1"], "/r", "/r")) <= MAX_RUNS


def test_names() -> None:
    """The kind that a name tells."""
    names = ["test", "test:unit", "Run tests", "typecheck", "lint-css", "fmt", "deploy", "latest"]
    assert [kind_of_name(one) for one in names] == ["test", "test", None, "type-check", "lint", "format", None, None]
