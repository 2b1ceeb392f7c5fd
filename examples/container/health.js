// HEALTHCHECK of the image: exits with status 0 if the server answers. Uses /health rather than /ready, because
// restarting the container does not fix the database.
const { PORT = '3000' } = process.env;
const { ok } = await fetch(`http://127.0.0.1:${PORT}/health`).catch(() => ({ ok: false }));
process.exit(ok ? 0 : 1);
