"""How well an instrument reads, and whether it may be used: audits of pictures of known truth."""

from stereotrope.calibrate.calibration import Calibration, calibrate, found_in, planned
from stereotrope.calibrate.design import CheckAudit, audit_of, calibration_audit

__all__ = ["Calibration", "CheckAudit", "audit_of", "calibrate", "calibration_audit", "found_in", "planned"]
