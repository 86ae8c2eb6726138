"""Asking models: what it will take, the asking itself, and why what is recorded does not fit."""

from agon.record.asking import StopRule, in_flight, record

__all__ = ["StopRule", "in_flight", "record"]
