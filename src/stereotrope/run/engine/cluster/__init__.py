"""Carrying out stages on a Ray cluster. The driver, which holds the run's lock, is the head of the work.

The head (:mod:`.head`) hands out batches, writes the ledger, keeps the account and the limits of every key:
the very objects that the threads of one computer use. Hands (:mod:`.hands`) are actors anywhere in the
cluster; each has the lanes of a stage, and stand-ins of these objects that ask the head. In between stands
one actor, the desk, on the node of the head: hands leave there what they ask, and wait for the answer.

Why actors and no Ray Data: docs/explanation/engines.md.
"""

from stereotrope.run.engine.cluster.crew import RayCluster

__all__ = ["RayCluster"]
