"""Two runs that start at once do not both believe that they hold the port."""

from __future__ import annotations

import dataclasses

import pytest

from freshline.core.errors import UserError
from freshline.project.model import ServerSettings
from freshline.ui.serving import Address


def test_an_address_that_is_not_served_yet_is_taken():
    first = Address(dataclasses.replace(ServerSettings(), port=0), movable=False)
    port = first.bound.getsockname()[1]
    settings = dataclasses.replace(ServerSettings(), port=port)
    try:
        with pytest.raises(UserError, match=r"\[address\]"):
            Address(settings, movable=False)
        moved = Address(settings, movable=True)
        assert moved.moved == f"port {port} is taken, another one is used"
        assert moved.bound.getsockname()[1] != port
        moved.close()
    finally:
        first.close()
