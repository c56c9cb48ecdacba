"""Tests ReadImage: a client receives an image of the declared type."""

import base64
import struct
from dataclasses import dataclass
from typing import Any

from steps import equal

MIME_TYPE = "image/png"


@dataclass(frozen=True)
class Picture:
    """File of the workspace; its width exceeds its height, so that swapped dimensions are detected."""

    name: str
    width: int
    height: int


UNTOUCHED = Picture("cdhn2c08.png", 32, 8)
CONVERTED = Picture("rgb16.bmp", 127, 64)


def check_picture(picture: Picture, mime_type: str, data: str, sent: Any) -> bytes:
    """Checks an image and its metadata, and returns its bytes."""
    equal(mime_type, MIME_TYPE)
    image = base64.b64decode(data, validate=True)
    equal(size_of_png(image), (picture.width, picture.height))
    size = {"width": picture.width, "height": picture.height, "bytes": len(image)}
    equal(sent, {"mime_type": MIME_TYPE} | size)
    return image


def size_of_png(image: bytes) -> tuple[int, int]:
    """Reads the size from the header, which is the first chunk of a PNG file."""
    signature, _length, part, width, height = struct.unpack_from(">8sI4sII", image)
    equal((signature, part), (b"\x89PNG\r\n\x1a\n", b"IHDR"))
    return width, height
