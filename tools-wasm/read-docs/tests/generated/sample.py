def greet(name: str, *, loud: bool = False) -> str:
    """Say <hello> & "goodbye" to `name`."""

    if loud and len(name) > 0:
        return f"HELLO, {name.upper()}!"

    return "hello, " + name  # ends here


print(greet("a_b_c"))
