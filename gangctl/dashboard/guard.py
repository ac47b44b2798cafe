"""Which requests the dashboard answers, and what its answers forbid the browser.

The page shows what the user may read in the cluster, so no other page in the same browser and no
other user of the machine may read it. Three checks, all of them for every request: the path begins
with a random token, the Host is the loopback address itself (a foreign name that resolves to it is
DNS rebinding), and the browser names no foreign origin. Only GET is answered. This module is pure.
"""

import hmac
from collections.abc import Mapping

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_SAME_SITE = ("", "same-origin", "none")

# Scripts and styles come from files only, so no text of an object can become either.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


def refusal(method: str, headers: Mapping[str, str], port: int) -> tuple[int, str] | None:
    """Return the status and the message with which a request is refused; None if it is answered.

    Header names are in lower case.
    """
    if method != "GET":
        return 405, "The dashboard only reads: use GET."
    hosts = [f"{name}:{port}" for name in _NAMES]
    if headers.get("host", "") not in hosts:
        return (
            421,
            f"Wrong host. Open the address that the command printed (http://{hosts[0]}/...).",
        )
    origin = headers.get("origin", "")
    if origin and origin != f"http://{headers['host']}":
        return 403, "Other origins may not read the dashboard."
    is_opened = headers.get("sec-fetch-dest") == "document"
    if not is_opened and headers.get("sec-fetch-site", "") not in _SAME_SITE:
        return 403, "Other sites may not read the dashboard."
    return None


def has_token(path: str, token: str) -> bool:
    """Return whether the first segment of a path is the token, in constant time."""
    return hmac.compare_digest(path.split("/")[1].encode(), token.encode()) if path else False
