"""Small projects that the tests of `code.lsp` ask about."""

from __future__ import annotations

from collections.abc import Mapping

TYPESCRIPT: Mapping[str, str] = {
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "target": "es2022", '
    '"moduleResolution": "bundler"}, "include": ["src", "lib"]}',
    "src/types.ts": "export interface User {\n  /** The display name. */\n  name: string;\n}\n",
    "src/auth.ts": 'import type { User } from "./types";\n\n'
    'export class Admin implements User {\n  name = "a";\n}\n\n'
    'export function validate(user: User): boolean {\n  return user.name !== "";\n}\n',
    "src/main.ts": 'import type { User } from "./types";\nimport { validate } from "./auth";\n\n'
    'const user: User = { name: "🙂" }; validate(user); validate(user);\n'
    "console.log(user.naem);\n",
    "lib/secret.ts": 'import type { User } from "../src/types";\n\n'
    'export const hidden: User = { name: "the password" };\n',
}
"""`User` is used in four files, one of them below `lib`; `src/main.ts` has one error."""

PYTHON: Mapping[str, str] = {
    "pyproject.toml": "",
    "shop/__init__.py": "",
    "shop/prices.py": "def total(prices: list[int]) -> int:\n"
    '    """Add all prices."""\n    return sum(prices)\n',
    "shop/orders.py": "from shop.prices import total\n\n\ndef bill() -> int:\n    return total([1, 2])\n",
    "main.py": 'from shop.orders import bill\n\nanswer: str = bill()\nprint("🙂", answer)\n',
}
"""`main.py` has one error: an int is no str."""
