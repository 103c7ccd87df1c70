"""Session transcripts of Claude Code: `~/.claude/projects/<directory>/<session>.jsonl`.

Where they lie is documented (code.claude.com/docs, «Manage sessions»); the records are not: that page calls their
format internal and subject to change. This module was written to the shape that versions 1.0 to 2.1 write, as public
descriptions of it tell. Each line is an object with `type`, `uuid`, `timestamp`, `cwd`, `isSidechain` and, for `user`
and `assistant`, a `message` in the shape of the Messages API, which is documented.

The same records in a JSON array, or a line each, are what `claude -p --output-format stream-json` prints and what
claude-code-action keeps as its execution file. They name the directory once, in the record `system`/`init`.

What was taken into account:

- One message of the model comes as several lines with the same `message.id`: a line for each block, or the same blocks
  again with more text. A text is told once; one that grew is told whole where it was not told yet, else its rest.
- `tool_result` blocks come in `user` records. Other `user` records are prompts, unless Claude Code made them:
  `isMeta`, `isCompactSummary`, notices of an interruption, and output of local commands.
- A slash command begins a turn only if the model answers.
- Records of subagents (`isSidechain`) are passed over. What they answered is the result of the call that began them.
- Branches that were left by going back to an earlier prompt are read like the others, in the order of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any, Final

from ..events import Event, Gap, Problem
from .foreign_json import arguments, directory, items, members, moment, result_text, text
from .transcript_lines import TurnBuilder, elements, numbered, read_records, unknown

_COMPARED: Final = 100
"""Texts of a message with which another one is compared; a message has a handful."""
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
_ARRAY: Final = re.compile(rb"[\xef\xbb\xbf \t\r\n]*\[\s*(?:\{|\Z)")
_PASSED_OVER: Final = frozenset(("thinking", "redacted_thinking", "image", "document", "fallback", "compaction"))
"""Blocks of the model that are no words to its user and no calls."""
_COMMAND: Final = re.compile(r"\s*<command-(?:name|message|args)>")
_EXIT: Final = re.compile(r"(?:Error: )?(?:Command failed with e|E)xit code:? (\d{1,3})\b")
_NO_PROMPT: Final = re.compile(
    r"\s*(?:\[Request interrupted by user"
    r"|<(?:local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)|task-notification|system-reminder)>)"
)


def read(lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of a session; `lines` are those of the file, or those that `follow` gives."""
    ahead = iter(lines)
    for line in ahead:
        if line.strip(_BLANK):
            is_array = _ARRAY.match(line) is not None
            given = chain([line], ahead)
            documents = elements(given, frozenset(), objects=False) if is_array else numbered(given)
            return read_records(documents, ClaudeCode())
    return read_records((), ClaudeCode())


class ClaudeCode:
    """Reads the records of one session."""

    def __init__(self) -> None:
        self._turns = TurnBuilder()
        self._message = ""  # the message that the last texts are of
        self._held: list[tuple[str, int]] = []  # its texts that may still grow, and how much of each was told before
        self._held_at: datetime | None = None
        self._texts: dict[str, list[str]] = {}  # the texts of the turn, by message
        self._sidechain = 0
        self._cwd: str | None = None  # of the session, where its records do not name one each

    def take(self, line: int, record: dict[str, Any]) -> Iterator[Event]:
        kind = record.get("type")
        if record.get("isSidechain") is True:
            self._sidechain += 1
        elif kind == "assistant":
            yield from self._assistant(line, record)
        elif kind == "user":
            yield from self._flush()
            yield from self._user(line, record)
        elif kind == "system":  # the session's start, or after an answer how long it took and which hooks ran
            if record.get("subtype") == "init":
                self._cwd = directory(record.get("cwd"))
            yield from self._flush()
        elif isinstance(record.get("message"), dict):  # no notice of Claude Code's own: those hold no message
            yield unknown(line, "record", kind)

    def end(self) -> Iterator[Event]:
        yield from self._flush()
        empty = not self._turns.running and not self._turns.turn_id
        yield from self._turns.end()
        if empty and self._sidechain:
            yield Problem(line=1, sentence="All messages here are of a subagent; read the session that called it.")

    def _assistant(self, line: int, record: dict[str, Any]) -> Iterator[Event]:
        message = members(record.get("message"))
        if record.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
            return  # what Claude Code says of an error, no words of the model
        at, uuid = moment(record.get("timestamp")), text(record.get("uuid"))
        identifier = text(message.get("id")) or uuid or f"line-{line}"
        if identifier != self._message:
            yield from self._flush()
            self._message = identifier
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
        for index, block in enumerate(members(each) for each in blocks):
            kind = text(block.get("type")) or ""
            if kind == "text":
                if (said := text(block.get("text"))) is not None:
                    yield from self._turns.ensure(uuid or f"line-{line}", at)
                    self._hold(said, at)
            elif kind.endswith("tool_use"):  # also `server_tool_use` and `mcp_tool_use`
                yield from self._turns.ensure(uuid or f"line-{line}", at)
                yield from self._turns.call(
                    text(block.get("id")) or f"line-{line}-{index}",
                    text(block.get("name")) or "",
                    arguments(block.get("input")),
                    at=at,
                    cwd=directory(record.get("cwd")) or self._cwd,
                )
            elif kind.endswith("tool_result"):
                yield from self._flush()
                yield from self._result(line, record, block)
            elif kind not in _PASSED_OVER:
                yield unknown(line, "block", block.get("type"))
        if isinstance(message.get("stop_reason"), str):
            yield from self._flush()  # whoever follows the file hears the answer now

    def _user(self, line: int, record: dict[str, Any]) -> Iterator[Event]:
        content = members(record.get("message")).get("content")
        blocks = [members(each) for each in items(content)]
        results = [block for block in blocks if (text(block.get("type")) or "").endswith("tool_result")]
        for block in results:
            yield from self._result(line, record, block)
        if record.get("isCompactSummary") is True:
            yield Gap()
        if results or record.get("isMeta") is True or record.get("isCompactSummary") is True:
            return
        prompt = content if isinstance(content, str) else "\n".join(text(block.get("text")) or "" for block in blocks)
        if _NO_PROMPT.match(prompt) or not (prompt.strip() or any(block.get("type") == "image" for block in blocks)):
            return
        turn_id, at = text(record.get("uuid")) or f"line-{line}", moment(record.get("timestamp"))
        if self._turns.running and turn_id == self._turns.turn_id:
            return  # the same record again
        self._texts.clear()
        yield from self._turns.expect(turn_id, at) if _COMMAND.match(prompt) else self._turns.begin(turn_id, at)

    def _result(self, line: int, record: dict[str, Any], block: dict[str, Any]) -> Iterator[Event]:
        call_id = text(block.get("tool_use_id"))
        if call_id is None:
            yield Problem(line=line, sentence="A tool result here names no call; it is passed over.")
            return
        failed = block.get("is_error") is True or members(record.get("toolUseResult")).get("interrupted") is True
        result = result_text(block.get("content"))
        told = _EXIT.match(result or "") if failed else None
        code = int(told[1]) if told is not None else None if failed else 0
        at = moment(record.get("timestamp"))
        yield from self._turns.result(call_id, result, not failed, at=at, line=line, exit=code)

    def _hold(self, said: str, at: datetime | None) -> None:
        texts = self._texts.setdefault(self._message, [])
        if any(each.startswith(said) for each in (*texts[-_COMPARED:], *(each for each, _ in self._held[-_COMPARED:]))):
            return
        self._held_at = at
        if self._held and said.startswith(self._held[-1][0]):
            self._held[-1] = said, self._held[-1][1]
        elif (
            shorter := next((each for each in reversed(texts[-_COMPARED:]) if said.startswith(each)), None)
        ) is not None:
            texts.remove(shorter)
            self._held.append((said, len(shorter)))
        else:
            self._held.append((said, 0))

    def _flush(self) -> Iterator[Event]:
        held, self._held = self._held, []
        for said, start in held:
            self._texts.setdefault(self._message, []).append(said)
            yield from self._turns.said(said[start:], self._held_at)
