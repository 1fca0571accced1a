"""The conductor: an audit file in, a run folder out."""

from stereotrope.audit.conductor import Audit
from stereotrope.audit.file import AuditSpec
from stereotrope.audit.plan import Plan

__all__ = ["Audit", "AuditSpec", "Plan"]
