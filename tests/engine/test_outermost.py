"""What commits by itself, and what asks the world outside, is refused where a transaction is open."""

from __future__ import annotations

import pytest
from django.db import transaction

from durable.beats import outermost, stating

pytestmark = pytest.mark.django_db


def test_what_commits_by_itself_is_refused_within_a_transaction_and_says_what_it_was() -> None:
    with stating("claim"):
        pass
    with transaction.atomic():
        with pytest.raises(RuntimeError, match="claim is to commit by itself, and a transaction is open"):
            stating("claim").__enter__()
        with pytest.raises(RuntimeError, match="a vendor is to be asked, and a transaction is open"):
            outermost("a vendor is to be asked")
