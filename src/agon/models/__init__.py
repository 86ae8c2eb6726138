"""Language models: one interface, adapters to the providers' SDKs, a stand-in, recordings and limits."""

from agon.models.base import Answer, Answering, CallFailed, Halted, Message, Model, Request, TooLong, extend, message

__all__ = ["Answer", "Answering", "CallFailed", "Halted", "Message", "Model", "Request", "TooLong", "extend", "message"]
