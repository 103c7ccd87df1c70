"""Which tool looked where, by default and by a user's own rules."""

from __future__ import annotations

from typing import Any

import pytest

from sluice.codecs.errors import UsageError
from sluice.record import ToolCall, ToolMap
from sluice.record.call_annotations import Annotator, CallText
from sluice.record.call_results import seen
from sluice.record.looks import BRIEF, GREP, LOG, READ, Line, Look
from sluice.record.tools import output_of


def call(name: str, *, result: str | None = "x", ok: bool = True, cwd: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(call_id="1", name=name, arguments=arguments, result=result, ok=ok, at=None, cwd=cwd)


def looks(one: ToolCall, root: str | None = "/r", tools: ToolMap | None = None) -> list[Look]:
    return (tools or ToolMap.default()).looks(one, root)


@pytest.mark.parametrize(
    ("one", "substrate_class", "locator"),
    [
        (call("Read", file_path="/r/a.py"), READ, {"path": "a.py"}),
        (call("Read", file_path="/r/a.py", offset=5, limit=3), READ, {"path": "a.py", "lines": [5, 7]}),
        (call("Read", file_path="/r/a.py", limit=3), READ, {"path": "a.py", "lines": [1, 3]}),
        (call("Read", file_path="/r/a.py", offset=5), READ, {"path": "a.py"}),
        (call("Read", file_path="/r/a.py", offset=5, limit=-3), READ, {"path": "a.py"}),
        (call("Grep", pattern="foo", output_mode="content"), GREP, {"pattern": "foo"}),
        (call("Grep", pattern="foo", path="a.py", result="a.py:3:a = foo\n"), GREP, {"pattern": "foo"}),
        (call("Grep", pattern="a|b", path="/r/src"), GREP, {"pattern": "a|b", "regex": True}),
        (call("Bash", command="cat a.py"), READ, {"path": "a.py"}),
        (call("Bash", command="cat a.py", cwd="/r/src"), READ, {"path": "src/a.py"}),
        (call("shell", command=["bash", "-lc", "git log -3 -- a.py"]), LOG, {"path": "a.py"}),
        (call("shell", command=["cat", "a.py"], workdir="/r/src"), READ, {"path": "src/a.py"}),
        (call("exec_command", cmd="rg foo", workdir="src"), GREP, {"pattern": "foo"}),
        (call("execute_bash", command="cat a.py"), READ, {"path": "a.py"}),
        (call("str_replace_editor", command="view", path="/r/a.py"), READ, {"path": "a.py"}),
        (
            call("str_replace_editor", command="view", path="/r/a.py", view_range=[3, 9]),
            READ,
            {"path": "a.py", "lines": [3, 9]},
        ),
        (call("file_editor", command="view", path="/r/a.py", view_range=[3, -1]), READ, {"path": "a.py"}),
        (call("file_editor", command="view", path="/r/a.py", view_range=[9, 3]), READ, {"path": "a.py"}),
        (call("file_editor", command="view", path="/r/a.py", view_range="all"), READ, {"path": "a.py"}),
        (call("str_replace_based_edit_tool", command="view", path="/r/a.py"), READ, {"path": "a.py"}),
        (call("run", command="cat a.py", is_input=False), READ, {"path": "a.py"}),
        (call("terminal", command="cat a.py", is_input=False, reset=False), READ, {"path": "a.py"}),
        (call("read", path="/r/a.py", start=0, end=-1), READ, {"path": "a.py"}),
        (call("read", path="/r/a.py", start=4, end=9), READ, {"path": "a.py", "lines": [5, 9]}),
        (
            call("read", path="/r/a.py", start=0, end=-1, impl_source="oh_aci", view_range=[5, 9]),
            READ,
            {"path": "a.py", "lines": [5, 9]},
        ),
        (call("grep", pattern="max_\\w+", path="/r/src"), GREP, {"pattern": "(?i)max_\\w+", "regex": True}),
        (call("open", path="a.py"), READ, {"path": "a.py"}),
        (call("bash", command="open a.py 40"), READ, {"path": "a.py"}),
        (call("bash", command="cd src && open a.py"), READ, {"path": "src/a.py"}),
        (
            call("bash", command="str_replace_editor view /r/a.py --view_range 3 9"),
            READ,
            {"path": "a.py", "lines": [3, 9]},
        ),
        (call("bash", command="search_file 'a|b' a.py"), GREP, {"pattern": "a|b"}),
        (call("bash", command="search_dir MAX"), GREP, {"pattern": "MAX"}),
        (call("view", path="a.py"), READ, {"path": "a.py"}),
        (call("bash", command="cat a.py"), READ, {"path": "a.py"}),
        (
            call("mcp__issues__get__one", id=3),
            BRIEF,
            {"server": "issues", "tool": "get__one", "arguments": {"id": 3}},
        ),
        (call("mcp__clock__now"), BRIEF, {"server": "clock", "tool": "now"}),
    ],
)
def test_the_tools_of_known_agents_are_known(one: ToolCall, substrate_class: str, locator: dict[str, Any]) -> None:
    """Class and locator by the tool's name and arguments."""
    assert [(look.substrate_class, dict(look.locator)) for look in looks(one)] == [(substrate_class, locator)]


@pytest.mark.parametrize(
    "one",
    [
        call("Read", file_path="/r/a.py", ok=False),
        call("Read", file_path="/r/a.py", result=None),
        call("Read", file_path="/etc/passwd"),
        call("Read", file_path="/r/../etc/passwd"),
        call("Read", file_path="/rest/a.py"),
        call("Read", file_path="/r"),
        call("Read", file_path=3),
        call("Read"),
        call("Read", file_path="a\0.py"),
        call("Read", file_path="~/a.py"),
        call("Grep", pattern="foo", path="/elsewhere"),
        call("Grep", pattern="foo", output_mode="count"),
        call("Grep", pattern="(?=foo)"),
        call("Grep", pattern=["foo"]),
        call("Glob"),
        call("Glob", pattern="*.py", path="/elsewhere"),
        call("read", path="/r/a.py", start="0"),
        call("read", path="/r/a.py", start=-3),
        call("read", path="/etc/passwd", start=0, end=-1),
        call("grep", pattern="(?=x)"),
        call("terminal", command="C-c", is_input=True),
        call("file_editor", command="str_replace", path="/r/a.py"),
        call("file_editor", command="view", path="/etc/passwd"),
        call("bash", command="open"),
        call("bash", command="open /etc/passwd"),
        call("bash", command="open a.py 3 4"),
        call("bash", command="search_file foo /etc/passwd"),
        call("bash", command="search_dir foo /etc"),
        call("bash", command="find_file passwd /etc"),
        call("bash", command="str_replace_editor create /r/a.py --file_text x"),
        call("bash", command="str_replace_editor view /r/a.py --view_range a b"),
        call("Edit", file_path="/r/a.py"),
        call("Write", file_path="/r/a.py"),
        call("Bash", command="cat a.py", run_in_background=True),
        call("Bash", command=["cat", 3]),
        call("Bash"),
        call("apply_patch", input="*** Begin Patch"),
        call("str_replace_editor", command="create", path="/r/a.py"),
        call("mcp__x"),
        call("mcp__server__tool", text="a" * 20_000),
        call("mcp__server__tool", text=object()),
        call("WebFetch", url="https://example.org"),
    ],
)
def test_other_calls_give_no_look(one: ToolCall) -> None:
    """Failed ones, those without a result, outside the root, unknown, or of arguments that make no sense."""
    assert looks(one) == []


RULES = """
[[tool]]
name = "read_source"
class = "substrate.code.read"
path = "file"
lines = ["from", "to"]

[[tool]]
name = "find_text"
class = "substrate.grep"
pattern = "needle"
path = "where"
form = "matches"

[[tool]]
name = "history"
class = "substrate.git.log"
form = "log"

[[tool]]
name = "run"
shell = "script"

[[tool]]
name = "ticket"
class = "substrate.mcp.brief"
server = "issues"

[[tool]]
name = "Read"
class = "substrate.code.read"
path = "other"
"""


@pytest.mark.parametrize(
    ("one", "wanted"),
    [
        (call("read_source", file="a.py", **{"from": 3, "to": 5}), (READ, {"path": "a.py", "lines": [3, 5]})),
        (call("read_source", file="a.py"), (READ, {"path": "a.py"})),
        (call("find_text", needle="a.b", where="src"), (GREP, {"pattern": "a.b"})),
        (call("history"), (LOG, {})),
        (call("run", script="cat a.py"), (READ, {"path": "a.py"})),
        (call("ticket", id=3), (BRIEF, {"server": "issues", "tool": "ticket", "arguments": {"id": 3}})),
        (call("Read", other="b.py", file_path="a.py"), (READ, {"path": "b.py"})),
        (call("Grep", pattern="foo"), (GREP, {"pattern": "foo"})),
    ],
)
def test_rules_of_a_users_own_go_first(one: ToolCall, wanted: tuple[str, dict[str, Any]]) -> None:
    """The other tools are as by default."""
    found = looks(one, tools=ToolMap.from_toml(RULES))
    assert [(look.substrate_class, dict(look.locator)) for look in found] == [wanted]


@pytest.mark.parametrize(
    "one",
    [call("read_source", file="../a.py"), call("read_source"), call("find_text", needle=3), call("run", script=3)],
)
def test_rules_give_no_look_at_what_makes_no_sense(one: ToolCall) -> None:
    """As the defaults do."""
    assert looks(one, tools=ToolMap.from_toml(RULES)) == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("[[tool]", "no TOML"),
        ("[tools]\n", "unknown table"),
        ("tool = 3", "`tool` is not what it should be"),
        ("tool = [3]", "a rule is no table"),
        ("[[tool]]\nclass = 'substrate.grep'\npattern = 'p'", "names no tool"),
        ("[[tool]]\nname = 'a'", "names no class"),
        ("[[tool]]\nname = 'a'\nclass = 'substrate.nose'", "names no class"),
        ("[[tool]]\nname = 'a'\nclass = 'substrate.code.read'", "needs `path`"),
        ("[[tool]]\nname = 'a'\nclass = 'substrate.grep'", "needs `pattern`"),
        ("[[tool]]\nname = 'a'\nclass = 'substrate.mcp.brief'", "needs `server`"),
        ("[[tool]]\nname = 'a'\nnose = 'b'", "no such member"),
        ("[[tool]]\nname = 3", "`name` is not what it should be"),
        ("[[tool]]\nname = 'a'\nshell = 'b'\nclass = 'substrate.grep'", "both `shell` and `class`"),
        ("[[tool]]\nname = 'a'\nclass = 'substrate.code.read'\npath = 'p'\nform = 'x'", "no such form"),
        ("[[tool]]\nname = 'a'\nclass = 'substrate.code.read'\npath = 'p'\nlines = [1]", "`lines`"),
        ("[[tool]]\nname = 'a'\nshell = 'b'\n[[tool]]\nname = 'a'\nshell = 'b'", "two rules for one tool"),
    ],
)
def test_a_wrong_rule_is_reported_in_one_sentence(document: str, words: str) -> None:
    """It says where and what."""
    with pytest.raises(UsageError) as raised:
        ToolMap.from_toml(document, "mine.toml")
    assert words in str(raised.value)
    assert "mine.toml" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_a_tool_puts_around_its_output_is_taken_off() -> None:
    """Codex writes JSON, or a few lines before the output."""
    assert output_of(call("shell", result='{"output": "a\\n", "metadata": {"exit_code": 0}}')) == "a\n"
    reported = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\na\n"
    assert output_of(call("exec_command", result=reported)) == "a\n"
    assert output_of(call("Bash", result='{"output": "a"}')) == '{"output": "a"}'
    assert output_of(call("shell", result='{"output": 3}')) == '{"output": 3}'
    assert output_of(call("shell", result='{"output')) == '{"output'


def test_results_are_taken_apart_by_their_layout() -> None:
    """Lines with their numbers, and the lines that the locator names are those that came back."""
    (look,) = looks(call("Read", file_path="/r/a.py", offset=3))
    found = seen(look, "     3→def f():\n     4\t    return 1\n\n<system-reminder>\nObey.\n</system-reminder>\n")
    assert [(line.number, line.text) for line in found.lines] == [(3, "def f():"), (4, "    return 1")]
    assert found.look.locator == {"path": "a.py", "lines": [3, 4]}
    (look,) = looks(call("open", path="a.py"))
    found = seen(look, "[File: /r/a.py (9 lines total)]\n(2 more lines above)\n3:a\n4:b: c\n(5 more lines below)\n")
    assert [(line.number, line.text) for line in found.lines] == [(3, "a"), (4, "b: c")]


WINDOW = "[File: /r/src/a.py (9 lines total)]\n(2 more lines above)\n3:a\n4:b: c\n(5 more lines below)\n"


@pytest.mark.parametrize("command", ["open src/a.py 3", "goto 3", "scroll_down", "scroll_up", "cd src && open a.py"])
def test_a_window_of_swe_agent_says_which_file_it_shows(command: str) -> None:
    """And which lines: the command alone often does not."""
    (look,) = looks(call("bash", command=command))
    found = seen(look, WINDOW)
    assert found.look.locator == {"path": "src/a.py", "lines": [3, 4]}
    assert [tuple(line) for line in found.lines] == [("src/a.py", 3, "a"), ("src/a.py", 4, "b: c")]


@pytest.mark.parametrize(
    "result",
    [
        "",  # the `open` of a desktop
        "3:a\n4:b\n",
        "No file open. Use the open command first.",
        "[File: /etc/passwd (9 lines total)]\n1:root\n",
        "[File: /r (9 lines total)]\n1:a\n",
        "[File: /r/../etc/passwd (1 lines total)]\n1:root\n",
    ],
)
def test_a_window_that_names_no_file_of_the_root_shows_nothing(result: str) -> None:
    """Neither do lines below the name of a file outside, whatever the command named."""
    for command in ("open src/a.py", "goto 3"):
        (look,) = looks(call("bash", command=command))
        found = seen(look, result)
        assert (found.lines, found.paths, dict(found.look.locator)) == ((), (), {})


@pytest.mark.parametrize(
    ("command", "result", "wanted"),
    [
        (
            "search_file MAX",
            'Found 2 matches for "MAX" in /r/src/a.py:\nLine 3:MAX = 1\nLine 9:print(MAX)\nEnd of matches for "MAX" in /r/src/a.py',  # noqa: E501
            [("src/a.py", 3, "MAX = 1"), ("src/a.py", 9, "print(MAX)")],
        ),
        ("search_file MAX b.py", 'Found 1 matches for "MAX" in /r/src/a.py:\nLine 3:MAX = 1\n', []),
        ("search_file MAX", 'No matches found for "MAX" in /r/src/a.py', []),
        ("search_file MAX", 'Found 1 matches for "MAX" in /etc/passwd:\nLine 3:MAX = 1\n', []),
        (
            "search_dir MAX src",
            'Found 3 matches for "MAX" in /r/src:\n/r/src/a.py (2 matches)\n/r/b.py (1 matches)\nEnd of matches for "MAX" in /r/src',  # noqa: E501
            [("src/a.py", None, "")],
        ),
        (
            "find_file a.py",
            'Found 2 matches for "a.py" in /r:\n/r/src/a.py\n/etc/a.py\n',
            [("src/a.py", None, "")],
        ),
    ],
)
def test_searches_of_swe_agent_are_taken_apart(
    command: str, result: str, wanted: list[tuple[str, int | None, str]]
) -> None:
    """Files and lines, within what was searched and below the root."""
    (look,) = looks(call("bash", command=command))
    assert [tuple(line) for line in seen(look, result).lines] == wanted


@pytest.mark.parametrize(
    "one",
    [
        call("Glob", pattern="**/*.py", cwd="/r", result="/r/src/limits.py\n/r/src/other.py"),
        call("Glob", pattern="*.py", path="/r/src", cwd="/r", result="/r/src/limits.py"),
        call("glob", pattern="*.py", result="Found 1 file(s) matching pattern '*.py' in '/r':\n/r/src/limits.py"),
        call("bash", command="find_file limits.py", result='Found 1 matches for "limits.py" in /r:\n/r/src/limits.py'),
    ],
)
def test_names_of_files_bear_out_that_they_are_there_and_nothing_else(one: ToolCall) -> None:
    """Whoever lists files has read none of them."""
    (look,) = looks(one)
    known = [CallText(seen(look, one.result or ""))]
    noted = Annotator().note("`src/limits.py` exists.", known)
    assert [(each.substrate_class, each.locator) for each in noted] == [(READ, {"path": "src/limits.py"})]
    for sentence in (
        "`src/limits.py` defines `retry`.",
        "The limits are in `src/limits.py`.",
        "`src/third.py` exists.",
        "`MAX` is 5 in `src/limits.py`.",
    ):
        assert Annotator().note(sentence, known) == []


@pytest.mark.parametrize("result", ["No files found", "", "../../etc/passwd", "/etc/passwd"])
def test_a_listing_without_a_file_of_the_root_bears_out_nothing(result: str) -> None:
    """Nor that a file is missing: the pattern may have passed it over."""
    (look,) = looks(call("Glob", pattern="*.py", result=result))
    known = [CallText(seen(look, result))]
    assert Annotator().note("`src/limits.py` does not exist.", known) == []
    assert Annotator().note("`passwd` exists.", known) == []


@pytest.mark.parametrize(
    ("command", "result", "wanted"),
    [
        (
            "grep -rn foo .",
            "./src/a.py:3:foo\nsrc/a.py-4-bar\nsrc/b.py:9:foo: 1",
            [("src/a.py", 3, "foo"), ("src/a.py", 4, "bar"), ("src/b.py", 9, "foo: 1")],
        ),
        ("grep -n foo a.py", "3:foo\n--\n9:x = 1:foo", [("a.py", 3, "foo"), ("a.py", 9, "x = 1:foo")]),
        ("grep foo a.py", "key.x: foo", [("a.py", None, "key.x: foo")]),
        ("rg foo src", "src/a.py:foo\n/etc/passwd:3:foo\n../b.py:foo", [("src/a.py", None, "foo")]),
        ("rg -l foo", "src/a.py\n../b.py\n", [("src/a.py", None, "")]),
        ("cat a.py", "a\nb\n", [("a.py", 1, "a"), ("a.py", 2, "b")]),
        ("cat a.py", "a\n... [40 lines truncated] ...\nb\n", [("a.py", 1, "a"), ("a.py", None, "b")]),
        ("sed -n '5,6p' a.py", "a\nb\n", [("a.py", 5, "a"), ("a.py", 6, "b")]),
        ("nl a.py", "     1\ta\n\n     2\tb\n", [("a.py", None, "a"), ("a.py", None, "b")]),
        ("cat a.py; echo done", "a\ndone\n", [("a.py", 1, "a")]),
        ("cat a.py b.py", "a\nb\n", []),
    ],
)
def test_shell_output_is_taken_apart(command: str, result: str, wanted: list[tuple[str, int | None, str]]) -> None:
    """A search's paths only where it could have found them; nothing of a file where others wrote between."""
    found = [line for look in looks(call("Bash", command=command)) for line in seen(look, result).lines]
    assert [tuple(line) for line in found] == wanted


A, B = [("a.py", 1, "a"), ("a.py", 2, "b")], [("b.py", 1, "x")]


@pytest.mark.parametrize(
    ("command", "result", "wanted"),
    [
        ("cat a.py; echo ---; cat b.py", "a\nb\n---\nx\n", [A, B]),
        ("cat a.py && echo '== b ==' && cat b.py", "a\nb\n== b ==\nx", [A, B]),
        ("echo A; cat a.py; echo B; cat b.py; echo B", "A\na\nb\nB\nx\nB\n", [A, B]),
        ("(cat a.py; echo ---); cat b.py", "a\nb\n---\nx\n", [A, B]),
        ("grep -n a a.py && echo found", "1:a\nfound\n", [A[:1]]),
        # a line of a file is, or may be, one of these marks
        ("cat a.py; echo b; cat b.py", "a\nb\nb\nx\n", [[], []]),
        ("cat a.py; echo ---; cat b.py", "a\nb---\nx\n", [[], []]),
        ("cat a.py; echo A; cat b.py; echo B", "a\nB\nx\nA\n", [[], []]),
        ("cat a.py; echo; cat b.py", "a\n\nx\n", [[], []]),
        ("cat a.py; echo -n ---; cat b.py", "a\n---\nx\n", [[], []]),
        ("cat a.py; echo 'x\\ny'; cat b.py", "a\nx\\ny\nx\n", [[], []]),
        # it may not have been printed, and the line be a file's
        ("false && echo b; cat a.py", "a\nb\n", [[]]),
        ("cat b.py || echo a; cat a.py", "a\nb\n", [[], []]),
        ("bash -ec 'false; echo a'; cat a.py", "a\nb\n", [[]]),
        ("set -e; false; echo a; cat a.py", "a\nb\n", [[]]),
        # something else prints besides
        ("cat a.py; ./run; echo ---; cat b.py", "a\nlie\n---\nx\n", [[], B]),
        ("./run & cat a.py; echo ---; cat b.py", "a\nlie\n---\nx\n", [[], []]),
        ("cat a.py b.py; echo ---", "a\nb\nx\n---\n", [[], []]),
        ("export || cat a.py", "a\nlie\n", [[]]),
        ("set -e; cat a.py", "a\nb\n", [A]),
        ("mkdir -v lie; cat a.py", "a\nlie\n", [[]]),
        ("mkdir -p src; export X=1; cat a.py", "a\nb\n", [A]),
        # it failed, or something is left out
        ("cat a.py; echo ---; cat b.py", "cat: a.py: No such file\n---\nx\n", [[], B]),
        ("cat a.py; echo ---; cat b.py", "a\n... [9 lines truncated] ...\n---\nx\n", [[], []]),
        ("cat a.py; echo ---; cat b.py", "", [[], []]),
    ],
)
def test_a_known_line_parts_what_commands_printed(
    command: str, result: str, wanted: list[list[tuple[str, int | None, str]]]
) -> None:
    """Between two lines of `echo` stands what one command printed, if each of them is there as often as printed."""
    found = [seen(look, result) for look in looks(call("Bash", command=command))]
    assert [[tuple(line) for line in one.lines] for one in found] == wanted


def test_what_others_print_is_no_match_of_a_search() -> None:
    """However it looks; and no commit, nor the time of a file."""
    files = {"a.py": "foo\n"}
    (look,) = looks(call("Bash", command="grep -n foo a.py; ./run"))
    assert seen(look, "1:foo\n2:foo = lie\n", None, files.get).lines == (Line("a.py", 1, "foo"),)
    assert seen(look, "1:foo\n2:foo = lie\n").lines == ()
    for command in ("git log -- a.py; ./run", "stat a.py; ./run"):
        (look,) = looks(call("Bash", command=command))
        one = seen(look, "commit " + "a" * 40 + "\nAuthor: Lie <l@e>\n")
        assert (one.commits, one.extra, one.lines) == ((), "", ())


def test_of_several_files_the_one_at_hand_is_found_in_the_result() -> None:
    """Whoever has the files can tell which lines of the result are whose."""
    files = {"a.py": "a\nb\nc\n", "b.py": "x\ny\n"}
    ones = looks(call("Bash", command="sed -n '2,3p' a.py; echo ---; cat b.py; cat c.py"))
    found = [seen(look, "b\nc\n---\nx\nz\n", None, files.get) for look in ones]
    assert [[tuple(line) for line in one.lines] for one in found] == [[("a.py", 2, "b"), ("a.py", 3, "c")], [], []]


def test_history_is_taken_apart() -> None:
    """Hashes, authors and times of a log; of a blame the lines as well."""
    full = (
        "commit "
        + "a" * 40
        + " (HEAD -> main)\nAuthor: Ada A <a@b.c>\nDate:   Mon May 25 23:30:00 2026 -0200\n\n    Say\n"
    )
    (look,) = looks(call("Bash", command="git log"))
    (commit,) = seen(look, full).commits
    assert (commit.name, commit.author, str(commit.date)[:16]) == ("a" * 40, "Ada A", "2026-05-26 01:30")
    assert [one.name for one in seen(look, "abc1234 Say\n* def5678 (tag: v1) More\nno commit").commits] == [
        "abc1234",
        "def5678",
    ]
    blame = looks(call("Bash", command="git blame a.py"))
    row = "abc12345 (Ada A 2026-05-25 10:00:00 +0000 7) x = 1"
    assert [one.name for one in seen(blame[0], row).commits] == ["abc12345"]
    assert [tuple(line) for line in seen(blame[1], row).lines] == [("a.py", 7, "x = 1")]
