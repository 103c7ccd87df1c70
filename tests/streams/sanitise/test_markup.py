"""The markup finders, judged by html5lib, html5ever and markdown-it."""

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import has_html, has_link, html_tokens
from search import examples

from sluice.streams.sanitise import Trace, _markup, clean
from sluice.streams.sanitise._markup import find_html, find_links, may_be_html, may_be_link

HTML = st.lists(
    st.sampled_from(
        ["<", ">", "/", "!", "-", "--", "?", "=", '"', "'", " ", "\n", "\t", "\f", "a", "B", "x1", "<a", "</b", "<!--"]
        + ["-->", "--!>", "<!doctype ", "<![CDATA[", "]]>", "<script>", "é", ";", "<p ", "/>", "<!", "</", "\r"]
    ),
    max_size=14,
).map("".join)
MARKDOWN = st.lists(
    st.sampled_from(
        ["[", "]", "(", ")", "](", "!", "\\", "`", "<", ">", '"', "'", " ", "\n", "a", "b", "https://x.org", "é", "*"]
        + ['"t"', "(t)", "[a](b)"]
    ),
    max_size=14,
).map("".join)


def without(text, pieces):
    """What is left, with the line ends that an HTML parser makes of those in each stretch."""
    kept, end = [], 0
    for piece in pieces:
        kept.append(text[end : piece.start])
        end = piece.end
    return "".join(part.replace("\r\n", "\n").replace("\r", "\n") for part in [*kept, text[end:]])


@settings(max_examples=examples(600))
@given(HTML)
@example("<!-->a<!--->b<!---->c<!--!>d--!>e")
@example("<a b=c/d e='>' f=\">\" =g h = i>x</a/>")
@example("<a/b/=c//>x")
def test_the_pieces_are_those_of_the_html_standard(text):
    """html5lib's tokenizer finds the same pieces, up to the first tag that never closes, where it gives up."""
    # It drops `</>` without a token, and takes `</` at the end for text.
    pieces = find_html(text)
    kinds = [piece.kind for piece in pieces if text[piece.start : piece.end] not in ("</>", "</")]
    theirs, between = html_tokens(text)
    assert kinds[: len(theirs)] == theirs
    rest = without(text, pieces)
    if "<" not in rest and not text.endswith("</"):
        assert kinds == theirs
        assert rest == between


@settings(max_examples=examples(300))
@given(HTML)
def test_a_text_without_pieces_is_text_for_every_parser(text):
    """Neither html5lib nor html5ever sees an element, a comment or a doctype in it."""
    if not find_html(text):
        assert not has_html(text)


def slowly(pattern, find, text):
    """What a finder finds without the short way for what is plain."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_markup, pattern, {"_OPENER": SLOW_OPENER, "_PLAIN_DESTINATION": NEVER}[pattern])
        return find(text)


SLOW_OPENER, NEVER = re.compile(r"<[A-Za-z/!?]"), re.compile(r"(?!)")


@settings(max_examples=examples(300))
@given(HTML)
@example("</b</b><b>")
@example("<b></b/><b2>")
def test_plain_tags_are_found_as_any_others(text):
    """The short way for `<b>` and `</b>` finds what the long one does."""
    assert find_html(text) == slowly("_OPENER", find_html, text)


@settings(max_examples=examples(300))
@given(MARKDOWN)
@example("[a](b<c)")
@example("[a](b](c)")
@example("a](b)[c](d) [")
@example("a](b)")
def test_plain_destinations_are_found_as_any_others(text):
    """The short way for a destination without brackets and spaces finds what the long one does."""
    assert find_links(text) == slowly("_PLAIN_DESTINATION", find_links, text)


@given(HTML)
def test_the_cheap_look_misses_no_html(text):
    """Where it says no, nothing is there."""
    assert may_be_html(text) or not find_html(text)


@pytest.mark.parametrize(
    "text", ["a < b", "a<b", "x <y and z", "1 <2> 3", "<3", "if a <= b and c >= d", "<", "a<", "&lt;b&gt;", "<<", "<-"]
)
def test_comparison_signs_are_no_markup(text):
    """A `<` that opens nothing, or a tag that never closes, is text."""
    assert find_html(text) == []


@settings(max_examples=examples(600))
@given(MARKDOWN)
@example("[a \\] b](c)")
@example("[a `]` b](c)")
@example("[a](<b c> 'd')")
@example('[a](b "c\\"d")')
@example("[![a](b)](c)")
@example("[a](\\(b)")
@example("[a](\\)b)")
@example("[a](< b\\> c>)")
def test_where_commonmark_sees_a_link_so_do_we(text):
    """A text in which we find none holds none for markdown-it, in whatever way brackets are escaped."""
    if not find_links(text):
        assert not has_link(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see [a](b).", [("link", "a", "b", 4, 10)]),
        ("![a](b)", [("image", "a", "b", 0, 7)]),
        ("[a](b) [c](<d e> 'f')", [("link", "a", "b", 0, 6), ("link", "c", "d e", 7, 21)]),
        ("[x [a](b) y](c)", [("link", "a", "b", 3, 9)]),
        ("[a](b(c)d)", [("link", "a", "b(c)d", 0, 10)]),
        ("[](b)", [("link", "", "b", 0, 5)]),
        ("[a]( )", [("link", "a", "", 0, 6)]),
        ("see [12](page 4)", []),
        ("a](b)", []),
        ("[a] (b)", []),
        ("f[i](x y)", []),
        ("[a](b", []),
        ("[a](" + "(" * 40 + ")" * 41, []),
    ],
)
def test_links_are_found_with_their_parts(text, found):
    """Innermost first, with the place, the text and the destination; what CommonMark takes for text is none."""
    assert [(one.kind, one.text, one.url, one.start, one.end) for one in find_links(text)] == found


@given(MARKDOWN)
def test_the_cheap_look_misses_no_link(text):
    """Where it says no, nothing is there."""
    assert may_be_link(text) or not find_links(text)


@pytest.mark.parametrize(
    "unit", ["<a", "<a ", "<a='", "<a/", '<a x="', "<!---->", "](", "[", "[a](", "[a](<", '[a](x "']
)
def test_time_is_linear(unit):
    """Sixteen times the text takes no hundred times as long: no stranger's text keeps a lane busy for minutes."""

    def seconds(size):
        text = (unit * size)[:size]
        start = time.process_time()
        find_html(text)
        find_links(text)
        return time.process_time() - start

    assert min(seconds(64_000) for _ in range(2)) < max(min(seconds(4_000) for _ in range(3)), 1e-4) * 100


@pytest.mark.parametrize("url", ["\0", "https://evil.example/\0", "a\0b", "\0(\0)", "\\\0"])
def test_a_nul_ends_no_destination(url):
    """CommonMark has it read as U+FFFD, which stands in one like any character."""
    assert has_link(f"[a]({url})")
    assert [link.url for link in find_links(f"[a]({url})")] == [url]
    result = clean(f"[a]({url})", "f", 2000, "replace", Trace())  # where controls go before
    assert result == ("a — https://evil.example/" if url.startswith("https:") else "a")
