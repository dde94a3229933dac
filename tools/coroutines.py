"""Finds coroutine code that g++ 12 miscompiles."""

from __future__ import annotations

import re
from collections.abc import Iterator


def expression_after(text: str, start: int, *, within_parentheses: bool) -> str:
    """From `start` to the end of the statement, or to the parenthesis that closes the condition around it."""
    depth = 0
    for position in range(start, len(text)):
        character = text[position]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth < 0 and (within_parentheses or character == "}"):
                return text[start:position]
        elif character == ";" and depth <= 0:
            return text[start:position]
    return text[start:]


def condition_around(text: str, position: int) -> bool:
    """Whether `position` is inside the condition of an `if`, `while` or `switch`; a declaration before it is none."""
    if text[position + len(expression_after(text, position, within_parentheses=True)) :][:1] == ";":
        return False
    depth = 0
    for index in range(position - 1, -1, -1):
        character = text[index]
        if character in ")]}":
            depth += 1
        elif character in "([{":
            depth -= 1
            if depth < 0:
                depth = 0
                if character == "{":
                    return False
                if re.search(r"\b(if( constexpr)?|while|switch)\s*$", text[max(0, index - 20) : index]):
                    return True
        elif character == ";" and depth == 0:
            return False
    return False


def traps(text: str) -> Iterator[tuple[int, str, str]]:
    """Positions in the code, what is wrong there, and the remedy."""
    for match in re.finditer(r"\bco_await\b", text):
        condition = condition_around(text, match.start())
        rest = expression_after(text, match.end(), within_parentheses=condition)
        if re.search(r"[(,=\s]\[[\w&=,*\s.:()]*\]\s*(\([^()]*\)\s*)?(mutable\b|noexcept\b|->|\{)", rest):
            what = "a lambda literal in an expression with co_await"
            yield match.start(), what, "name the closure first: g++ 12 destroys it twice"
        elif re.search(r"[\w>]\{|[(,]\s*\{", rest):
            what = "a braced value in an expression with co_await"
            yield match.start(), what, "name the value first: g++ 12 destroys it twice"
        if condition:
            yield match.start(), "co_await in a condition", "name its result first: g++ 12 miscompiles the temporary"
