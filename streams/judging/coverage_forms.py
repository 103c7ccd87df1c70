"""The forms in which a sentence says what a check says, as data (docs/checks.md).

A closed list, in the language of `coverage_patterns.py`: a form may be added only where its sentence cannot be false
while the check is true. Left out on purpose: «includes» for `contains` (an include directive says more), «reads» and
«is» for `line` (they mean the whole line), «adds» and «deletes» for a lone name (the thing is meant, not its text),
«was last modified» for git's records (it may mean the file's time), and every adverb.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Forms(NamedTuple):
    """The patterns that say a check, and those that say its opposite: they cover the check behind a `not`."""

    positive: tuple[str, ...]
    negative: tuple[str, ...] = ()


_HAS: Final = "has|contains"
_MENTION: Final = "mention|mentions|occurrence|occurrences|reference|references|call|calls|trace of|to"

FORMS: Final[Mapping[str, Forms]] = {
    "contains": Forms(
        (
            "<place> contains|mentions|says {quote}",
            "<place> has|includes the_text|the_string|the_word|the_words|the_phrase {quote}",
            "<place> has|includes <snippet>",
            "<place> has|contains|includes a_mention_of|an_occurrence_of {quote}",
            "{quote} appears|occurs|stands|is_mentioned|is_contained",
            "there is a_mention_of|an_occurrence_of {quote}",
        )
    ),
    "absent": Forms(
        (
            "<place> ~does contain|mention|have|define|declare|reference|use|call|import {identifier}",
            f"<place> {_HAS}|mentions|defines|declares|references no {{identifier}}",
            f"<place> {_HAS}|makes no {_MENTION} {{identifier}}",
            f"there is|are no {_MENTION} {{identifier}}",
            "there is|are no {identifier}",
            "{identifier} ~does appear|occur|stand|exist anywhere?",
            "{identifier} ~is mentioned|contained|defined|declared|used|referenced|present anywhere?",
            "{identifier} ~is in|inside|within <place>",
            "{identifier} stands|occurs|appears nowhere",
            "{identifier} is absent|missing from <place>",
        ),
        (
            "<place> contains|mentions {identifier}",
            "{identifier} appears|occurs|stands",
        ),
    ),
    "exists": Forms(
        (
            "{path} exists|is_present|is_there",
            "{path} is in|part_of <repository>",
            "{path} is among the_tracked_files",
            "there is a|an? {path}",
            "<repository> has|contains|includes a|an? {path}",
        )
    ),
    "missing": Forms(
        (
            "{path} ~does exist",
            "{path} ~is present|there",
            "{path} ~is in|part_of <repository>",
            "{path} ~is among the_tracked_files",
            "{path} is missing|absent",
            "{path} is missing|absent from <repository>",
            "there is no {path}",
            "<repository> has|contains|includes no {path}",
            "<repository> ~does have|contain|include a|an? {path}",
        )
    ),
    "defines": Forms(
        (
            "<place> defines|declares <definition>",
            f"<place> {_HAS} <kinded>",
            "<definition> is_defined|is_declared",
            "{symbol} is_defined|is_declared as <kind>",
            "{symbol} is_defined|is_declared by <place>",
            "there is <kinded>",
            "<definition> lives|is_located",
            "<kinded> is in|inside|within <place>",
            "{symbol} is <kind>",
            "{symbol} is <kind> of|on <place>",
            "{symbol} is <kind> defined|declared",
        ),
        (
            "<place> ~does define|declare <definition>",
            "<place> ~does have|contain <kinded>",
            f"<place> {_HAS}|defines|declares no <kinded>",
            "<definition> ~is defined|declared",
            "<definition> ~is defined|declared by <place>",
            "there is no <kinded>",
        ),
    ),
    # `equals` and `compare`: the operator says whether the sentence denies
    "value": Forms(
        (
            "{name} <compares> {value} by_default?",
            "{name} ( {name} ) <compares> {value} by_default?",
            "{name} <compares> {value} ( {name} )",
            "by_default {name} <compares> {value}",
        )
    ),
    "value =": Forms(
        (
            "{value} is the? value|default|default_value of|for {name}",
            "<path> sets {name} to|= {value}",
            "<path> defines|declares {name} as {value}",
            "<path> has {name} set_to {value}",
            "<path> sets|has|defines <assignment>",
            "<assignment>",
            "<assignment> is_set",
        )
    ),
    "calls": Forms(
        (
            "{caller} calls|invokes {callee}",
            "{callee} is_called|is_invoked by|from|in|inside|within {caller}",
            f"{{caller}} {_HAS}|makes a_call_to|a_call_of {{callee}}",
            f"the_body_of {{caller}} {_HAS} a_call_to|a_call_of {{callee}}",
            "there is a_call_to|a_call_of {callee} in|inside {caller}",
        ),
        (
            "{caller} ~does call|invoke {callee}",
            "{callee} ~is called|invoked by|from|in|inside|within {caller}",
            f"{{caller}} {_HAS}|makes no_call|no_calls to|of {{callee}}",
            "there is|are no_call|no_calls to|of {callee} in|inside {caller}",
        ),
    ),
    "uses": Forms(
        (
            "{user} uses|references|refers_to {used}",
            "{used} is_used|is_referenced by|in|inside|within {user}",
        ),
        (
            "{user} ~does use|reference|refer_to {used}",
            "{used} ~is used|referenced by|in|inside|within {user}",
        ),
    ),
    "imports": Forms(
        (
            "<path> imports|imports_from {module}",
            "{module} is_imported by|in|into <path>",
        ),
        (
            "<path> ~does import|import_from {module}",
            "{module} ~is imported by|in|into <path>",
        ),
    ),
    # In a file of C or C++ only: elsewhere «includes» says something else.
    "imports by including": Forms(
        ("<path> includes {module}", "{module} is_included by|in|into <path>"),
        ("<path> ~does include {module}", "{module} ~is included by|in|into <path>"),
    ),
    "returns": Forms(("{symbol} returns {quote}",)),
    "count": Forms(
        (
            f"<place> {_HAS} <number> occurrences|occurrence|mentions|mention of {{pattern}}",
            "<place> contains|mentions {pattern} <times>",
            "{pattern} appears|occurs|is_mentioned <times>",
            "there are|is <number> occurrences|occurrence|mentions|mention of {pattern}",
            "the? number of occurrences of {pattern} <places> <compares> {number}",
        )
    ),
    # do.sse-count only
    "subscribers": Forms(
        (
            "channel|the_channel has|reports <number> subscribers|subscriber",
            "there are|is <number> subscribers|subscriber",
            "the? number of {pattern} <compares> {number}",
        )
    ),
    "line": Forms(
        (
            "line {number} of|in {path} contains|mentions|says|has {quote}",
            "{path} line {number} contains|mentions|says|has {quote}",
            "<line> contains|mentions|says|has {quote}",
            "line {number} contains|mentions|says|has {quote}",
            "{path} contains|mentions|says|has {quote} on|at|in line {number}",
            "on|at line {number} ,? {path} contains|mentions|says|has {quote}",
            "on|at line {number} of|in {path} is|stands|appears {quote}",
            "{quote} is|stands|appears|occurs on|at|in line {number} of|in {path}",
            "{quote} is|stands|appears|occurs at <line>",
        ),
        (
            "line {number} of|in {path} ~does contain|mention|say|have {quote}",
            "<line> ~does contain|mention|say|have {quote}",
            "{quote} ~is on|at|in line {number} of|in {path}",
        ),
    ),
    "order": Forms(
        (
            "{a} comes|stands|appears|occurs before {b}",
            "the? only {a} <places> comes|stands|appears|occurs before the? only {b}",
            "{a} precedes {b}",
            "{b} comes|stands|appears|occurs after {a}",
            "{b} follows {a}",
        )
    ),
    "commit": Forms(
        (
            "{hash} is_dated|was_made_on|was_authored_on|was_created_on|is_from {date}",
            "{hash} ( {subject} ) is_dated|was_made_on|was_authored_on|was_created_on|is_from {date}",
            "{hash} ( {subject} ) was_made|was_authored|was_written|is by {author}",
            "{hash} has? the? date {date}",
            "{hash} has? the? author {author}",
            "the? date of {hash} is {date}",
            "{hash} was_made|was_authored|was_written|is by {author}",
            "{author} made|authored|wrote {hash}",
            "the? author of {hash} is {author}",
            "{hash} was_made|was_authored by {author} on {date}",
            "{hash} was_made|was_authored on {date} by {author}",
            "{hash} has? the? subject|subject_line {subject}",
            "the? subject|subject_line of {hash} is {subject}",
            "{hash} is_titled {subject}",
            "{hash} exists|is_there",
        ),
        (
            "{hash} ~does exist",
            "{hash} ~is there",
            "{hash} ~does have the? date {date}",
            "{hash} ~does have the? author {author}",
            "{hash} ~is dated {date}",
            "{hash} ~was made|authored|created on {date}",
            "{hash} ~was made|authored|written by {author}",
        ),
    ),
    "changed": Forms(
        (
            "{commit} changes|changed|touches|touched|modifies|modified {path}",
            "{path} was|is changed|touched|modified by|in {commit}",
        ),
        (
            "{commit} ~did change|touch|modify {path}",
            "{path} ~was changed|touched|modified by|in {commit}",
        ),
    ),
    "introduced": Forms(
        (
            "{commit} introduces|introduced {quote}",
            "{commit} introduces|introduced {quote} in|into|to <path>",
            "{commit} adds|added <snippet>",
            "{commit} adds|added <snippet> to <path>",
            "{quote} was|is introduced by|in|with {commit}",
        ),
        (
            "{commit} ~did introduce {quote}",
            "{commit} ~did introduce {quote} in|into|to <path>",
            "{quote} ~was introduced by|in|with {commit}",
        ),
    ),
    "removed": Forms(
        (
            "{commit} removes|removed {quote}",
            "{commit} removes|removed {quote} from|in <path>",
            "{commit} deletes|deleted|drops|dropped <snippet>",
            "{commit} deletes|deleted|drops|dropped <snippet> from <path>",
            "{quote} was|is removed by|in|with {commit}",
        ),
        (
            "{commit} ~did remove {quote}",
            "{commit} ~did remove {quote} from|in <path>",
            "{quote} ~was removed by|in|with {commit}",
        ),
    ),
    "last_changed": Forms(
        (
            "{path} was_last_changed|was_last_touched <when> {time}",
            "the? last change|commit to|of {path} was_made|is <when> {time}",
        )
    ),
    "last_changed =": Forms(
        (
            "the? last change|commit to|of {path} is_dated {time}",
            "the? last commit that touched|changed {path} is_dated {time}",
        )
    ),
    "modified": Forms(
        (
            "{path} was_modified|was_last_modified|was_written|was_last_written <when> {time}",
            "the? modification_time|mtime of {path} is <when> {time}",
        )
    ),
    "modified =": Forms(
        (
            "the? modification_time|mtime of {path} is {time}",
            "{path} has the? modification_time|mtime {time}",
        )
    ),
    "peer": Forms(
        (
            "<peer> runs|is_running as uid|user_id|the_uid {uid}",
            "<peer> runs|is_running as gid|group_id|the_gid {gid}",
            "<peer> runs|is_running as user|the_user {user}",
            "<peer> runs|is_running as {user}",
            "<peer> has? the? uid|user_id {uid}",
            "<peer> has? the? gid|group_id {gid}",
            "<peer> has? the? pid|process_id {pid}",
            "<peer> has? the? user {user}",
            "<peer> 's uid|user_id is {uid}",
            "<peer> 's gid|group_id is {gid}",
            "<peer> 's pid|process_id is {pid}",
            "<peer> 's user is {user}",
            "the? uid|user_id of <peer> is {uid}",
            "the? gid|group_id of <peer> is {gid}",
            "the? pid|process_id of <peer> is {pid}",
            "the? user of <peer> is {user}",
        ),
        (
            "<peer> ~does have the? uid|user_id {uid}",
            "<peer> ~does have the? gid|group_id {gid}",
            "<peer> ~does have the? pid|process_id {pid}",
            "<peer> ~does have the? user {user}",
            "<peer> ~does run as uid|user_id {uid}",
            "<peer> ~does run as gid|group_id {gid}",
            "<peer> ~does run as user|the_user {user}",
            "<peer> ~does run as {user}",
        ),
    ),
}

PLACE_FORMS: Final = (
    "in|inside|within <path>",
    "in|inside|within <in>",
    "in|inside|within <repository>",
    "on|at|in line <line>",
    "on|at|in line|lines <line> of|in <path>",
    "on|in lines <line>",
    "( <path> )",
    "( see <path> )",
    "( in <path> )",
    "( <path> , line|lines <line> )",
    "( <path> line|lines <line> )",
    "( line|lines <line> )",
    "( on|at line <line> )",
    "at <path>",
    "at|as_of <commit>",
    "( at <commit> )",
)
"""Where it is so, at the beginning or the end of a sentence and behind the argument that the check looks up."""
OWNER_FORMS: Final = ("of|from <path>", "of|on|under|from <in>")
"""Right behind the argument that the check looks up, and nowhere else: `g` from `a.py` is a place of `g`."""
LOOKED_UP: Final[Mapping[str, str]] = {
    "calls": "caller",
    "uses": "user",
    "returns": "symbol",
    "defines": "symbol",
    "equals": "name",
    "compare": "name",
}
"""By check: the argument whose place its scope is."""
