"""Notifications reach a person who has no page open: a session asks, has failed or has ended.

Owns: which events send a notification, the outbox, the channels, retries. Never: answers; a link
opens the page.
"""
