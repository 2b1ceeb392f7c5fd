// HEALTHCHECK of the image: exits with status 0 if the server answers. Uses /health rather than /ready, because
// restarting the container does not fix the database.
const { HOST = '127.0.0.1', PORT = '3000' } = process.env;
const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[HOST] ?? HOST;
const url = `http://${address.includes(':') ? `[${address}]` : address}:${PORT}/health`;
const { ok } = await fetch(url).catch(() => ({ ok: false }));
process.exit(ok ? 0 : 1);
