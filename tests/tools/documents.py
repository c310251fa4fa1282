"""Small PDFs, written by hand."""

from __future__ import annotations

from collections.abc import Sequence


def pdf(pages: Sequence[str | None]) -> bytes:
    """A PDF with a line of text on each page; a page of None holds a picture instead."""
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
    ]
    after = 3 + 2 * len(pages)
    font, picture = after, after + 1
    for number, text in enumerate(pages):
        resources = f"/Font << /F1 {font} 0 R >>" if text is not None else f"/XObject << /I {picture} 0 R >>"
        drawn = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text is not None else "/I Do"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << {resources} >> "
            f"/Contents {4 + 2 * number} 0 R >>".encode()
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    objects.append(
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray "
        b"/BitsPerComponent 8 /Length 1 >>\nstream\n\0\nendstream"
    )
    content, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    return (
        content
        + (
            f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
            f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(content)}\n%%EOF\n"
        ).encode()
    )
