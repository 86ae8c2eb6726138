"""Notebooks: run with checked parameters, and shown as pages."""
