<?php

declare(strict_types=1);

/** A call that failed. The message is for staff; customers see FOR_CUSTOMERS. */
final class HostingApiError extends RuntimeException
{
    public const FOR_CUSTOMERS = 'The API key cannot be changed at the moment. Please try again later or contact support.';

    /** With $isFinal, further calls would fail for the same reason. */
    public function __construct(string $message, int $status = 0, public readonly bool $isFinal = false)
    {
        parent::__construct($message, $status);
    }
}

/** Calls the operators' port of hosting-api. Needs PHP 8.2 and its curl extension. */
final class HostingApi
{
    private const SCOPES = [
        'game' => ['game-power:read_write', 'game-console:read_write', 'game-logs:read'],
        'vps' => ['vps-power:read_write'],
    ];

    /** When a port last failed to answer: a billing run must not wait again for each of its services. */
    private static array $silentSince = [];

    private string $url;
    private string $token;
    private CurlHandle $curl;
    private float $startedAt;
    private ?array $me = null;

    /** With $waits, calls wait while the port limits them, as a cron job can. A page cannot. */
    public function __construct(string $url, #[\SensitiveParameter] string $token, private bool $waits = PHP_SAPI === 'cli')
    {
        $this->url = rtrim(trim($url), '/');
        $this->token = trim($token);
        $hosts = 'https://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)|http://(127\.0\.0\.1|\[::1\]|localhost)';
        if (!preg_match("~^($hosts)(:\d{1,5})?\z~i", $this->url)) {
            $form = 'https://HOST:PORT, or http://127.0.0.1:PORT on the same machine';
            throw new HostingApiError("The address of the operators' port must be $form", 0, true);
        }
        if (!preg_match('~^ho_\w{20,100}\z~', $this->token)) {
            throw new HostingApiError('The token must begin with ho_: `operators create` prints it; API keys are refused', 0, true);
        }
        $this->curl = curl_init();
        $this->startedAt = microtime(true);
    }

    public function whoami(): array
    {
        return $this->me ??= $this->call('GET', '/v1/operator');
    }

    public function setSuspended(string $server, bool $isSuspended): void
    {
        $this->call('POST', self::pathOf($server) . ($isSuspended ? '/suspend' : '/resume'));
    }

    /** Takes a server from every key, and removes it. */
    public function remove(string $server): void
    {
        $this->orNull(fn() => $this->call('DELETE', self::pathOf($server)));
    }

    /**
     * Creates the key of a service, or replaces its secret: at once if it leaked, else the old secret works for another
     * hour. Returns the text of the key, which must not be stored.
     */
    public function newKey(string $service, string $server, bool $hasLeaked = false): string
    {
        $label = "service $service";
        $path = '/v1/operator/keys/' . rawurlencode($label);
        $keys = $this->call('GET', '/v1/operator/keys?server=' . rawurlencode($server))['keys'];
        $isActive = fn(array $key) => $key['label'] === $label && $key['revoked_at'] === null
            && strtotime($key['expires_at'] ?? 'tomorrow') > time();
        $body = ['servers' => [$server], 'scopes' => self::SCOPES[strstr($server, ':', true)]];
        $text = array_filter($keys, $isActive) === [] ? $this->call('PUT', $path, $body)['key'] : null;
        return $text ?? $this->call('POST', "$path/rotate", ['overlap_seconds' => $hasLeaked ? 0 : 3600])['key'];
    }

    /** Brings the server of a service to the wanted state, as bring() does. Returns the change, or `same`. */
    public function bringOne(array $service): string
    {
        $record = $this->orNull(fn() => $this->call('GET', self::pathOf($service['server'])));
        return $this->change($service, $record, $this->whoami()['label']);
    }

    /**
     * Makes the changes that bring the port to the wanted services, and suspends servers without a service. $wanted yields
     * arrays with service, server, provider, ref and suspended. Only servers of this token whose ID begins with $prefix are
     * suspended: none if they are more than 5 and more than a tenth, or if $wanted is empty, unless $allowMany is set.
     * Returns the number of services by change, `notes` for staff, and `complete`: false if a later run must do the rest.
     */
    public function bring(iterable $wanted, string $prefix, bool $allowMany = false): array
    {
        $report = array_fill_keys(['created', 'changed', 'suspended', 'resumed', 'same'], 0) + ['complete' => false, 'notes' => []];
        try {
            $prefix === '' && throw new HostingApiError('the prefix of the server IDs is empty');
            ['label' => $label] = $this->whoami();
            // Before the services: a server that is registered from here on must not seem to have none.
            $services = $records = [];
            for ($after = ''; $after !== null; $after = $page['next']) {
                $page = $this->call('GET', '/v1/operator/servers?after=' . rawurlencode($after));
                $records += array_column($page['servers'], null, 'server');
            }
            // An exception of the list ends the run before the first change.
            foreach ($wanted as $service) {
                isset($services[$service['server']]) && throw new HostingApiError("two services have {$service['server']}");
                $services[$service['server']] = $service;
            }
            foreach ($services as $server => $service) {
                try {
                    $report[$this->change($service, $records[$server] ?? null, $label)] += 1;
                } catch (HostingApiError $error) {
                    $report['notes'][] = "service {$service['service']}, $server: {$error->getMessage()}";
                    $error->isFinal && throw new HostingApiError('the run has ended; the next run does the rest');
                }
            }
            $isOwn = fn(array $record) => $record['made_by'] === $label
                && str_starts_with(explode(':', $record['server'], 2)[1], $prefix);
            $own = array_filter($records, $isOwn);
            $rest = array_filter(array_diff_key($own, $services), fn(array $record) => $record['suspended_at'] === null);
            [$count, $all] = [count($rest), count($own)];
            if (!$allowMany && ($services === [] ? $count > 0 : $count > 5 && $count > $all / 10)) {
                throw new HostingApiError("$count of $all servers have no service, and none is suspended: check the services");
            }
            foreach (array_keys($rest) as $server) {
                $this->orNull(fn() => $this->setSuspended($server, true));
                $report['suspended'] += 1;
                $report['notes'][] = "$server: suspended, as it has no service";
            }
            $report['complete'] = true;
        } catch (HostingApiError $error) {
            $report['notes'][] = $error->getMessage();
        }
        return $report;
    }

    private static function pathOf(string $server): string
    {
        $isValid = preg_match('~^(game|vps):[A-Za-z0-9][\w.-]{0,127}\z~', $server);
        return $isValid ? "/v1/operator/servers/$server" : throw new HostingApiError('The server must be game:ID or vps:ID');
    }

    /** Makes the calls that bring a server from its record, if any, to the wanted state. */
    private function change(array $service, ?array $record, string $label): string
    {
        ['server' => $server, 'provider' => $provider, 'ref' => $ref, 'suspended' => $suspended] = $service;
        $path = self::pathOf($server);
        $isMine = $record !== null && $record['made_by'] === $label;
        // The port stores the UUID of a panel as its first 8 digits.
        $short = fn(string $id) => preg_match('~^[0-9a-f]{8}(-[0-9a-f-]{27})?\z~i', $id) ? strtolower(substr($id, 0, 8)) : $id;
        $isSame = $record !== null && $record['provider'] === $provider && $short($record['ref']) === $short($ref);
        $body = ['provider' => $provider, 'ref' => $isSame ? $record['ref'] : $ref];
        if ($record === null) {
            $this->call('PUT', $path, $body + ['suspended' => $suspended]);
            return 'created';
        }
        $done = 'same';
        if (!$isSame || !$isMine) {
            // A record that staff made is taken over if it is the same, and never replaced.
            $body += ['log_file' => $record['log_file'], 'replace' => $isMine, 'shared' => $isSame && $record['shared']];
            $this->call('PUT', $path, array_filter($body, fn(mixed $value) => !in_array($value, [null, false], true)));
            $done = 'changed';
        }
        if (($record['suspended_at'] !== null) !== $suspended) {
            $this->setSuspended($server, $suspended);
            $done = $suspended ? 'suspended' : 'resumed';
        }
        return $done;
    }

    /** Returns null if the port does not have the resource. */
    private function orNull(callable $call): ?array
    {
        try {
            return $call();
        } catch (HostingApiError $error) {
            return $error->getCode() === 404 && !$error->isFinal ? null : throw $error;
        }
    }

    private function call(string $method, string $path, ?array $body = null): array
    {
        if (time() - (self::$silentSince[$this->url] ?? 0) < 60) {
            throw new HostingApiError("The operators' port failed less than a minute ago", 0, true);
        }
        $tries = 0;
        do {
            [$status, $answer, $pause] = $this->send($method, $path, $body);
        } while ($status === 429 && $this->waits && ++$tries < 10 && sleep($pause) === 0);
        if ($status === 0 || $status >= 500 || !is_bool($answer['success'] ?? null)) {
            self::$silentSince[$this->url] = time();
            $reason = $status === 0 ? curl_strerror(curl_errno($this->curl)) : "status $status, not an answer of the port";
            throw new HostingApiError("The operators' port does not answer ($reason)", $status, true);
        }
        if ($answer['success']) {
            return $answer;
        }
        if ($status === 404 && $path === '/v1/operator') {
            throw new HostingApiError("$this->url is not the operators' port; it may be the public port", 404, true);
        }
        // A wrong address must not pass for a server that is gone.
        $status === 404 && $this->whoami();
        // The reason may be shown in a page.
        $reason = substr(preg_replace('~[^\x20-\x7e]|[<>&]~', ' ', (string) ($answer['message'] ?? '')), 0, 300);
        throw new HostingApiError("$reason (status $status)", $status, $status === 401);
    }

    /** Returns the status (0 without an answer), the JSON of the answer, and the seconds to wait before a repetition. */
    private function send(string $method, string $path, ?array $body): array
    {
        // A page waits 8 s for all its calls, a cron job for each call.
        $waited = $this->waits ? 0 : microtime(true) - $this->startedAt;
        curl_reset($this->curl);
        curl_setopt_array($this->curl, [
            CURLOPT_URL => $this->url . $path,
            CURLOPT_HTTPHEADER => ["Authorization: Bearer $this->token", 'Content-Type: application/json'],
            CURLOPT_CONNECTTIMEOUT => 3,
            CURLOPT_TIMEOUT_MS => max(1, (int) (8000 - 1000 * $waited)),
            CURLOPT_PROXY => '',
            // curl repeats a call if an old connection has ended, but a secret must not be replaced twice.
            CURLOPT_FRESH_CONNECT => str_ends_with($path, '/rotate'),
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_MAXFILESIZE => 8_000_000,
        ]);
        if ($method !== 'GET') {
            curl_setopt($this->curl, CURLOPT_POSTFIELDS, $body === null ? '' : json_encode($body, JSON_THROW_ON_ERROR));
            curl_setopt($this->curl, CURLOPT_CUSTOMREQUEST, $method);
        }
        $text = curl_exec($this->curl);
        $status = $text === false ? 0 : curl_getinfo($this->curl, CURLINFO_RESPONSE_CODE);
        $pause = max(1, min(60, curl_getinfo($this->curl, CURLINFO_RETRY_AFTER)));
        return [$status, json_decode((string) $text, true), $pause];
    }
}
