// The HEALTHCHECK of the image: ends with status 0 if the server answers. It is not /ready, since a restart brings no database back.
const { PORT = '3000' } = process.env;
const { ok } = await fetch(`http://127.0.0.1:${PORT}/health`).catch(() => ({ ok: false }));
process.exit(ok ? 0 : 1);
