"""The answers in a model's response, to be read and to be rewritten in place, whatever provider's shape it has.

A response is a chat completion, a text completion, one of the Responses API, or one of the Messages API: dictionaries,
or objects with such attributes. What is withheld must not be read in another member: reasoning, token probabilities
and citations go with the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

_BESIDE: Final = (
    "reasoning_content", "reasoning", "reasoning_items", "thinking_blocks", "annotations", "audio", "refusal", "images",
    "provider_specific_fields",
)  # fmt: skip
"""Members of a chat message that may repeat its text."""
_THOUGHTS: Final = ("reasoning", "thinking", "redacted_thinking")
_TEXTS: Final = ("text", "output_text")
_KNOWN: Final = ("choices", "output", "content", "data", "results")
"""Members of responses; the last two are of embeddings, images and rankings, which say nothing."""


class Reply(NamedTuple):
    """One answer.

    Attributes:
        text: its text.
        write: puts another text into its place; with `alone`, takes everything away that may repeat it.
    """

    text: str
    write: Callable[[str, bool], None]


def replies_of(response: object) -> list[Reply]:
    """The answers of a response that have a text."""
    choices = _list(_get(response, "choices"))
    if choices:
        found = [_of_choice(choice) for choice in choices]
    elif _get(response, "output") is not None:
        found = [_of_items(response)]
    else:
        found = [_of_blocks(response)]
    return [one for one in found if one is not None and one.text.strip()]


def is_unread(response: object) -> bool:
    """Whether a response has a form that is not read here: none of its members is known, or a block that is neither an
    answer nor a thought holds a text."""
    known = [name for name in _KNOWN if _get(response, name) is not None]
    holders = [_get(choice, "message") for choice in _list(_get(response, "choices"))]
    holders += [one for one in _list(_get(response, "output")) if _get(one, "type") == "message"]
    blocks = [block for one in (response, *holders) for block in _list(_get(one, "content"))]
    return not known or any(
        _text(block).strip() and _get(block, "type") not in (*_TEXTS, *_THOUGHTS) for block in blocks
    )


def _of_choice(choice: object) -> Reply | None:
    message = _get(choice, "message")
    holder, name = (choice, "text") if isinstance(_get(choice, "text"), str) else (message, "content")
    content = _get(holder, name)
    if isinstance(content, str):
        text = content
    else:
        blocks = [one for one in _list(content) if _get(one, "type") in _TEXTS]
        text = "".join(_text(one) for one in blocks)
        if not blocks:
            return None

    def write(new: str, alone: bool) -> None:
        _set(holder, name, new)
        if alone:
            for other in _BESIDE:
                _clear(message, other)
            _clear(choice, "logprobs")
            _clear(choice, "provider_specific_fields")

    return Reply(text, write)


def _of_items(response: object) -> Reply | None:
    """Of the Responses API: messages with blocks of text, beside calls and reasoning."""
    several = _list(_get(response, "output"))
    messages = [one for one in several if _get(one, "type") == "message"]
    blocks = [block for one in messages for block in _list(_get(one, "content")) if _get(block, "type") in _TEXTS]
    if not blocks:
        return None

    def write(new: str, alone: bool) -> None:
        _put(blocks, new, alone)
        if alone:
            first = next(one for one in messages if blocks[0] in _list(_get(one, "content")))
            _set(first, "content", [blocks[0]])
            kept = [one for one in several if one is first or _get(one, "type") not in ("message", *_THOUGHTS)]
            _set(response, "output", kept)

    return Reply("".join(map(_text, blocks)), write)


def _of_blocks(response: object) -> Reply | None:
    """Of the Messages API: blocks of text, beside calls and thoughts."""
    several = _list(_get(response, "content"))
    blocks = [one for one in several if _get(one, "type") in _TEXTS]
    if not blocks:
        return None

    def write(new: str, alone: bool) -> None:
        _put(blocks, new, alone)
        if alone:
            gone = (*_TEXTS, *_THOUGHTS)
            kept = [one for one in several if one is blocks[0] or _get(one, "type") not in gone]
            _set(response, "content", kept)

    return Reply("".join(map(_text, blocks)), write)


def _put(blocks: Sequence[object], new: str, alone: bool) -> None:
    """The new text into the first block where it stands alone; else what it adds into the last one."""
    if alone:
        _set(blocks[0], "text", new)
        for name in ("annotations", "logprobs", "citations"):
            if _get(blocks[0], name):
                _set(blocks[0], name, [])
        return
    before = "".join(map(_text, blocks))
    if new.startswith(before):
        _set(blocks[-1], "text", _text(blocks[-1]) + new[len(before) :])
        return
    _set(blocks[0], "text", new)
    for one in blocks[1:]:
        _set(one, "text", "")


def _text(block: object) -> str:
    found = _get(block, "text")
    return found if isinstance(found, str) else ""


def _get(holder: object, name: str) -> Any:
    if isinstance(holder, dict):
        return cast("dict[str, Any]", holder).get(name)
    return getattr(holder, name, None)


def _set(holder: object, name: str, value: object) -> None:
    if isinstance(holder, dict):
        cast("dict[str, Any]", holder)[name] = value
    else:
        setattr(holder, name, value)


def _clear(holder: object, name: str) -> None:
    if holder is not None and _get(holder, name) is not None:
        _set(holder, name, None)


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
