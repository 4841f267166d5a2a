"""Which hub is asked, with which token, and where its files are kept: flags first, then the usual variables.

The variables are those of huggingface_hub (HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE), read here at
the time of asking: that library reads them once, when it is imported, and importing it takes long.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mtpchat.errors import HubNotFound

HUGGING_FACE = "https://huggingface.co"
_TRUE = {"1", "on", "yes", "true"}


@dataclass(frozen=True, slots=True)
class Access:
    """A hub and a place for its files.

    Attributes:
        endpoint: without a slash at its end.
        token: "" for none.
        cache: folder of the Hugging Face cache; it may not exist.
        offline: nothing is to be asked.
    """

    endpoint: str
    token: str
    cache: Path
    offline: bool


def access(*, endpoint: str = "", offline: bool = False, environment: Mapping[str, str] = os.environ) -> Access:
    """Put flags and variables together. Raises HubNotFound for an endpoint that is no address.

    A token that was stored by logging in to Hugging Face goes to Hugging Face alone; another hub gets the one that
    HF_TOKEN names, which somebody set on purpose.
    """
    address = checked_endpoint(endpoint or environment.get("HF_ENDPOINT") or HUGGING_FACE)
    home = _expanded(environment.get("HF_HOME") or "") or _cache_home(environment) / "huggingface"
    cache = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE") or ""
    named = environment.get("HF_TOKEN") or environment.get("HUGGING_FACE_HUB_TOKEN") or ""
    stored = "" if named or address != HUGGING_FACE else _stored_token(home, environment)
    told = environment.get("HF_HUB_OFFLINE") or environment.get("TRANSFORMERS_OFFLINE") or ""
    token = re.sub(r"\s", "", named or stored)
    return Access(address, token, _expanded(cache) or home / "hub", offline or told.casefold() in _TRUE)


def checked_endpoint(text: str) -> str:
    """An address with scheme and host, without a slash at its end. Raises HubNotFound."""
    try:
        address = urlsplit(text.strip())
        host, _ = address.hostname, address.port
    except ValueError:
        host = None
    if not host or address.scheme not in ("http", "https") or address.username or address.query or address.fragment:
        raise HubNotFound(f"{text!r} is no address of a hub", hint="It looks like https://hf-mirror.com")
    return text.strip().rstrip("/")


def _stored_token(home: Path, environment: Mapping[str, str]) -> str:
    """What `hf auth login` left behind."""
    if (environment.get("HF_HUB_DISABLE_IMPLICIT_TOKEN") or "").casefold() in _TRUE:
        return ""
    path = _expanded(environment.get("HF_TOKEN_PATH") or "") or home / "token"
    try:
        return path.read_text("utf-8")[:4096].strip()
    except (OSError, ValueError):
        return ""  # nobody has logged in


def _cache_home(environment: Mapping[str, str]) -> Path:
    return _expanded(environment.get("XDG_CACHE_HOME") or "") or (_expanded("~") or Path.home()) / ".cache"


def _expanded(text: str) -> Path | None:
    if not text:
        return None
    try:
        return Path(os.path.expandvars(text)).expanduser()
    except RuntimeError:
        return Path(text)
