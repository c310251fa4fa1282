"""What stands between a tool call and its work: scope, cage, permission rules, watchdog.

Each layer is a unit of its own and knows nothing of the others; `app.tools.dispatch.service` has their order.
"""
