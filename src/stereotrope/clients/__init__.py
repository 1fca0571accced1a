"""Talking to model servers: where they are, how hard they may be asked, what they cost, what they answer.

An :class:`Endpoint` says where; a :class:`Caller` limits, retries, accounts and classifies every request
to a model there; a :class:`ChatClient` asks chat models and holds their answers to a schema. Adapters of
other servers use a :class:`Caller` and an :class:`HttpClient`. Keys are read from the environment when a
request is sent, and kept nowhere.
"""

from stereotrope.clients.account import BEGUN, Account, Call, Total, totals_of
from stereotrope.clients.caller import Caller, Refusal, Usage
from stereotrope.clients.chat import RESPONSE_FORMATS, Answer, ChatClient
from stereotrope.clients.embedding import EmbeddingClient
from stereotrope.clients.endpoint import ENDPOINT_KEYS, PROVIDERS, Endpoint, is_model, split_model
from stereotrope.clients.error_body import declining_form, error_in, is_moderation, is_trouble, tells_error
from stereotrope.clients.failures import ErrorReply, classify
from stereotrope.clients.fetch import fetch
from stereotrope.clients.http import HttpClient
from stereotrope.clients.prices import Expectation, Price, expectation, picture_tokens, price_of
from stereotrope.clients.redact import fit_to_keep, line_with_key, redact, refuse_secrets
from stereotrope.clients.structured import Problem

__all__ = [
    "BEGUN",
    "ENDPOINT_KEYS",
    "PROVIDERS",
    "RESPONSE_FORMATS",
    "Account",
    "Answer",
    "Call",
    "Caller",
    "ChatClient",
    "EmbeddingClient",
    "Endpoint",
    "ErrorReply",
    "Expectation",
    "HttpClient",
    "Price",
    "Problem",
    "Refusal",
    "Total",
    "Usage",
    "classify",
    "declining_form",
    "error_in",
    "expectation",
    "fetch",
    "fit_to_keep",
    "is_model",
    "is_moderation",
    "is_trouble",
    "line_with_key",
    "picture_tokens",
    "price_of",
    "redact",
    "refuse_secrets",
    "split_model",
    "tells_error",
    "totals_of",
]
