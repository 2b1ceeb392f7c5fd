import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyExample } from '../helpers/nginx-example.ts';
import type { ExampleFile } from '../helpers/nginx-example.ts';
import type { Recorded, Recording } from './peers/answers.ts';
import type { Command } from './processes.ts';

/** Headers that nginx itself derives from the file. */
const own = /^(?:content-type|content-length|content-encoding|etag|vary|last-modified)$/i;

/**
 * Writes the recorded article as a plain file and a .gz file, and a configuration that serves them with the recorded
 * headers; the ETag is nginx's own.
 */
export function prepareNginx(work: string, { target, identity, gzip }: Recording): (port: number) => Command {
  const folder = join(work, 'nginx');
  mkdirSync(folder);
  const file = join(folder, 'article.json');
  writeFileSync(file, Buffer.from(identity.body, 'base64'));
  writeFileSync(`${file}.gz`, Buffer.from(gzip.body, 'base64'));
  return (port) => {
    const path = join(folder, 'nginx.conf');
    writeFileSync(path, configure({ folder, port, file, location: target.split('?')[0]!, headers: identity.headers }));
    return { program: 'nginx', args: ['-p', folder, '-c', path], cwd: folder };
  };
}

/** The command that starts nginx with a copy of an example in front of a server. */
export function toExample(work: string, file: ExampleFile, instance: number) {
  return (port: number): Command => {
    const folder = join(work, file);
    mkdirSync(folder);
    const limit = { rate: '1000000r/s', burst: 1_000_000 };
    const path = join(folder, 'nginx.conf');
    writeFileSync(path, frame(folder, copyExample(folder, port, file, { instances: [instance], limit })));
    return { program: 'nginx', args: ['-p', folder, '-c', path], cwd: folder };
  };
}

interface Settings {
  readonly folder: string;
  readonly port: number;
  readonly file: string;
  readonly location: string;
  readonly headers: Recorded['headers'];
}

function configure({ folder, port, file, location, headers }: Settings): string {
  const [, type] = headers.find(([name]) => name.toLowerCase() === 'content-type')!;
  const added = headers.filter(([name]) => !own.test(name)).map(([name, value]) => `add_header ${name} '${value}';`);
  return frame(
    folder,
    `
  open_file_cache max=16;
  server_tokens off;
  server {
    listen 127.0.0.1:${port};
    location = ${location} {
      alias ${file};
      types { }
      default_type '${type}';
      gzip_static on;
      gzip_vary on;
      ${added.join('\n      ')}
    }
  }`,
  );
}

function frame(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // Without a master, the one process is the worker: it can be measured by its pid, and a kill leaves no process behind.
  return `
daemon off;
master_process off;
${process.getuid!() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log stderr error;
worker_rlimit_nofile 4096;
events { worker_connections 2048; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 65s;
  keepalive_requests 1000000000;
  ${http}
}
`;
}
