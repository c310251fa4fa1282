"""The container image."""

from __future__ import annotations

IMAGES: dict[str, str] = {
    "image.locked": "the image has what the lock pins, with hashes; its build sees nothing else",
    "image.parts": "the packages, the entry point and the settings of the image serve on a read-only root",
    "image.scripts": "a machine that cannot build images is told what it lacks, and its run does not fail",
    "image.demo": "the image runs as an ordinary user on a read-only root, and the demo is done through it",
    "image.restart": "a killed container resumes its sessions on its volumes; nothing acknowledged is lost",
    "image.any_user": (
        "any user may run the image; a project of another user neither breaks git nor is silently unwritable"
    ),
    "image.secret_files": "settings and keys may lie in files that variables name, and appear nowhere",
    "image.contents": "the slim image has no compiler and no installer, and lists its packages",
    "image.cages": "the tier in a container is found by trying, and the doctor has the words of the engine",
    "image.attacks": "in a container of each tier the attacks on cages come to nothing",
}
