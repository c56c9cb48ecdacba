"""ReadImage: what a client gets is an image, of the type that it is said to be."""

import base64
import struct
from dataclasses import dataclass
from typing import Any

from steps import equal

MIME_TYPE = "image/png"


@dataclass(frozen=True)
class Picture:
    """A file of the workspace; wider than high, so that no exchange goes unnoticed."""

    name: str
    width: int
    height: int


UNTOUCHED = Picture("cdhn2c08.png", 32, 8)
CONVERTED = Picture("rgb16.bmp", 127, 64)


def check_picture(picture: Picture, mime_type: str, data: str, sent: Any) -> bytes:
    """Checks an image and what is said of it; its bytes."""
    equal(mime_type, MIME_TYPE)
    image = base64.b64decode(data, validate=True)
    equal(size_of_png(image), (picture.width, picture.height))
    size = {"width": picture.width, "height": picture.height, "bytes": len(image)}
    equal(sent, {"mime_type": MIME_TYPE} | size)
    return image


def size_of_png(image: bytes) -> tuple[int, int]:
    """By the header, which is the first part of a PNG file."""
    signature, _length, part, width, height = struct.unpack_from(">8sI4sII", image)
    equal((signature, part), (b"\x89PNG\r\n\x1a\n", b"IHDR"))
    return width, height
