"""Findings as text, JSON and SARIF 2.1.0."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from checked_programs import under_pure

from sluice.streams.checker import RULES, SITES, Finding, Report, Source, as_json, as_sarif, check

PLACE = {
    "type": "object",
    "required": ["physicalLocation"],
    "additionalProperties": False,
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": r"^[A-Za-z0-9._~/%-]+$"}},
                },
                "region": {
                    "type": "object",
                    "required": ["startLine", "startColumn"],
                    "additionalProperties": False,
                    "properties": {
                        name: {"type": "integer", "minimum": 1}
                        for name in ("startLine", "startColumn", "endLine", "endColumn")
                    },
                },
            },
        }
    },
}
MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "rules"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id", "shortDescription", "fullDescription", "help"],
                                            "properties": {
                                                "shortDescription": MESSAGE,
                                                "fullDescription": MESSAGE,
                                                "help": MESSAGE,
                                            },
                                        },
                                    }
                                },
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
                            "properties": {
                                "level": LEVEL,
                                "message": MESSAGE,
                                "locations": {"type": "array", "minItems": 1, "items": PLACE},
                            },
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "toolExecutionNotifications": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["message"],
                                        "properties": {"level": LEVEL, "message": MESSAGE},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""What SARIF 2.1.0 demands of the objects that are used, by its sections 3.13 to 3.30."""


@pytest.fixture
def report() -> Report:
    """Findings, notes and errors of several kinds."""
    found = under_pure("x: str = g\nprint(g)\ng.unwrap_discarding_sources()\nreturn impure(key)")
    broken = check([Source("a b/ü.py", "def f(:\n")])
    outside = Finding("n.py", 1, 1, "coercion", "a note", 1, 5, "argument", True)
    return Report(found.findings, [outside], broken.errors)


def test_sarif_has_the_shape_that_its_standard_demands(report: Report):
    """Every required member is there, and places count from one."""
    jsonschema.validate(as_sarif(report, "0.1.0", True), SARIF)


def test_sarif_results_point_at_their_rules(report: Report):
    """`ruleIndex` leads to the rule of `ruleId`, and every rule is described."""
    (run,) = as_sarif(report, "0.1.0")["runs"]
    rules: list[dict[str, Any]] = run["tool"]["driver"]["rules"]
    assert [one["id"] for one in rules] == list(RULES)
    assert run["results"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])


def test_sarif_lists_notes_only_when_asked(report: Report):
    """At level `note`, so that no board fails for them."""
    levels = [[one["level"] for one in as_sarif(report, "1", notes)["runs"][0]["results"]] for notes in (False, True)]
    assert "note" not in levels[0]
    assert levels[1] == [*levels[0], "note"]


def test_sarif_says_that_a_file_could_not_be_checked(report: Report):
    """The run was not successful, and the notification names the place; paths are escaped as URIs."""
    (invocation,) = as_sarif(report, "1")["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    (reported,) = invocation["toolExecutionNotifications"]
    assert reported["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/%C3%BC.py"


def test_json_explains_each_finding(report: Report):
    """Place, rule, message, why the rule is there, and the section that it comes from."""
    value = as_json(report.findings[0])
    assert value["rule"] == "coercion"
    assert value["site"] in SITES
    assert value["severity"] == "error"
    assert value["section"] == "C §9.3"
    assert value["explanation"] == RULES["coercion"].explanation
    assert as_json(report.notes[0])["severity"] == "note"
    assert "explanation" not in as_json(report.errors[0])


def test_text_is_one_line_and_hides_nothing():
    """What no reader sees is shown as an escape, a line end as a space."""
    assert Finding("a\u202e.py", 3, 4, "coercion", "two\nlines").text() == "a\\u202e.py:3:4: coercion two lines"
