"""Fetching results that a server gives as an address, without being led anywhere else."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import TYPE_CHECKING

from stereotrope.clients.http import bytes_of, tls_context
from stereotrope.clients.redact import redact
from stereotrope.errors import ModelError

if TYPE_CHECKING:
    import httpx2

_MOST_BYTES = 64 * 2**20
_MOST_REDIRECTS = 5
_TRIES = 3
_SECONDS = 120.0
_PAUSE = 0.5
_HIGHEST_PORT = 65535
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class _Passing(Exception):
    """A failure that another try may not meet."""


async def fetch(
    url: str, *, allow_local: bool = False, most_bytes: int = _MOST_BYTES, timeout: float = _SECONDS
) -> bytes:
    """Fetch the bytes at an address that a server named; no key and no cookie is sent.

    url: ``https`` only. Each redirect is looked at as the first address is: the host's addresses must all be
        public, and the connection goes to the address that was looked at.
    allow_local: Addresses of this computer, with ``http`` as well: for results of an endpoint on it.
    timeout: Seconds that one try may take in all.
    Raises ModelError: It is refused, or does not come after three tries.
    """
    said = redact(url.partition("?")[0])
    problem = "was not asked"
    for attempt in range(_TRIES):
        if attempt:
            await asyncio.sleep(_PAUSE * 2**attempt)
        try:
            async with asyncio.timeout(timeout):
                return await _follow(url, allow_local, most_bytes)
        except TimeoutError:
            problem = f"did not come within {timeout:.0f} s"
        except _Passing as error:
            problem = str(error)
    raise ModelError(f"{said}: a result that cannot be fetched: {problem}")


async def _follow(url: str, allow_local: bool, most_bytes: int) -> bytes:
    for _ in range(_MOST_REDIRECTS + 1):
        reply = await _get(url, allow_local, most_bytes)
        if isinstance(reply, bytes):
            return reply
        url = reply
    raise ModelError(f"{redact(url.partition('?')[0])}: refused after {_MOST_REDIRECTS} redirects")


async def _get(url: str, allow_local: bool, most_bytes: int) -> bytes | str:
    """Return the bytes, or the address that the reply leads to."""
    import httpx2  # noqa: PLC0415

    try:
        target = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, UnicodeError):
        raise ModelError(f"{redact(url)}: is no address") from None
    if (target.port or 0) > _HIGHEST_PORT:
        raise ModelError(f"{redact(url)}: is no address")
    address = await _checked(target, allow_local)
    host = f"[{address}]" if address.version == 6 else str(address)
    verify = tls_context() if target.scheme == "https" else False
    async with httpx2.AsyncClient(verify=verify, trust_env=False, follow_redirects=False) as client:
        request = client.build_request(
            "GET",
            target.copy_with(host=host, username=None, password=None),
            headers={"host": target.netloc.decode("ascii"), "user-agent": "stereotrope"},
            extensions={"sni_hostname": target.host, "timeout": httpx2.Timeout(_SECONDS).as_dict()},
        )
        try:
            response = await client.send(request, stream=True)
            try:
                return await _body(response, target, most_bytes)
            finally:
                await response.aclose()
        except httpx2.HTTPError as error:
            raise _Passing(redact(str(error) or type(error).__name__)) from None


async def _body(response: httpx2.Response, target: httpx2.URL, most_bytes: int) -> bytes | str:
    if response.status_code in (301, 302, 303, 307, 308) and "location" in response.headers:
        return _led_to(target, response.headers["location"])
    if response.status_code >= 500 or response.status_code in (408, 429):
        raise _Passing(f"status {response.status_code}")
    if response.status_code != 200:
        raise ModelError(f"{redact(target.host)}: gave a result address with status {response.status_code}")
    refusal = f"{redact(target.host)}: a result of more than {most_bytes} bytes is refused"
    return await bytes_of(response, most_bytes, refusal)


def _led_to(target: httpx2.URL, location: str) -> str:
    import httpx2  # noqa: PLC0415

    try:
        return str(target.join(location))
    except (httpx2.InvalidURL, UnicodeError):
        raise ModelError(f"{redact(target.host)}: leads to what is no address") from None


async def _checked(target: httpx2.URL, allow_local: bool) -> Address:
    """Return an address of the host once all of them are fit."""
    named = redact(str(target.copy_with(query=None, username=None, password=None)))
    if target.scheme not in (("https", "http") if allow_local else ("https",)) or not target.host:
        raise ModelError(f"{named}: results are fetched by https only; this address is refused")
    port = target.port or {"http": 80, "https": 443}[target.scheme]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(target.host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise _Passing(f"there is no host {redact(target.host)}") from None
    addresses = [_plain(ipaddress.ip_address(str(entry[4][0]).partition("%")[0])) for entry in found]
    if not addresses:
        raise _Passing(f"there is no host {redact(target.host)}")
    for address in addresses:
        local = address.is_loopback and allow_local
        public = address.is_global and not address.is_multicast and target.scheme == "https"
        if not (local or public):
            raise ModelError(f"{named}: leads to the private address {address}; this address is refused")
    return addresses[0]


def _plain(address: Address) -> Address:
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
