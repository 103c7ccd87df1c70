"""Names are followed through imports, whatever they are called there and in whatever order the files come."""

from __future__ import annotations

import pytest

from sluice.streams import grounded as library
from sluice.streams.checker import Source, check
from sluice.streams.checker.machine import EXPORTED

NAMES = "from sluice.streams.grounded import Grounded, agent, grounded_pure\n"
TOOLS = """\
from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool

@tool(data="grounded")
def fetch(k: str) -> Grounded[str]: return k
@agent
def imp(k: str) -> Grounded[str]: return fetch(k)
def helper(k: str) -> Grounded[str]: return imp(k)
CONF = 0.9
@prompt(confidence=0.5)
def summ(d: str) -> Grounded[str]: return d
@tool(data="pii")
def nosrc(k: str) -> Grounded[str]: return k
"""
PURE = "@agent\n@grounded_pure\ndef a(x: str) -> Grounded[str]:\n    return {}(x)\n"
OPEN = "@agent\ndef a(x: str) -> Grounded[str]:\n    return {}(x)\n"

IMPORTS = [
    ("main.py", "tools.py", "from tools import imp\n", "imp"),
    ("main.py", "tools.py", "from tools import imp as q\n", "q"),
    ("main.py", "tools.py", "import tools\n", "tools.imp"),
    ("main.py", "tools.py", "import tools as t\n", "t.imp"),
    ("main.py", "tools.py", "from tools import *\n", "imp"),
    ("main.py", "pkg/tools.py", "import pkg.tools\n", "pkg.tools.imp"),
    ("main.py", "pkg/tools.py", "import pkg.tools as z\n", "z.imp"),
    ("main.py", "pkg/tools.py", "from pkg import tools\n", "tools.imp"),
    ("main.py", "pkg/tools.py", "from pkg.tools import imp\n", "imp"),
    ("src/main.py", "src/app/pkg/tools.py", "from app.pkg import tools\n", "tools.imp"),
    ("pkg/main.py", "pkg/tools.py", "from .tools import imp\n", "imp"),
    ("pkg/main.py", "pkg/tools.py", "from . import tools\n", "tools.imp"),
    ("pkg/main.py", "pkg/tools.py", "from . import tools as t\n", "t.imp"),
    ("pkg/main.py", "pkg/tools.py", "from .tools import *\n", "imp"),
    ("pkg/sub/main.py", "pkg/tools.py", "from ..tools import imp\n", "imp"),
    ("pkg/sub/main.py", "pkg/other/tools.py", "from ..other.tools import imp\n", "imp"),
]


@pytest.mark.parametrize(("main", "tools", "line", "name"), IMPORTS, ids=[one[2].strip() for one in IMPORTS])
@pytest.mark.parametrize("backwards", [False, True])
def test_an_impure_agent_is_known_under_any_import(main: str, tools: str, line: str, name: str, backwards: bool):
    """Absolute, relative, renamed, or with a star; the order of the files says nothing."""
    sources = [Source(main, NAMES + line + PURE.format(name)), Source(tools, TOOLS)]
    report = check(reversed(sources) if backwards else sources)
    assert [(one.path, one.line, one.rule) for one in report.findings] == [(main, 6, "impure-call")]


def found(**files: str) -> list[tuple[str, str]]:
    """The findings in some modules; two underscores in a name are a folder."""
    report = check(Source(f"{name.replace('__', '/')}.py", text) for name, text in files.items())
    assert not report.errors
    return [(one.path, one.rule) for one in report.findings]


@pytest.mark.parametrize("line", ["from .tools import imp as other\n", "from .tools import *\nother = imp\n"])
def test_a_package_hands_names_on(line: str):
    """What its `__init__` imports is known under the package's name."""
    main = Source("main.py", NAMES + "import pkg\n" + PURE.format("pkg.other"))
    report = check([main, Source("pkg/__init__.py", line), Source("pkg/tools.py", TOOLS)])
    assert [(one.path, one.rule) for one in report.findings] == [("main.py", "impure-call")]


def test_an_impure_agent_behind_a_helper_is_found_in_the_helper():
    """The site is where the call stands, and the message says on whose behalf."""
    main = Source("main.py", NAMES + "from tools import helper\n" + PURE.format("helper"))
    (one,) = check([main, Source("tools.py", TOOLS)]).findings
    assert (one.path, one.rule) == ("tools.py", "impure-call")
    assert "@grounded_pure a" in one.message


def test_confidences_and_constants_cross_modules():
    """A bound, and the prompt that it is held against, may stand in another file."""
    main = (
        "from tools import *\n@agent(min_confidence={})\ndef a(x: str) -> Grounded[str]:\n    return summ(fetch(x))\n"
    )
    assert found(main=NAMES + main.format("CONF"), tools=TOOLS) == [("main.py", "unreachable-confidence")]
    assert found(main=NAMES + main.format("LEAST"), tools=TOOLS + "LEAST = 0.5\n") == []


def test_a_tool_without_grounded_data_is_no_source_from_afar():
    """Its data is read where it is defined."""
    main = NAMES + "from tools import nosrc\n" + OPEN.format("nosrc")
    assert found(main=main, tools=TOOLS) == [("main.py", "ungrounded-return")]


@pytest.mark.parametrize(("line", "name"), [("import y\n", "y.nosrc"), ("from y import nosrc\n", "nosrc")])
def test_modules_may_import_one_another_in_a_circle(line: str, name: str):
    """Both are followed, once each."""
    assert found(x=NAMES + line + OPEN.format(name), y="from x import a\n" + TOOLS) == [("x.py", "ungrounded-return")]


@pytest.mark.parametrize("heads", [("sluice.streams.grounded", "tools"), ("tools", "sluice.streams.grounded")])
def test_a_star_of_the_library_binds_its_names_and_no_others(heads: tuple[str, str]):
    """Neither Python's own nor those of another star are hidden by it."""
    body = "".join(f"from {one} import *\n" for one in heads) + PURE.format("imp").replace(
        "return", "print(fetch(x))\n    return"
    )
    report = check([Source("main.py", body), Source("tools.py", TOOLS)])
    assert [(one.line, one.rule) for one in report.findings if one.path == "main.py"] == [
        (6, "coercion"),
        (7, "impure-call"),
    ]
    assert set(library.__all__) == EXPORTED


def test_a_star_that_goes_in_a_circle_comes_to_an_end():
    """Names that neither has are nowhere."""
    text = NAMES + "from {} import *\n" + OPEN.format("nowhere")
    assert found(x=text.format("y"), y=text.format("x")) == []


LIBRARY = [
    "import sluice.streams.grounded as G\n@G.agent\ndef a(x: str) -> G.Grounded[str]:\n",
    "import sluice.streams.grounded\n@sluice.streams.grounded.agent()\ndef a(x) -> sluice.streams.grounded.Grounded:\n",
    "from sluice.streams import grounded as G\n@G.agent\ndef a(x: str) -> G.Grounded[str]:\n",
    "from sluice import streams\n@streams.grounded.agent\ndef a(x: str) -> streams.grounded.Grounded[str]:\n",
    "from sluice.streams.grounded import *\n@agent\ndef a(x: str) -> 'Grounded[str]':\n",
    "from sluice.streams.grounded import agent as b, Grounded as Q\n@b()\ndef a(x: str) -> Q[str]:\n",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sluice.streams.grounded import Grounded\n"
    "try:\n    from sluice.streams.grounded import agent\nexcept ImportError:\n    agent = None\n"
    "@agent\ndef a(x: str) -> 'Grounded[str]':\n",
    "from sluice.streams.grounded import agent, Grounded\nDoc = Grounded[str]\n@agent\ndef a(x: str) -> Doc:\n",
    "import typing as t\nfrom sluice.streams.grounded import agent, Grounded\n"
    "@agent\ndef a(x: str) -> t.Annotated[Grounded[str], 'x']:\n",
]


@pytest.mark.parametrize("head", LIBRARY)
def test_the_library_is_known_under_any_import(head: str):
    """Decorators and types are recognised by where they come from, not by what they are called."""
    assert found(m=head + '    return "made up"\n') == [("m.py", "ungrounded-return")]


def test_a_library_of_the_same_names_is_another_one():
    """What comes from elsewhere means nothing here."""
    assert found(m='from mylib import agent, Grounded\n@agent\ndef f(x: str) -> Grounded[str]:\n    return "x"\n') == []


def test_the_names_may_be_handed_on_by_a_module_of_the_program():
    """A module that only imports them is as good as the library."""
    text = 'from lib import *\n@agent\ndef f(x: str) -> Grounded[str]:\n    return "x"\n'
    assert found(lib=NAMES, m=text) == [("m.py", "ungrounded-return")]


def test_an_import_means_the_nearest_file():
    """What lies beside the importer goes before a file of the same name elsewhere."""
    main = NAMES + "from tools import imp\n" + PURE.format("imp")
    harmless = TOOLS.replace("@agent\ndef imp", "def imp")
    assert found(one__main=main, one__tools=harmless, two__tools=TOOLS) == []
    assert found(one__main=main, two__tools=harmless, one__tools=TOOLS) == [("one/main.py", "impure-call")]
