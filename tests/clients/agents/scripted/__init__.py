"""Scripted model on loopback, which supports the four protocols that agents use for models."""
