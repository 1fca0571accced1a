"""The ssi suite: which stereotypes do a query's pictures reinforce, and does rewriting the prompt help?"""

from stereotrope.suites.contract import register

__all__: list[str] = []

register(__file__)
