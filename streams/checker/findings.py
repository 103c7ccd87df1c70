"""Findings of the static checker: the closed lists of rules and of coercion sites, comments that silence a finding, and
reports as JSON lines' values and as SARIF 2.1.0 (docs/check.md).
"""

from __future__ import annotations

import re
import tokenize
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote

import msgspec

from ...codecs.errors import printable

SITES: Final[dict[str, str]] = {
    # [C §9.3], in its order
    "return": "a grounded value is returned from a function that is declared with a plain type",
    "yield": "a grounded value is yielded from a function that is declared with a plain type",
    "binding": "a grounded value is bound to a name or attribute that is annotated with a plain type",
    "argument": "a grounded value is passed to what neither takes a Grounded nor gives one back",
    "field": "a grounded value initialises a field of a plain type",
    "optional": "a grounded value flows into an optional slot of a plain type",
    "element": "a grounded value becomes an element of a container with a plain element type",
    "arm": "one arm of a conditional expression is grounded, the other plain",
    "condition": "a grounded value decides a condition: its truth is taken, its sources are not",
    # Python's own
    "formatting": "a grounded value is formatted into a plain string",
    "constructor": "a grounded value is converted to a plain type",
    "iteration": "a grounded value is iterated over",
    "unpacking": "a grounded value is unpacked",
    "membership": "a grounded value is tested for membership",
    "index": "a grounded value is used as an index or key",
    "with": "a grounded value is entered as a context manager",
    "global": "a grounded value is assigned to a global or an enclosing function's name",
    "attribute": "an attribute is taken of a grounded value that is not part of its face",
    "call": "a grounded value is called",
    "raise": "a grounded value is raised",
    "await": "a grounded value is awaited",
    "pattern": "a grounded value is compared with a pattern",
}
"""Site: what happens there. The names stand in the JSON and SARIF output."""

GROUNDED_FACE: Final = frozenset(
    {"sources", "chain", "retrievals", "grounded", "confidence", "data", "map", "sever", "format", "join"}
    | {"unwrap_discarding_sources", "__class__", "__doc__"}
)
"""What may be taken of a `Grounded` without losing its wrapper (grounded.md); the unwrap has a rule of its own."""

UNWRAP: Final = "unwrap_discarding_sources"


Rule = Literal[
    "ungrounded-return",
    "unreachable-confidence",
    "missing-data-category",
    "coercion",
    "explicit-unwrap",
    "impure-call",
]


class RuleText(msgspec.Struct, frozen=True, gc=False):
    """A rule for people: one line, why it is there, and the section that it comes from."""

    short: str
    explanation: str
    section: str


RULES: Final[dict[Rule, RuleText]] = {
    "ungrounded-return": RuleText(
        "a value without a retrieval is returned as Grounded",
        "A function that declares `-> Grounded[…]` promises that what it returns traces back to at least one "
        "retrieval. Literals and computations have no source, a prompt only passes on those of its arguments, and "
        "a severed chain cannot claim any. The run time raises UngroundedReturn here.",
        "C §2",
    ),
    "unreachable-confidence": RuleText(
        "the agent's min_confidence cannot be reached",
        "A chain is as sure as its weakest step. What is returned passes through a tool or prompt that declares "
        "less confidence than the agent demands.",
        "C §7",
    ),
    "missing-data-category": RuleText(
        "a demanded data category is not composed",
        "`@agent(data=…)` demands categories, and none of the tools, prompts and agents that its body calls "
        "brings this one.",
        "C §6",
    ),
    "coercion": RuleText(
        "a grounded value flows into a plain slot",
        "A `@grounded_pure` function launders nothing: no grounded value loses its wrapper in its body.",
        "C §9.3",
    ),
    "explicit-unwrap": RuleText(
        "a grounded value is unwrapped by hand",
        "A `@grounded_pure` function discards no sources; `.unwrap_discarding_sources()` does.",
        "C §9.4",
    ),
    "impure-call": RuleText(
        "an agent that is not @grounded_pure is called",
        "A `@grounded_pure` function calls only agents that are `@grounded_pure` themselves, however they are named.",
        "C §9.4",
    ),
}


class Finding(msgspec.Struct, frozen=True, gc=False, order=True):
    """One thing that does not hold, and where.

    Attributes:
        path: the file, as it was named.
        line, column: from 1; columns count characters, not bytes.
        end_line, end_column: one past the end of the place.
        rule: the rule, or `error` for a file that cannot be checked.
        message: one sentence.
        site: for coercions, the row of the table of sites.
        note: listed by `--verbose` only, and no reason to fail.
    """

    path: str
    line: int
    column: int
    rule: str
    message: str
    end_line: int = 0
    end_column: int = 0
    site: str = ""
    note: bool = False

    def text(self) -> str:
        """The line that `sluice check` prints."""
        mark = "note: " if self.note else ""
        return printable(f"{self.path}:{self.line}:{self.column}: {self.rule} {mark}{self.message}".replace("\n", " "))


_IGNORE = re.compile(r"#\s*sluice:\s*ignore\[([^\]]*)\]")


def ignores(text: str) -> dict[int, frozenset[str]]:
    """The rules that a source's comments silence, by line. What stands in a string is no comment."""
    found: dict[int, frozenset[str]] = {}
    if "ignore[" not in text or "sluice" not in text:
        return found
    lines = iter(text.splitlines(keepends=True))
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT and (match := _IGNORE.search(token.string)):
                found[token.start[0]] = frozenset(one.strip() for one in match[1].split(","))
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser has reported it
    return found


def is_ignored(finding: Finding, silenced: dict[int, frozenset[str]]) -> bool:
    """Whether a comment on a line of the finding's place names its rule."""
    if not silenced:
        return False
    last = max(finding.line, finding.end_line)
    return any(finding.rule in rules for line, rules in silenced.items() if finding.line <= line <= last)


def in_characters(finding: Finding, texts: dict[str, str]) -> Finding:
    """The finding with its columns counted in characters: the parser counts bytes of UTF-8."""
    if finding.path not in texts:
        return finding
    lines = texts[finding.path].split("\n")

    def characters(line: int, column: int) -> int:
        raw = lines[line - 1].encode()[: column - 1] if 0 < line <= len(lines) else b""
        return len(raw.decode(errors="ignore")) + 1 if raw else column

    return msgspec.structs.replace(
        finding,
        column=characters(finding.line, finding.column),
        end_column=characters(finding.end_line, finding.end_column),
    )


class Report(NamedTuple):
    """What was found, in the order of files as given, then of lines.

    Attributes:
        findings: what does not hold.
        notes: the sites outside `@grounded_pure`, which fail nothing.
        errors: files, or functions in them, that cannot be checked (rule `error`).
    """

    findings: list[Finding]
    notes: list[Finding]
    errors: list[Finding]


# ---------------------------------------------------------------- JSON and SARIF

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
HELP: Final = "docs/check.md"
_BY_NAME: Final[dict[str, RuleText]] = {str(name): rule for name, rule in RULES.items()}


def as_json(finding: Finding) -> dict[str, Any]:
    """One finding as `--format json` prints it, a line each."""
    value: dict[str, Any] = {
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line or finding.line,
        "end_column": finding.end_column or finding.column,
        "rule": finding.rule,
        "severity": _severity(finding),
        "message": finding.message,
    }
    if finding.site:
        value["site"] = finding.site
    rule = _BY_NAME.get(finding.rule)
    if rule is not None:
        value["explanation"], value["section"] = rule.explanation, rule.section
    return value


def _severity(finding: Finding) -> str:
    return "note" if finding.note else "error"


def as_sarif(report: Report, version: str, notes: bool = False) -> dict[str, Any]:
    """The whole report as a SARIF 2.1.0 log with one run.

    Args:
        report: what was found.
        version: of the tool.
        notes: list the sites outside `@grounded_pure` as well, at level `note`.
    """
    rules = [
        {
            "id": name,
            "shortDescription": {"text": rule.short},
            "fullDescription": {"text": rule.explanation},
            "help": {"text": f"{rule.explanation} Section {rule.section}; {HELP} has examples."},
            "defaultConfiguration": {"level": "error"},
        }
        for name, rule in _BY_NAME.items()
    ]
    found = [*report.findings, *(report.notes if notes else ())]
    notifications = [
        {"level": "error", "message": {"text": one.message}, "locations": [_location(one)]} for one in report.errors
    ]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "sluice check", "semanticVersion": version, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(one) for one in found],
                "invocations": [
                    {"executionSuccessful": not report.errors, "toolExecutionNotifications": notifications}
                ],
            }
        ],
    }


def _result(finding: Finding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": list(_BY_NAME).index(finding.rule),
        "level": _severity(finding),
        "message": {"text": finding.message},
        "locations": [_location(finding)],
    }
    if finding.site:
        result["properties"] = {"site": finding.site}
    return result


def _location(finding: Finding) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": finding.line, "startColumn": finding.column}
    if finding.end_line >= finding.line:
        region["endLine"] = finding.end_line
        if finding.end_column > (finding.column if finding.end_line == finding.line else 0):
            region["endColumn"] = finding.end_column
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(finding.path)}, "region": region}}


def _uri(path: str) -> str:
    """A path as a relative or absolute reference: all that is not plain is escaped."""
    return quote(path.replace("\\", "/").encode("utf-8", "surrogateescape"))
