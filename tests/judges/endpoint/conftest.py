"""The chat server of each test module, which answers with its `USUAL`: a response, or a function that makes one."""

from collections.abc import Iterator

import pytest

from tests.judges.endpoint.chat_server import ChatServer


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[ChatServer]:
    usual = request.module.USUAL
    with ChatServer(usual if callable(usual) else lambda _: usual) as running:
        yield running
