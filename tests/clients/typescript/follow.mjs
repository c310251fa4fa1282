// Usage: node follow.mjs PACKAGE URL TOKEN SESSION; prints each event as one JSON line, until it is ended.

const [address, baseUrl, token, session] = process.argv.slice(2);
const { createKaged } = await import(address);
for await (const event of createKaged({ baseUrl, token }).follow(session)) console.log(JSON.stringify(event));
