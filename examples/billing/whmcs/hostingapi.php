<?php

// The provisioning module of WHMCS, for products without another module: modules/servers/hostingapi/hostingapi.php
defined('WHMCS') || exit;
require_once __DIR__ . '/HostingApi.php';

use WHMCS\Database\Capsule;

function hostingapi_TestConnection(array $params): array
{
    try {
        $names = ['hostname', 'port', 'secure', 'username', 'password'];
        hostingapi_connect(array_combine($names, array_map(fn($name) => $params["server$name"], $names)))->whoami();
        return ['success' => true, 'error' => ''];
    } catch (HostingApiError $error) {
        return ['success' => false, 'error' => $error->getMessage()];
    }
}

function hostingapi_CreateAccount(array $params): string
{
    return hostingapi_run($params, fn(HostingApi $api, array $service) => $api->bringOne($service));
}

function hostingapi_SuspendAccount(array $params): string
{
    return hostingapi_run($params, fn(HostingApi $api, array $service) => $api->setSuspended($service['server'], true));
}

function hostingapi_UnsuspendAccount(array $params): string
{
    return hostingapi_run($params, fn(HostingApi $api, array $service) => $api->setSuspended($service['server'], false));
}

function hostingapi_TerminateAccount(array $params): string
{
    return hostingapi_run($params, fn(HostingApi $api, array $service) => $api->remove($service['server']));
}

/** Runs a call for a service. Returns `success`, or the reason for staff. */
function hostingapi_run(array $params, callable $work): string
{
    $name = "service {$params['serviceid']}";
    try {
        $service = hostingapi_services((int) $params['serviceid'])[0] ?? null;
        $service ?? throw new HostingApiError('enter its provider and ref on its page in the admin area');
        $name .= ", {$service['server']}";
        $work(hostingapi_connect(hostingapi_server()), $service);
        return 'success';
    } catch (HostingApiError $error) {
        return "$name: {$error->getMessage()}";
    }
}

/** Returns the server that staff added in WHMCS: address, prefix of the IDs (user name) and token (password). */
function hostingapi_server(): array
{
    $query = 'SELECT hostname, port, secure, username, password FROM tblservers WHERE type = ? AND disabled = 0';
    $server = Capsule::select("$query ORDER BY id LIMIT 1", ['hostingapi'])[0] ?? null;
    $server ?? throw new HostingApiError('add a server with the module Hostingapi in the settings of WHMCS');
    $token = localAPI('DecryptPassword', ['password2' => $server->password])['password'];
    return ['password' => $token] + (array) $server;
}

function hostingapi_connect(array $server): HostingApi
{
    $isPrefix = preg_match('~^[A-Za-z0-9][\w.-]*\z~', $server['username']);
    $isPrefix || throw new HostingApiError('Enter the prefix of the server IDs as user name, for example mc-');
    $port = $server['port'] ? ":{$server['port']}" : '';
    return new HostingApi(($server['secure'] ? 'https' : 'http') . "://{$server['hostname']}$port", $server['password']);
}

/**
 * Returns the active and suspended services with a server, or one service in any status. Provider and ref come from a
 * table that only staff write: customers fill in custom fields and configurable options.
 */
function hostingapi_services(?int $id = null): array
{
    if (!Capsule::schema()->hasTable('mod_hostingapi')) {
        Capsule::statement('CREATE TABLE mod_hostingapi (service INT PRIMARY KEY, server VARCHAR(133) NOT NULL UNIQUE,'
            . ' provider VARCHAR(100) NOT NULL, ref VARCHAR(255) NOT NULL)');
    }
    $query = 'SELECT m.*, h.domainstatus AS status FROM mod_hostingapi m JOIN tblhosting h ON h.id = m.service';
    $isBooked = "h.domainstatus IN ('Active', 'Suspended')";
    $rows = Capsule::select("$query WHERE " . ($id === null ? $isBooked : 'h.id = ?'), array_filter([$id]));
    return array_map(fn(object $row) => (array) $row + ['suspended' => $row->status === 'Suspended'], $rows);
}
