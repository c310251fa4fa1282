"""The network of those who are not trusted with it: names, addresses, and the proxy of a cage."""
