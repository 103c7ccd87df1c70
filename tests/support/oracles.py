"""What real parsers see in a text, but for what is named to stay (`spared`): independent judges of the sanitiser."""

import html5lib
import nh3
from html5lib._tokenizer import HTMLTokenizer
from html5lib.constants import tokenTypes
from markdown_it import MarkdownIt

_KINDS = {
    tokenTypes["StartTag"]: "tag",
    tokenTypes["EndTag"]: "tag",
    tokenTypes["EmptyTag"]: "tag",
    tokenTypes["Comment"]: "comment",
    tokenTypes["Doctype"]: "doctype",
}
_TEXT = (tokenTypes["Characters"], tokenTypes["SpaceCharacters"])
_markdown = MarkdownIt("commonmark")


def spared(text: str) -> str:
    """A text without what is named to stay; imported late, since the fuzzer instruments what it imports first."""
    from sluice.streams.sanitise._markup import spared as without_spared

    return without_spared(text)


def html_tokens(text: str) -> tuple[list[str], str]:
    """What html5lib's tokenizer finds in the data state: the kinds of its pieces, and the text between them."""
    kinds, between = [], []
    for token in HTMLTokenizer(text):
        if token["type"] in _KINDS:
            kinds.append(_KINDS[token["type"]])
        elif token["type"] in _TEXT:
            between.append(token["data"])
    return kinds, "".join(between)


def has_html(text: str) -> bool:
    """Whether html5lib's tree, its tokenizer, or html5ever's tokenizer sees more than text."""
    text = spared(text).replace("\0", "\ufffd")  # html5ever counts a NUL as a token of its own
    tree = html5lib.parseFragment(text, treebuilder="etree")
    return len(tree) > 0 or bool(html_tokens(text)[0]) or nh3.is_html(text)


def has_link(text: str) -> bool:
    """Whether a CommonMark parser sees an inline link or image."""
    todo = _markdown.parseInline(spared(text))
    while todo:
        token = todo.pop()
        if token.type in ("link_open", "image") and token.info != "auto":
            return True
        todo += token.children or []
    return False


def has_block(text: str) -> bool:
    """Whether a CommonMark parser sees a fenced code block or a reference definition."""
    found: dict = {}
    return any(token.type == "fence" for token in _markdown.parse(text, found)) or bool(found.get("references"))
