"""Recording of models: estimates before, the recording itself, and the reason if a recording does not fit."""

from agon.record.asking import StopRule, in_flight, record

__all__ = ["StopRule", "in_flight", "record"]
