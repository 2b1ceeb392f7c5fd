<?php

// The hooks of WHMCS, also for products with the module of a panel: includes/hooks/hostingapi.php
defined('WHMCS') || exit;
require_once ROOTDIR . '/modules/servers/hostingapi/hostingapi.php';

use WHMCS\Database\Capsule;

foreach (['Create', 'Suspend', 'Unsuspend', 'Terminate'] as $event) {
    add_hook("AfterModule$event", 1, function (array $vars) use ($event): void {
        $params = $vars['params'];
        if ($params['moduletype'] !== 'hostingapi' && hostingapi_services((int) $params['serviceid']) !== []) {
            $result = "hostingapi_{$event}Account"($params);
            $result === 'success' || logActivity("Hosting API, $event: $result");
        }
    });
}

// Events are lost: a deleted client, an edited status, a port that is down. So all services are compared once a day.
add_hook('DailyCronJob', 1, function (): void {
    try {
        $server = hostingapi_server();
        ['notes' => $notes] = $report = hostingapi_connect($server)->bring(hostingapi_services(), $server['username']);
        array_unshift($notes, json_encode(array_diff_key($report, ['notes' => []])));
    } catch (HostingApiError $error) {
        $notes = [$error->getMessage()];
    }
    array_map(fn(string $note) => logActivity("Hosting API: $note"), $notes);
});

// The fields of a service in the admin area. An empty ID becomes game:, the prefix and the number of the service.
add_hook('AdminClientServicesTabFields', 1, function (array $vars): array {
    $service = hostingapi_services((int) $vars['id'])[0] ?? [];
    $fields = [];
    foreach (['provider', 'ref', 'server'] as $name) {
        $value = htmlspecialchars($service[$name] ?? '', ENT_QUOTES);
        $fields["Hosting API: $name"] = "<input name=\"hostingapi_$name\" value=\"$value\" class=\"form-control\">";
    }
    return $fields;
});
add_hook('AdminClientServicesTabFieldsSave', 1, function (array $vars): void {
    $id = (int) $vars['id'];
    [$provider, $ref, $server] = array_map(fn($name) => trim($vars["hostingapi_$name"] ?? ''), ['provider', 'ref', 'server']);
    try {
        hostingapi_services();
        // The form of an addon runs this hook without the fields.
        isset($vars['hostingapi_ref']) && Capsule::statement('DELETE FROM mod_hostingapi WHERE service = ?', [$id]);
        $insert = 'INSERT INTO mod_hostingapi (service, server, provider, ref) VALUES (?, ?, ?, ?)';
        $server = $server !== '' || $ref === '' ? $server : 'game:' . hostingapi_server()['username'] . $id;
        $ref === '' || Capsule::statement($insert, [$id, $server, $provider, $ref]);
    } catch (Throwable) {
        logActivity("Hosting API: service $id has no server now: another service has the ID, or the port is not set up");
    }
});

// The form of the customer. The text of a key is shown once and stored nowhere.
add_hook('ClientAreaProductDetailsOutput', 1, function (array $vars): string {
    $service = hostingapi_services((int) $vars['service']->id)[0] ?? null;
    if ($service === null || $service['status'] !== 'Active') {
        return '';
    }
    $output = '';
    if ($_SERVER['REQUEST_METHOD'] === 'POST' && isset($_POST['hostingapi'])) {
        check_token('WHMCS.default');
        $result = hostingapi_run(['serviceid' => $service['service']], function (HostingApi $api) use ($service, &$output): void {
            $text = $api->newKey((string) $service['service'], $service['server'], $_POST['hostingapi'] === 'leaked');
            $output = "<p>Your API key, shown only now: <code>$text</code></p>";
        });
        logActivity('Hosting API, new key: ' . ($result === 'success' ? "service {$service['service']}" : $result));
        $output = $output ?: '<p>' . HostingApiError::FOR_CUSTOMERS . '</p>';
    }
    return $output . '<form method="post"><input type="hidden" name="token" value="' . generate_token('plain') . '">'
        . '<button name="hostingapi" value="new">New API key (the old key works for another hour)</button> '
        . '<button name="hostingapi" value="leaked">My API key leaked (the old key ends now)</button></form>';
});
