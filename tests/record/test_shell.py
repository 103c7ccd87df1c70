"""Command lines are taken apart, never run; what is unclear gives no look."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.record.looks import GREP, LOG, MTIME, READ
from sluice.record.shell import pipelines, script_of
from sluice.record.shell_looks import shell_looks


def looks(line: str, cwd: str | None = "/r") -> list[tuple[str, dict[str, Any]]]:
    return [(one.substrate_class, dict(one.locator)) for one in shell_looks(line, cwd, "/r")]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("cat a.py", [(READ, {"path": "a.py"})]),
        ("cat -n src/a.py", [(READ, {"path": "src/a.py"})]),
        ("cat a.py b.py", [(READ, {"path": "a.py"}), (READ, {"path": "b.py"})]),
        ("cat /r/src/a.py", [(READ, {"path": "src/a.py"})]),
        ("cat 'a b.py'", [(READ, {"path": "a b.py"})]),
        ("cat a.py | head -n 5", [(READ, {"path": "a.py", "lines": [1, 5]})]),
        ("head -20 a.py", [(READ, {"path": "a.py", "lines": [1, 20]})]),
        ("head a.py", [(READ, {"path": "a.py", "lines": [1, 10]})]),
        ("tail -n +5 a.py | head -n 3", [(READ, {"path": "a.py", "lines": [5, 7]})]),
        ("tail -n 5 a.py", [(READ, {"path": "a.py"})]),
        ("sed -n '10,20p' a.py", [(READ, {"path": "a.py", "lines": [10, 20]})]),
        ("sed -n -e 7p a.py", [(READ, {"path": "a.py", "lines": [7, 7]})]),
        ("nl -ba a.py | sed -n '3,9p'", [(READ, {"path": "a.py", "lines": [3, 9]})]),
        ("cat a.py 2>/dev/null", [(READ, {"path": "a.py"})]),
        ("cat a.py 2>&1 | head -2", [(READ, {"path": "a.py", "lines": [1, 2]})]),
        ("cd src && cat a.py", [(READ, {"path": "src/a.py"})]),
        ("cd src; cd ..; cat a.py", [(READ, {"path": "a.py"})]),
        ("grep -n foo a.py", [(GREP, {"pattern": "foo"})]),
        ("grep -rn 'def f(' .", [(GREP, {"pattern": "def f("})]),
        ("grep 'a\\|b' a.py", [(GREP, {"pattern": "a|b", "regex": True})]),
        ("grep -E 'a|b' a.py", [(GREP, {"pattern": "a|b", "regex": True})]),
        ("grep -F 'a.b' a.py", [(GREP, {"pattern": "a.b"})]),
        ("grep -w foo a.py", [(GREP, {"pattern": r"\b(?:foo)\b", "regex": True})]),
        ("rg foo", [(GREP, {"pattern": "foo"})]),
        ("rg 'foo\\(' src | head", [(GREP, {"pattern": "foo("})]),
        ("rg -i foo", [(GREP, {"pattern": "(?i)foo", "regex": True})]),
        ("git grep -n foo -- src", [(GREP, {"pattern": "foo"})]),
        ("git log --oneline -5 -- a.py", [(LOG, {"path": "a.py"})]),
        ("git --no-pager -C src log a.py", [(LOG, {"path": "src/a.py"})]),
        ("git log main", [(LOG, {"ref": "main"})]),
        ("git show abc1234", [(LOG, {"commit": "abc1234"})]),
        ("git show HEAD:src/a.py", [(READ, {"path": "src/a.py", "ref": "HEAD"})]),
        ("git blame -L 3,9 a.py", [(LOG, {"path": "a.py"}), (READ, {"path": "a.py", "lines": [3, 9]})]),
        ("stat a.py", [(MTIME, {"path": "a.py"})]),
        ("ls -l a.py", [(MTIME, {"path": "a.py"})]),
        ("echo ';' cat b.py; cat a.py", [(READ, {"path": "a.py"})]),
        ("cat a.py # ; cat b.py", [(READ, {"path": "a.py"})]),
        ("cat *.py; cat a.py", [(READ, {"path": "a.py"})]),
        ("/usr/bin/cat a.py", [(READ, {"path": "a.py"})]),
        ("cat 'a'\\\n.py", [(READ, {"path": "a.py"})]),
        ('cat "a\\$b.py"', [(READ, {"path": "a$b.py"})]),
        ("cat a.py | head", [(READ, {"path": "a.py", "lines": [1, 10]})]),
        ("cat a.py; cat b.py", [(READ, {"path": "a.py"}), (READ, {"path": "b.py"})]),
        ("grep -n foo a.py && echo found", [(GREP, {"pattern": "foo"})]),
        # subshells
        ("(cat a.py)", [(READ, {"path": "a.py"})]),
        ("(cd src && cat a.py); cat b.py", [(READ, {"path": "src/a.py"}), (READ, {"path": "b.py"})]),
        ("( cat a.py ) | head -n 5", [(READ, {"path": "a.py", "lines": [1, 5]})]),
        ("(cat a.py 2>&1)", [(READ, {"path": "a.py"})]),
        ("(cat a.py; (cd src; cat b.py))", [(READ, {"path": "a.py"}), (READ, {"path": "src/b.py"})]),
        # scripts
        ("bash -c 'cat a.py'", [(READ, {"path": "a.py"})]),
        ('sh -c "cat a.py"', [(READ, {"path": "a.py"})]),
        ("bash -lc 'cd src && cat a.py'; cat b.py", [(READ, {"path": "src/a.py"}), (READ, {"path": "b.py"})]),
        ("/bin/bash -euo pipefail -c 'cat a.py'", [(READ, {"path": "a.py"})]),
        ("bash -lc 'cat a.py' | head -n 5", [(READ, {"path": "a.py", "lines": [1, 5]})]),
        ("bash -c 'cat a.py | head -n 9' | head -n 5", [(READ, {"path": "a.py", "lines": [1, 5]})]),
        ("bash -c 'bash -c \"cat a.py\"'", [(READ, {"path": "a.py"})]),
        ("bash -c 'exit 3'; cat a.py", [(READ, {"path": "a.py"})]),
        # what only passes a command on
        ("FOO=1 cat a.py", [(READ, {"path": "a.py"})]),
        ("FOO=$BAR LC_ALL=C grep foo a.py", [(GREP, {"pattern": "foo"})]),
        ("env X=1 cat a.py", [(READ, {"path": "a.py"})]),
        ("env cat a.py", [(READ, {"path": "a.py"})]),
        ("timeout 5 cat a.py", [(READ, {"path": "a.py"})]),
        ("timeout -s KILL --foreground 1.5m cat a.py", [(READ, {"path": "a.py"})]),
        ("timeout 5 env X=1 bash -lc 'X=2 cat a.py' | head -n 5", [(READ, {"path": "a.py", "lines": [1, 5]})]),
        ("GIT_PAGER=cat git log -- a.py", [(LOG, {"path": "a.py"})]),
        ("command cat a.py", [(READ, {"path": "a.py"})]),
        ("X=1; Y=$X; cat a.py", [(READ, {"path": "a.py"})]),
        ("export X=1; cat a.py", [(READ, {"path": "a.py"})]),
        ("X=1 cd src; cat a.py", [(READ, {"path": "src/a.py"})]),
        ("set -euo pipefail; cat a.py", [(READ, {"path": "a.py"})]),
        ("set -e -u; cat a.py", [(READ, {"path": "a.py"})]),
        ("sleep 5 & cat a.py", [(READ, {"path": "a.py"})]),
    ],
)
def test_commands_give_their_looks(line: str, wanted: list[tuple[str, dict[str, Any]]]) -> None:
    """Class and locator, relative to the root."""
    assert looks(line) == wanted


@pytest.mark.parametrize(
    "line",
    [
        "cat $(rm -rf /)",
        "cat `id`",
        "cat $FILE",
        'cat "$HOME/a.py"',
        "cat ${X:-a.py}",
        "cat $'a.py'",
        "cat *.py",
        "cat a?.py",
        "cat [ab].py",
        "cat {a,b}.py",
        "cat ~/a.py",
        "cat a.py > b.py",
        "cat < a.py",
        "cat <<EOF\na\nEOF",
        "diff <(cat a.py) b.py",
        "cat a.py &",
        "for f in a b; do cat a.py; done",
        "if true; then cat a.py; fi",
        "{ cat a.py; }",
        "f() { cat a.py; }",
        "sudo cat a.py",
        "eval cat a.py; cat b.py",
        "source x; cat a.py",
        "cat '",
        "cat a.py | wc -l",
        "cat a.py | sort",
        "cat a.py | sed s/a/b/",
        "sed -i s/a/b/ a.py",
        "sed -n '/x/p' a.py",
        "grep -v foo a.py",
        "grep -c foo a.py",
        "grep -P '(?<=a)b' a.py",
        "rg '(?=a)' a.py",
        "grep foo",
        "ls a.py",
        "git diff",
        "git log abc1234..def5678",
        "git show HEAD~3",
        "cat ../a.py",
        "cat /etc/passwd",
        "cat .git/config",
        "cat src/../../a.py",
        "git -C /elsewhere log",
        "cd $X && cat a.py; cd ..",
        "cat a\x1b[31m.py",
        "cat a\0.py",
        "cat \ue000a.py",
        "cat a.py\x08\x08b.py",
        "cat " + "a " * 20_000,
        # what is printed is not the file's
        "bash -c 'echo lie' # cat a.py",
        "bash -c 'cat a.py > b.py'",
        "bash -c 'cat a.py' > b.py",
        "bash -c 'cat <<EOF\na\nEOF'",
        "bash -c 'cat $FILE'",
        'bash -c "cat \\$FILE"',
        'bash -c "cat $FILE"',
        "bash -c 'cat *.py'",
        "bash -c 'cat `id`'",
        'bash -c "cat <(echo lie)"',
        "bash -c 'cat() { echo lie; }; cat a.py'",
        "bash -c 'alias cat=tac\ncat a.py'",
        "bash -n -c 'cat a.py'",
        "bash -xc 'cat a.py'",
        "bash -ic 'cat a.py'",
        "bash -c 'cat a.py' b c",
        "bash -c",
        "bash a.py",
        "./bash -c 'cat a.py'",
        "/r/bin/bash -c 'cat a.py'",
        "echo lie | bash -c 'cat a.py'",
        "bash -c 'cat a.py' | sort",
        "bash -c 'cat a.py; cat b.py' | head",
        "bash -c " * 20 + "'cat a.py'",
        "(cat a.py; cat b.py) | head",
        "(cat a.py) > b.py",
        "(cat a.py) &",
        "(cat a.py",
        "cat() (echo lie); cat a.py",
        "((cat a.py))",
        "a=(cat a.py)",
        "( " * 50 + "cat a.py" + " )" * 50,
        # it may be another program, or print otherwise
        "./cat a.py",
        "src/cat a.py",
        "/r/src/cat a.py",
        "PATH=/r/bin cat a.py",
        "PATH=/r/bin; cat a.py",
        "PATH=/r/bin :; cat a.py",
        "export PATH=/r/bin; cat a.py",
        "declare -x 'PATH=/r/bin'; cat a.py",
        "env PATH=/r/bin cat a.py",
        "LD_PRELOAD=/r/lie.so cat a.py",
        "env LD_PRELOAD=/r/lie.so cat a.py",
        "BASH_ENV=/r/lie.sh bash -c 'cat a.py'",
        "env 'BASH_FUNC_cat%%=() { echo lie; }' bash -c 'cat a.py'",
        "GIT_DIR=/elsewhere git log",
        "HOME=/r git log",
        "GIT_PAGER='echo lie' git log",
        "RIPGREP_CONFIG_PATH=/r/lie rg foo",
        "TZ=Asia/Tokyo stat a.py",
        "WINDOW=9 open a.py",
        "'FOO=1' cat a.py",
        "FOO\\=1 cat a.py",
        "env X=$Y cat a.py",
        "env -S 'cat a.py'",
        "env -C /elsewhere cat a.py",
        "env -i cat a.py",
        "env $X cat a.py",
        "timeout $X cat a.py",
        "timeout cat a.py",
        "timeout -v 5 cat a.py",
        "timeout 5 open a.py",
        "timeout 5",
        "env",
        "set -x; cat a.py",
        "set -n; cat a.py",
        "set -o xtrace; cat a.py",
        "hash -p /r/lie cat; cat a.py",
        "enable -f /r/lie.so cat; cat a.py",
        "builtin eval alias; cat a.py",
        "command -p eval x; cat a.py",
        "command eval x; cat a.py",
        "read PATH < b.py; cat a.py",
        "printf -v PATH /r/bin; cat a.py",
        "$X; cat a.py",
        "X=1 $Y; cat a.py",
    ],
)
def test_what_is_unclear_gives_no_look(line: str) -> None:
    """Variables, substitutions, globs, redirections, compound commands, places outside the root."""
    assert looks(line) == []


def test_a_folder_that_nobody_knows_gives_no_relative_path() -> None:
    """Behind `cd $X` only absolute paths are known."""
    assert pipelines("cd $X && cat a.py", "/r")[0].cwd is None
    assert looks("cd /elsewhere && cat a.py") == []
    assert looks("cd /r/src && cat a.py", None) == [(READ, {"path": "src/a.py"})]
    assert looks("cd $X && cat /r/a.py") == [(READ, {"path": "a.py"})]


@pytest.mark.parametrize(
    "line",
    [
        "true || cd src; cat a.py",
        "false && cd src; cat a.py",
        "cd src || cat a.py",
        "cd src && sleep 9 & cat a.py",
        "command cd $X; cat a.py",
        "cd $X; cat a.py",
        "cd src > b.py; cat a.py",
    ],
)
def test_a_cd_that_may_not_be_run_leaves_no_folder(line: str) -> None:
    """Behind it nobody knows which file a relative path is."""
    assert looks(line) == []
    assert looks(line.replace("cat a.py", "cat /r/a.py")) == [(READ, {"path": "a.py"})]


def test_a_cd_beside_others_leads_nowhere() -> None:
    """In a subshell, in the background, behind `env`: the folder is another one for that alone."""
    for line in ("(cd src); cat a.py", "cd src & cat a.py", "bash -c 'cd src'; cat a.py", "env cd src; cat a.py"):
        assert looks(line) == [(READ, {"path": "a.py"})]


def test_without_a_root_relative_paths_are_known_alone() -> None:
    """They are relative to wherever the agent works."""
    found = [one.path for one in shell_looks("cat a.py /etc/passwd; cd src; cat b.py", None, None)]
    assert found == ["a.py", "src/b.py"]


def test_a_list_of_words_is_its_script_or_itself() -> None:
    """`bash -lc` holds a line; any other list is quoted."""
    assert script_of(["bash", "-lc", "cat a.py"]) == "cat a.py"
    assert script_of(["cat", "a b.py"]) == "cat 'a b.py'"
    assert script_of(["cat", "$(id)"]) == "cat '$(id)'"
    assert script_of(["/bin/zsh", "-lc", "cat a.py"]) == "cat a.py"
    assert script_of(["bash", "-l", "-c", "cat a.py"]) == "cat a.py"
    assert script_of(["bash", "-ec", "cat a.py"]) == "set -e\ncat a.py"
    assert script_of(["./bash", "-lc", "cat a.py"]) == "./bash -lc 'cat a.py'"
    assert script_of([]) is None


@given(st.text(alphabet="cat a.py;|&<>()$`'\"\\\n#*{}~ 2>&1-n", max_size=60))
def test_any_line_is_read_without_an_error(line: str) -> None:
    """And whatever is found lies below the root."""
    for one in shell_looks(line, "/r", "/r"):
        path = one.path
        assert path is None or not (path.startswith("/") or ".." in path.split("/"))
