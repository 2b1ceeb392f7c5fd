import { expect, test } from 'vitest';
import { findMisspeltSettings, listSettings } from '../../server/env.ts';
import { temporaryFolder, writeFiles } from '../helpers/project.ts';
import { createServable, startProcess } from './process.ts';

test('a misspelt setting is logged once at start, without its value', async () => {
  const { settings } = await createServable();
  const cwd = temporaryFolder();
  writeFiles(cwd, { '.env': 'PUBLICURL=https://hunter2.example.com\n' });
  const server = startProcess({ ...settings, RATELIMIT_BRUST: 'hunter2', port: 'hunter2' }, { cwd });
  await server.logged('port is not a setting and has no effect: did you mean PORT?');
  const warnings = server.log().filter(({ level }) => level === 'warn');
  expect(warnings.map(({ msg }) => String(msg)).toSorted()).toEqual([
    'PUBLICURL is not a setting and has no effect: did you mean PUBLIC_URL?',
    'RATELIMIT_BRUST is not a setting and has no effect: did you mean RATELIMIT_BURST?',
    'port is not a setting and has no effect: did you mean PORT?',
  ]);
  expect(server.stdout()).not.toContain('hunter2');
});

test('a misspelt setting is also named if a wrong setting stops the start', async () => {
  const server = startProcess({ DOMAIN_PRICES: 'fossbilling', FOSSBILING_URL: 'https://hunter2.example.com' });
  expect(await server.ended()).toBe(1);
  expect(server.stderr()).toBe(
    'FOSSBILLING_URL: must be set with DOMAIN_PRICES=fossbilling\n' +
      'FOSSBILING_URL is not a setting and has no effect: did you mean FOSSBILLING_URL?\n',
  );
});

test.each([
  ['RATELIMIT_BRUST', 'RATELIMIT_BURST'],
  ['RATE_LIMIT_RPS', 'RATELIMIT_RPS'],
  ['CHAT_FEEDBACK_WEBHOOK', 'CHAT_FEEDBACK_WEBHOOK_URL'],
  ['CHAT_WEBHOOK_URL', undefined],
  ['PUBLICURL', 'PUBLIC_URL'],
  ['PUBLIC_URI', 'PUBLIC_URL'],
  ['SITEURL', 'SITE_URL'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['DATABASE_URL_FIEL', 'DATABASE_URL_FILE'],
  ['DATABASEURL_FILE', 'DATABASE_URL_FILE'],
  ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
  ['TRUST_PROXIES', 'TRUSTED_PROXIES'],
  ['CORS_ORIGIN', 'CORS_ORIGINS'],
  ['PROVIDER_FILE', 'PROVIDERS_FILE'],
  ['DNS_SERVER', 'DNS_SERVERS'],
  ['UPTIMEKUMA_URL', 'UPTIME_KUMA_URL'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['DATADIR', 'DATA_DIR'],
  ['PROT', 'PORT'],
  ['Host', 'HOST'],
  ['SHUTDOWN_GRACE', undefined],
  ['SHUTDOWN_GRACE_SECOND', 'SHUTDOWN_GRACE_SECONDS'],
])('%s resembles %s', (name, setting) => {
  expect(findMisspeltSettings({ [name]: 'x' })).toEqual(setting === undefined ? [] : [{ name, setting }]);
});

test('no setting looks like another setting or its _FILE', () => {
  const names = listSettings().flatMap(({ name }) => [name, `${name}_FILE`]);
  expect(findMisspeltSettings(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([]);
});

test('an empty misspelt variable is not logged', () => {
  expect(findMisspeltSettings({ RATELIMIT_BRUST: '', PUBLICURL: undefined })).toEqual([]);
});

/** Variables of shells, systemd, containers, CI systems, npm and other programs. */
const usual: Readonly<Record<string, string>> = {
  shell: `BASH BASHOPTS BASH_VERSION COLORTERM COLUMNS DBUS_SESSION_BUS_ADDRESS DESKTOP_SESSION DISPLAY EDITOR EUID GDMSESSION
    GPG_AGENT_INFO GROUPS HISTFILE HISTSIZE HOME HOSTFILE HOSTNAME HOSTTYPE IFS LANG LANGUAGE LC_ALL LC_CTYPE LESS LESSOPEN
    LINES LOGNAME LS_COLORS MACHTYPE MAIL MAILCHECK MANPATH NVM_BIN NVM_DIR OLDPWD OSTYPE PAGER PATH PPID PROMPT_COMMAND
    PS1 PWD SESSION_MANAGER SHELL SHELLOPTS SHLVL SSH_AGENT_PID SSH_AUTH_SOCK SSH_CLIENT SSH_CONNECTION SSH_TTY STY SUDO_COMMAND
    SUDO_GID SUDO_UID SUDO_USER TERM TERM_PROGRAM TMPDIR TMUX TZ UID USER VISUAL VTE_VERSION WINDOWID XAUTHORITY
    XDG_CACHE_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR XDG_SEAT XDG_SESSION_ID XDG_STATE_HOME _`,
  systemd: `CACHE_DIRECTORY CONFIGURATION_DIRECTORY CREDENTIALS_DIRECTORY EXIT_CODE EXIT_STATUS INVOCATION_ID JOURNAL_STREAM
    LISTEN_FDNAMES LISTEN_FDS LISTEN_PID LOGS_DIRECTORY MAINPID MANAGERPID MEMORY_PRESSURE_WATCH MEMORY_PRESSURE_WRITE
    NOTIFY_SOCKET PIDFILE RUNTIME_DIRECTORY SERVICE_RESULT STATE_DIRECTORY SYSTEMD_EXEC_PID WATCHDOG_PID WATCHDOG_USEC`,
  containers: `CONTAINER DOCKER_HOST DOCKER_CONFIG DOCKER_CERT_PATH COMPOSE_PROJECT_NAME COMPOSE_FILE container KUBERNETES_PORT
    KUBERNETES_PORT_443_TCP KUBERNETES_PORT_443_TCP_ADDR KUBERNETES_PORT_443_TCP_PORT KUBERNETES_PORT_443_TCP_PROTO
    KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_SERVICE_PORT_HTTPS API_PORT API_SERVICE_HOST API_SERVICE_PORT
    DB_HOST DB_PORT DB_URL REDIS_HOST REDIS_PORT REDIS_URL NODE_VERSION YARN_VERSION PYTHON_VERSION GPG_KEY POD_IP POD_NAME
    NODE_NAME HOST_IP FLY_APP_NAME FLY_REGION DYNO HEROKU_APP_NAME RAILWAY_STATIC_URL RENDER_EXTERNAL_URL`,
  github: `CI GITHUB_ACTION GITHUB_ACTIONS GITHUB_ACTION_REF GITHUB_ACTOR GITHUB_API_URL GITHUB_BASE_REF GITHUB_ENV
    GITHUB_EVENT_NAME GITHUB_EVENT_PATH GITHUB_GRAPHQL_URL GITHUB_HEAD_REF GITHUB_JOB GITHUB_OUTPUT GITHUB_PATH GITHUB_REF
    GITHUB_REPOSITORY GITHUB_RUN_ID GITHUB_SERVER_URL GITHUB_SHA GITHUB_STATE GITHUB_STEP_SUMMARY GITHUB_WORKFLOW GITHUB_WORKSPACE
    RUNNER_ARCH RUNNER_NAME RUNNER_OS RUNNER_TEMP RUNNER_TOOL_CACHE RUNNER_WORKSPACE ImageOS ImageVersion DEPLOYMENT_BASEPATH
    ACTIONS_CACHE_URL ACTIONS_RUNTIME_URL ANDROID_HOME AGENT_TOOLSDIRECTORY CHROME_BIN SELENIUM_JAR_PATH SWIFT_PATH`,
  gitlab: `CI_API_V4_URL CI_BUILDS_DIR CI_COMMIT_SHA CI_JOB_ID CI_PAGES_URL CI_PIPELINE_URL CI_PROJECT_DIR CI_PROJECT_URL CI_REGISTRY
    CI_SERVER CI_SERVER_HOST CI_SERVER_PORT CI_SERVER_URL CI_SERVER_VERSION GITLAB_CI FF_NETWORK_PER_BUILD`,
  npm: `COLOR INIT_CWD NODE NODE_ENV NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_NO_WARNINGS npm_command npm_config_cache npm_config_host
    npm_config_loglevel npm_config_node_gyp npm_config_port npm_config_prefix npm_config_user_agent npm_execpath
    npm_lifecycle_event npm_lifecycle_script npm_node_execpath npm_package_json npm_package_name npm_package_version`,
  programs: `ALL_PROXY HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy FORCE_COLOR NO_COLOR DEBUG LOG_DIR LOG_FILE LOG_PATH
    PGDATA PGDATABASE PGHOST PGPASSWORD PGPORT PGUSER POSTGRES_DB POSTGRES_PASSWORD POSTGRES_USER SMTP_HOST SMTP_PORT
    OTEL_SERVICE_NAME OTEL_SERVICE_VERSION OTEL_EXPORTER_OTLP_ENDPOINT OTEL_LOG_LEVEL RUST_LOG DD_VERSION DD_LOG_LEVEL SENTRY_DSN
    SENTRY_RELEASE VITE_PUBLIC_URL NEXT_PUBLIC_URL BASE_URL API_URL APP_URL SITE_NAME CACHE_DIR OUT_DIR DIST BUILD_DIR TEMP TMP
    JAVA_HOME GOPATH PYTHONPATH SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE AWS_REGION AWS_PROFILE PANEL_TOKEN PANEL_URL
    HCLOUD_TOKEN PVE_SECRET PVE_URL MAIL_HOST MAIL_PORT LD_LIBRARY_PATH LD_PRELOAD MALLOC_ARENA_MAX UV_THREADPOOL_SIZE VITEST
    VITEST_MODE VITEST_POOL_ID VITEST_WORKER_ID TEST DEV PROD MODE SSR`,
};

test.each(Object.entries(usual))('no usual name resembles a setting: %s', (_, names) => {
  const environment = Object.fromEntries(names.split(/\s+/).map((name) => [name, 'x']));
  expect(findMisspeltSettings(environment)).toEqual([]);
});

test('no variable of this machine resembles a setting', () => {
  expect(findMisspeltSettings(process.env)).toEqual([]);
});
