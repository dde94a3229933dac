"""Patterns as in .gitignore, for files that are not sent to the master."""

from __future__ import annotations

import re


class IgnoreRules:
    """The last pattern that matches decides.

    A pattern with a slash before its end matches from the top directory; any other matches at every depth. A final
    slash restricts it to directories; ``!`` includes a name again; ``*`` and ``?`` do not match slashes, ``**`` does.
    """

    def __init__(self, text: str = "") -> None:
        self._rules: list[tuple[re.Pattern[str], bool, bool]] = []
        self.add(text)

    def add(self, text: str) -> None:
        """Adds patterns, one per line, after the existing ones."""
        for line in text.split("\n"):
            line = line.removesuffix("\r")
            while line.endswith(" ") and not line.endswith("\\ "):
                line = line[:-1]
            if not line or line.startswith("#"):
                continue
            negated = line.startswith("!")
            line = line[1:] if negated else line
            directories_only = line.endswith("/")
            line = line[:-1] if directories_only else line
            anchored = "/" in line
            line = line.removeprefix("/")
            if line:
                self._rules.append((_compile(line, anchored), negated, directories_only))

    def ignored(self, path: str, *, is_directory: bool) -> bool:
        """Whether ``path`` ("data/train.csv", relative to the top) itself is ignored."""
        for pattern, negated, directories_only in reversed(self._rules):
            if (is_directory or not directories_only) and pattern.fullmatch(path):
                return not negated
        return False


def _compile(line: str, anchored: bool) -> re.Pattern[str]:
    segments = line.split("/") if anchored else ["**", line]
    text = ""
    for index, segment in enumerate(segments):
        last = index == len(segments) - 1
        if segment == "**":
            if index and segments[index - 1] == "**":
                continue
            text += ".+" if last else "(?:[^/]+/)*"
        else:
            text += _segment(segment) + ("" if last else "/")
    return re.compile(text, re.DOTALL)


def _segment(segment: str) -> str:
    text, at = "", 0
    while at < len(segment):
        character = segment[at]
        at += 1
        if character == "*":
            if not text.endswith("[^/]*"):
                text += "[^/]*"
        elif character == "?":
            text += "[^/]"
        elif character == "\\" and at < len(segment):
            text += re.escape(segment[at])
            at += 1
        elif character == "[" and (end := _class_end(segment, at)) > 0:
            inside = segment[at:end]
            negated = inside[0] in "!^"
            inside = inside[1:] if negated else inside
            body = re.sub(r"([\[\]&~|^])", r"\\\1", inside)
            text += f"(?!/)[{'^' if negated else ''}{body}]"
            at = end + 1
        else:
            text += re.escape(character)
    return text


def _class_end(segment: str, at: int) -> int:
    """The end of the class that begins before ``at``; 0 if it has no end."""
    first = at + 1 if segment[at : at + 1] in ("!", "^") else at
    found = segment.find("]", first + 1)
    return max(found, 0)
