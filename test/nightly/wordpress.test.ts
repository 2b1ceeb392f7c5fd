import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { buildProject, createProject, startProgram, temporaryFolder } from '../helpers/project.ts';

const plugin = resolve(import.meta.dirname, '../../examples/wordpress/hosting-api.php');

const wordpress = {
  name: 'WordPress',
  package: 'wordpress php-cli php-mysql mariadb-server',
  commands: ['php', 'mariadb-install-db'],
  files: ['/usr/share/wordpress/wp-load.php', '/usr/sbin/mariadbd'],
};

describeInstalled(wordpress, () => {
  test('shows plans, articles and the widget by the plugin, with one request a minute and an old copy while the API is down', async () => {
    const root = createProject();
    await buildProject(root);
    const app = await createTestApp({ root });
    const folder = temporaryFolder();
    const run = async (program: string, ...args: string[]): Promise<string> => {
      const { output, ended } = startProgram(program, args, { cwd: folder, env: process.env });
      expect(await ended(), output()).toBe(0);
      return output();
    };
    const data = join(folder, 'data');
    const socket = join(folder, 'mariadb.sock');
    const user = process.getuid!() === 0 ? ['--user=root'] : [];
    const install = [
      '--no-defaults',
      `--datadir=${data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ];
    await run('mariadb-install-db', ...install, ...user);
    const database = ['--no-defaults', `--datadir=${data}`, `--socket=${socket}`, '--skip-networking', ...user];
    const { prints } = startProgram('/usr/sbin/mariadbd', database, { cwd: folder });
    await prints(/ready for connections/);

    const site = join(folder, 'site');
    cpSync('/usr/share/wordpress', site, { recursive: true, dereference: true });
    const theme = join(site, 'wp-content/themes/plain');
    for (const each of [theme, join(site, 'wp-content/plugins')]) mkdirSync(each, { recursive: true });
    writeFileSync(join(theme, 'style.css'), '/* Theme Name: Plain */');
    writeFileSync(join(theme, 'index.php'), '<?php wp_head(); while (have_posts()) { the_post(); the_content(); }');
    copyFileSync(plugin, join(site, 'wp-content/plugins/hosting-api.php'));
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}`;
    const constants = {
      DB_NAME: 'wordpress',
      DB_USER: 'root',
      DB_PASSWORD: '',
      DB_HOST: `localhost:${socket}`,
      WP_HOME: url,
      WP_SITEURL: url,
      HOSTING_API_URL: app.url,
      DISABLE_WP_CRON: true,
    };
    const defined = Object.entries(constants).map(([name, value]) => `define('${name}', ${JSON.stringify(value)});`);
    const config = `<?php ${defined.join(' ')} $table_prefix = 'wp_'; defined('ABSPATH') || define('ABSPATH', __DIR__ . '/'); require ABSPATH . 'wp-settings.php';`;
    writeFileSync(join(site, 'wp-config.php'), config);
    const setUp = `
      (new mysqli('localhost', 'root', '', '', 0, '${socket}'))->query('CREATE DATABASE wordpress');
      define('WP_INSTALLING', true);
      foreach (['wp-load', 'wp-admin/includes/upgrade', 'wp-admin/includes/plugin'] as $file) require_once "site/$file.php";
      wp_install('Site', 'admin', 'admin@example.com', true, '', 'secret');
      activate_plugin('hosting-api.php');
      switch_theme('plain');
      $content = '[hosting_plans key="web"][hosting_plans key="none"][hosting_blog count="1"]';
      echo 'page=', wp_insert_post(['post_title' => 'Offers', 'post_type' => 'page', 'post_status' => 'publish', 'post_content' => $content]);`;
    const [, id] = /page=(\d+)/.exec(await run('php', '-d', 'display_errors=stderr', '-r', setUp))!;
    startProgram('php', ['-S', `127.0.0.1:${port}`, '-t', site], { cwd: folder });
    const show = async (): Promise<string> => (await fetch(`${url}/?page_id=${id}`)).text();
    const requests = () => app.log().filter(({ msg }) => msg === 'request').length;

    await expect.poll(() => show().catch(() => '')).toContain('<th scope="row">Small</th>');
    const html = await show();
    expect(html).toContain(`<script src="${app.url}/v1/service-status.js" async></script>`);
    expect(html).toContain(`<a href="${url}/blog/news/second">Second</a>`);
    expect(html).not.toContain('First');
    expect(requests()).toBe(2);

    // A minute later the copies are confirmed by their ETags, and stay while the API is down.
    const expire = `require 'site/wp-load.php'; global $wpdb;
      foreach ($wpdb->get_col("SELECT option_name FROM $wpdb->options WHERE option_name LIKE '_transient_hosting_api_%'") as $name)
        { $key = substr($name, 11); set_transient($key, ['until' => 0] + get_transient($key), DAY_IN_SECONDS); }`;
    await run('php', '-r', expire);
    expect(await show()).toContain('Small');
    await expect.poll(() => app.log().filter(({ status }) => status === 304)).toHaveLength(2);
    await app.stop();
    await run('php', '-r', expire);
    expect(await show()).toContain('Small');
  });
});
