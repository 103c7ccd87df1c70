"""Reports as text, as JSON lines' values, and as SARIF 2.1.0 for the boards that read it. Pure."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from .analysis import Report
from .findings import RULES, Finding, RuleText

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
