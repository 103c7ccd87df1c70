"""Texts with which a stranger would take over a page, mislead its reader, or break its layout."""

from __future__ import annotations

from typing import Final

MARK: Final = "marked-word"
"""Stands in each of them but the long one, so that a test sees that the text is shown."""
TEXTS: Final[dict[str, str]] = {
    "script": f"{MARK}<script>document.title='taken'</script>",
    "closing": f"{MARK}</script></span></dd></main></body></html><h1>Signed in</h1>",
    "handler": f"{MARK}<img src=x onerror=\"document.title='taken'\"><svg/onload=alert(1)>",
    "attribute": f"{MARK}\" autofocus onfocus=\"document.title='taken'\" x='",
    "link": f"{MARK} javascript:document.title='taken' <a href=\"javascript:document.title='taken'\">Go on</a>",
    "markdown": f"{MARK} [Go on](javascript:alert(1)) ![x](https://evil.example/x.png)",
    "style": f"{MARK}<style>*{{display:none}}</style><link rel=stylesheet href=//evil.example/x.css>",
    "form": f"{MARK}<form action=https://evil.example><input name=token></form><base href=//evil.example>",
    "refresh": f"{MARK}<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "comment": f"{MARK}<!-- --><![CDATA[ ]]><!doctype html>",
    "references": f"{MARK}&lt;script&gt;&#x3c;script&#62;alert(1)&#60;/script&#x3e;",
    "template": f"{MARK}{{{{ 7*191 }}}}{{% include 'layout.html' %}}{{# none #}}${{7*191}}#{{7*191}}<%= 7*191 %>",
    "override": f"{MARK}\u202e.detimda si tI\u202c\u2066\u2069\u200f\u061c",
    "unseen": f"{MARK}\u200b\u200d\ufeff\u00ad\u2060\u2800\U000e0041\U000e0100",
    "controls": f"{MARK}\x00\x07\x08\x1b[31m\x1b]8;;https://evil.example\x07\x7f\x85\u2028\u2029",
    "command": f"{MARK}; touch /tmp/taken $(touch /tmp/taken) `touch /tmp/taken` | sh",
    "folder": f"..%2F..%2f../{MARK}/..\\..%5c%00",
    "combining": MARK + "x" + "\u0301\u0489\u20dd" * 300,
    "syllables": f"{MARK} \u1100" + "\u1161" * 300,  # each of the last three is one letter, which no line can break
    "conjuncts": f"{MARK} " + "\u0915\u094d" * 300,
    "sounds": f"{MARK} x" + "\uff9e" * 300,
    "long": "W" * 100_000,
}
