"""A model that follows a script, on loopback, behind the four protocols that agents speak to a model."""
