"""Where cases may go, and which key goes along."""

import pytest

from mrb_lib.judges.endpoint.address import Address, address
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError


def _address(url: str | None = None, own: str | None = None, key_env: str | None = None, **settings: object) -> Address:
    return address(Entry("j", "endpoint", model="m", base_url=own, key_env=key_env), Settings(url=url, **settings))


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MRB_ENDPOINT_KEY", "HOST_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "[::1]"])
def test_this_machine_needs_no_permission(host: str) -> None:
    found = _address(f"http://{host}:8000/v1")
    assert found.is_local
    assert found.url == f"http://{host.lower()}:8000/v1"


@pytest.mark.parametrize(
    "host",
    [
        "example.org", "localhost.example.org", "127.0.0.1.example.org", "localhost.", "127.1", "2130706433", "0",
        "10.0.0.1", "[::]", "[::ffff:10.0.0.1]", "my-laptop", "128.0.0.1",
    ],
)  # fmt: skip
def test_everything_else_is_remote_and_refused_unless_allowed(host: str) -> None:
    with pytest.raises(InputError, match="--allow-remote"):
        _address(f"http://{host}:8000/v1")
    assert not _address(f"http://{host}:8000/v1", allow_remote=True).is_local


def test_an_entrys_own_server_is_remote_too() -> None:
    with pytest.raises(InputError, match=r"api\.example\.org:443"):
        _address(own="https://api.example.org/v1", key_env="HOST_KEY")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(
            ({"url": url}, r"--url|malformed")
            for url in (
                "", "127.0.0.1:8000", "ftp://127.0.0.1/v1", "http:///v1", "http://127.0.0.1:port/v1", "http://[::1/v1",
                "http://127.0.0.1/v 1", "http://127.0.0.1/v1\n", "http://ö.example/v1",
            )
        ),
        *(
            ({"url": f"http://{address}"}, "MRB_ENDPOINT_KEY")
            for address in ("me:hunter2@127.0.0.1/v1", "127.0.0.1/v1?key=hunter2", "127.0.0.1/#hunter2")
        ),
        *(
            ({"url": "https://api.example.org/v1", "proxy": proxy}, "proxy's URL is malformed")
            for proxy in ("me:hunter2@proxy:3128", "socks5://me:hunter2@127.0.0.1", "http://")
        ),
        ({}, "--url"),
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_and_no_secret_of_it_repeated(given: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        _address(**given, allow_remote=True)
    assert "hunter2" not in str(caught.value)


def test_a_remote_that_names_a_key_is_not_called_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"own": "https://api.example.org/v1/", "key_env": "HOST_KEY", "allow_remote": True}
    with pytest.raises(InputError, match="HOST_KEY"):
        _address(**own)
    monkeypatch.setenv("HOST_KEY", " sk-123456789\n")
    found = _address(**own)
    assert (found.url, found.key) == ("https://api.example.org:443/v1", "sk-123456789")
    assert "sk-123" not in repr(found)


def test_a_key_goes_to_the_server_it_is_for_and_to_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_KEY", "of-the-host")
    own = "https://api.example.org/v1"
    elsewhere = _address("https://other.example.org/v1", own, "HOST_KEY", allow_remote=True)
    assert (elsewhere.key, elsewhere.key_env) == ("", "MRB_ENDPOINT_KEY")
    assert _address("http://api.example.org/v1", own, "HOST_KEY", allow_remote=True).key == ""
    assert _address("https://api.example.org:443/v2", own, "HOST_KEY", allow_remote=True).key == "of-the-host"
    assert _address("http://127.0.0.1:1/v1", None, "HOST_KEY").key == "of-the-host"
    monkeypatch.setenv("MRB_ENDPOINT_KEY", "mine")
    assert _address("http://127.0.0.1:1/v1", own, "HOST_KEY").key == "mine"
    assert _address("http://127.0.0.1:1/v1").key == "mine"


@pytest.mark.parametrize("key", ["sk-äöü-123456", "sk-123\r\nX-Evil: 456", "two words"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_repeated(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRB_ENDPOINT_KEY", key)
    with pytest.raises(InputError, match="MRB_ENDPOINT_KEY") as caught:
        _address("http://127.0.0.1:1/v1")
    assert key[:6] not in str(caught.value)


def test_a_proxy_is_for_other_machines_alone() -> None:
    proxy = "http://me:hunter2@proxy.example.org:3128"
    remote = _address("https://api.example.org/v1", allow_remote=True, proxy=proxy)
    assert remote.proxy == proxy
    assert "hunter2" not in repr(remote)
    assert _address("http://127.0.0.1:1/v1", proxy=proxy).proxy is None
