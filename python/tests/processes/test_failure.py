"""What a user reads when something goes wrong."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import pytest
from harness import train
from trials import ContextTrial

from determined import _failure
from determined.common import check
from determined.common.check import CheckFailedError
from determined.errors import InvalidConfigurationException


def failure(method: Any, storage: pathlib.Path) -> str:
    kind = type("Failing", (ContextTrial,), {"train_batch": method})
    try:
        train(kind, storage, 1)
    except BaseException as error:
        return _failure.explain(error)
    raise AssertionError("the trial did not fail")


def divide(self: Any, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
    return {"loss": 1 / batch_idx}


def test_an_error_of_the_model_shows_its_own_lines_only(tmp_path: pathlib.Path) -> None:
    text = failure(divide, tmp_path)
    assert text.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert "1 / batch_idx" in text
    assert "determined/_run/_loop.py" not in text
    assert "_controller.py" not in text


def test_a_broken_rule_comes_first_and_without_our_lines(tmp_path: pathlib.Path) -> None:
    text = failure(lambda self, batch, epoch_idx, batch_idx: "text", tmp_path)
    assert text.startswith("CHECK FAILED! Got a str, expected a dict or a tensor: result of Failing.train_batch()")
    assert "determined/pytorch" not in text


def test_leaving_the_program_is_answered_with_advice(tmp_path: pathlib.Path) -> None:
    assert "sys.exit(3); remove it" in failure(lambda *args, **kwargs: sys.exit(3), tmp_path)


def test_an_error_of_ours_alone_is_shown_whole() -> None:
    try:
        check.eq(1, 2, "for the test")
    except CheckFailedError as error:
        text = _failure.explain(error)
    assert text.startswith("CHECK FAILED! Got 1 (type int), expected 2 (type int): for the test")
    assert str(InvalidConfigurationException({}, "said so")) == "said so"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: check.true(False, "why"), "Got False, expected True: why"),
        (lambda: check.is_instance(3, str), "Got a int, expected a str"),
        (lambda: check.is_in(3, [1, 2]), r"Got 3 \(type int\), expected one of \[1, 2\]"),
        (lambda: check.gt_eq(1, 2), r"expected at least 2"),
        (lambda: check.len_eq([1], 2), "Got 1 elements, expected 2"),
        (lambda: check.is_not_none(None), "Got None, expected a value"),
    ],
)
def test_checks_say_what_they_got_and_what_they_expected(call: Any, text: str) -> None:
    with pytest.raises(CheckFailedError, match=text):
        call()
