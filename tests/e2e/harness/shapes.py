"""The shape of a JSON value: keys in their order, and the types of what they hold; never numbers or text, but for the
words that a client switches on."""

# Keys whose value is a word of the protocol.
WORDS = {"object", "role", "finish_reason", "stop_type", "type", "status", "owned_by", "format", "chat_format"}


def shape_of(value, key: str = ""):
    if isinstance(value, dict):
        return {name: shape_of(held, name) for name, held in value.items()}
    if isinstance(value, list):
        shapes = []
        for held in value:
            if (found := shape_of(held, key)) not in shapes:
                shapes.append(found)
        return shapes
    if isinstance(value, str) and key in WORDS:
        return f"'{value}'"
    if value is None:
        return "null"
    return {bool: "bool", int: "number", float: "number", str: "string"}[type(value)]


def differences(ours, theirs, where: str = "") -> list[str]:
    """What a client made for the second would miss in the first, one line each."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = [f"{where}/{name}: missing" for name in theirs if name not in ours]
        found += [f"{where}/{name}: not in theirs" for name in ours if name not in theirs]
        common = [name for name in ours if name in theirs]
        if common != [name for name in theirs if name in ours]:
            found.append(f"{where}: order {common} instead of {[name for name in theirs if name in ours]}")
        for name in common:
            found += differences(ours[name], theirs[name], f"{where}/{name}")
        return found
    if isinstance(ours, list) and isinstance(theirs, list):
        found = [] if len(ours) == len(theirs) else [f"{where}: {len(ours)} kinds of elements instead of {len(theirs)}"]
        for i, (a, b) in enumerate(zip(ours, theirs)):
            found += differences(a, b, f"{where}[{i}]")
        return found
    return [] if ours == theirs else [f"{where}: {short(ours)} instead of {short(theirs)}"]


def short(value) -> str:
    text = repr(value)
    return text if len(text) < 200 else text[:200] + "…"
