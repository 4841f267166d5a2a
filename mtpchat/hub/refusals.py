"""What a hub's refusals and a network's failures mean for the user."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from mtpchat.errors import HubDenied, HubError, HubNotFound, HubUnreachable
from mtpchat.hub.access import Access

if TYPE_CHECKING:
    import httpx2

_LONGEST_WAIT_S = 3600.0
_LATER = "Try again later: what has come is kept, and the same command goes on from there."


def refusal(status: int, headers: Mapping[str, str], access: Access, repo: str, file: str) -> HubError:
    """The error for an answer that is none.

    Args:
        repo, file: what was asked for; "" for a request about something else.
    """
    code = headers.get("X-Error-Code", "")
    what = f"{file} of {repo}" if file else repo or "the hub"
    if status in (401, 403):
        return _denied(status, code, headers, access, repo)
    if status == 404:
        if code == "RevisionNotFound":
            return HubNotFound(f"{repo} has no such revision", hint="Leave --revision away for the newest state.")
        if file:
            return HubNotFound(f"{what} is not there any more", hint="List the repository again.")
        return HubNotFound(f"There is no repository {repo} on {access.endpoint}", hint="Check owner and name.")
    if status == 429:
        after = retry_after(headers)
        wait = f" for {after:.0f} s" if after else ""
        more = "" if access.token else " A token in HF_TOKEN raises the limit."
        return HubUnreachable(
            f"{access.endpoint} asks to wait{wait}: too many requests", after_s=after, hint=_LATER + more
        )
    if status in (408, 425) or status >= 500:
        return HubUnreachable(
            f"{access.endpoint} cannot answer at the moment (HTTP {status})", after_s=retry_after(headers), hint=_LATER
        )
    return HubError(f"{access.endpoint} refuses {what} (HTTP {status})", hint="Check the name and --endpoint.")


def _denied(status: int, code: str, headers: Mapping[str, str], access: Access, repo: str) -> HubError:
    page = f"{access.endpoint}/{repo}"
    if headers.get("X-Error-Message", "").startswith("Invalid credentials"):
        return HubDenied("The token is not accepted", hint="Make a new one on hf.co/settings/tokens and set HF_TOKEN.")
    if code == "GatedRepo":
        steps = (
            "then fetch it again" if access.token else "then set HF_TOKEN to a token of yours (hf.co/settings/tokens)"
        )
        return HubDenied(f"{repo} is gated: its owner wants you to agree first", hint=f"Agree on {page}, {steps}.")
    if status == 401:
        return HubDenied(
            f"{repo} does not exist, or is private or gated",
            hint=f"Check the name. If it is right, ask for access on {page} and set HF_TOKEN to a token of yours.",
        )
    return HubDenied(
        f"You may not read {repo}" if access.token else f"{repo} may be read with a token only",
        hint=f"Ask for access on {page} and set HF_TOKEN to a token with the right to read it.",
    )


def transport_error(error: httpx2.HTTPError | httpx2.InvalidURL | httpx2.StreamError, endpoint: str) -> HubError:
    """The error for a connection that did not come about, stalled or broke."""
    import httpx2

    where = _asked(error) or endpoint
    match error:
        case httpx2.ConnectTimeout() | httpx2.ConnectError():
            return HubUnreachable(
                f"{where} cannot be reached: {_reason(error)}",
                hint="Is this machine online? Then try again. HTTPS_PROXY names a proxy, HF_ENDPOINT a mirror.",
            )
        case httpx2.TimeoutException():
            return HubUnreachable(f"{where} has stopped sending", hint=_LATER)
        case httpx2.TransportError() | httpx2.StreamError():
            return HubUnreachable(f"The connection broke: {_reason(error)}", hint=_LATER)
        case _:
            return HubError(f"{endpoint} cannot be asked: {_reason(error)}", hint="Check --endpoint and HF_ENDPOINT.")


def _asked(error: httpx2.HTTPError | httpx2.InvalidURL | httpx2.StreamError) -> str:
    """The server that was asked: files often come from another one than the hub; "" where that is not known."""
    import httpx2

    if not isinstance(error, httpx2.HTTPError):
        return ""
    try:
        url = error.request.url
    except RuntimeError:  # nothing was asked yet
        return ""
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Seconds to wait, as far as the server names a number of them, or a moment; at most an hour.

    Args:
        now: seconds since 1970.
    """
    told = re.search(r";\s*t=(\d{1,9})", headers.get("RateLimit", ""))  # "api";r=0;t=42, as Hugging Face has it
    text = headers.get("Retry-After", told[1] if told else "").strip()
    if text.isascii() and text.isdecimal() and len(text) <= 9:
        return min(float(text), _LONGEST_WAIT_S)
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):  # no date of this world
        return None
    return min(max(moment - now(), 0.0), _LONGEST_WAIT_S)


def _reason(error: Exception) -> str:
    words = re.sub(r"^\[Errno -?\d+\] ", "", " ".join(str(error).split()))  # the number says nothing to a reader
    return words[:200] or type(error).__name__
