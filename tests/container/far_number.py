"""Runs a program that gives its children process numbers that no cage has yet.

A container counts its processes from 1, and so does a cage: without this, a number of the one would often be
that of another process in the other. Nothing outside of the standard library is used; it is run as a file.

    far_number.py PROGRAM ARGUMENT...
"""

import os
import sys
import threading

FAR = 20_000

if __name__ == "__main__":
    number = 0
    while number < FAR:
        thread = threading.Thread(target=int)
        thread.start()
        number = thread.native_id or 0
        thread.join()
    os.execv(sys.argv[1], sys.argv[1:])
