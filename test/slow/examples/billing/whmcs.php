<?php

// Stands in for WHMCS: `php whmcs.php FOLDER CALLS` runs the calls of a JSON file, and prints their results.

namespace WHMCS\Database {
    /** Illuminate's Capsule on SQLite. */
    final class Capsule
    {
        public static \PDO $database;

        public static function select(string $query, array $values = []): array
        {
            $statement = self::$database->prepare($query);
            $statement->execute($values);
            return $statement->fetchAll(\PDO::FETCH_OBJ);
        }

        public static function statement(string $query, array $values = []): bool
        {
            return self::$database->prepare($query)->execute($values);
        }

        public static function schema(): self
        {
            return new self();
        }

        public function hasTable(string $name): bool
        {
            return self::select('SELECT name FROM sqlite_master WHERE name = ?', [$name]) !== [];
        }
    }
}

namespace {
    use WHMCS\Database\Capsule;

    const WHMCS = true;
    define('ROOTDIR', $argv[1]);
    Capsule::$database = new PDO('sqlite:' . ROOTDIR . '/whmcs.sqlite');
    foreach ([
        'tblservers (id INTEGER PRIMARY KEY, type, hostname, port, secure, username, password, disabled DEFAULT 0)',
        'tblhosting (id INTEGER PRIMARY KEY, domainstatus)',
        'tblactivitylog (description)',
    ] as $table) {
        Capsule::statement("CREATE TABLE IF NOT EXISTS $table");
    }
    $hooks = [];

    function add_hook(string $name, int $priority, callable $work): void
    {
        $GLOBALS['hooks'][$name][] = $work;
    }

    function logActivity(string $text): void
    {
        Capsule::statement('INSERT INTO tblactivitylog VALUES (?)', [$text]);
    }

    function localAPI(string $command, array $values): array
    {
        return $command === 'DecryptPassword' ? ['password' => base64_decode($values['password2'])] : [];
    }

    function generate_token(string $type): string
    {
        return 'form-token';
    }

    function check_token(string $type): void
    {
        if (($_POST['token'] ?? '') !== 'form-token') {
            throw new RuntimeException('forged form');
        }
    }

    require ROOTDIR . '/modules/servers/hostingapi/hostingapi.php';
    require ROOTDIR . '/includes/hooks/hostingapi.php';

    /** Runs one call: a query, a function of the module, the customer's page, or a hook. */
    function run(string $name, array $values): mixed
    {
        switch ($name) {
            case 'query':
                return Capsule::select(...$values);
            case 'page':
                [$id, $_POST] = $values;
                $_SERVER['REQUEST_METHOD'] = $_POST === [] ? 'GET' : 'POST';
                return $GLOBALS['hooks']['ClientAreaProductDetailsOutput'][0](['service' => (object) ['id' => $id]]);
            case 'bring':
                return hostingapi_connect(hostingapi_server())->bring(...$values);
            case 'brings':
                // A list that fails after its first services.
                $list = (function () use ($values) {
                    yield from $values[0];
                    throw new DomainException('the database is gone');
                })();
                return run('bring', [$list, ...array_slice($values, 1)]);
            default:
                $work = function_exists($name) ? [$name] : $GLOBALS['hooks'][$name];
                return array_map(fn(callable $each) => $each(...$values), $work)[0];
        }
    }

    foreach (json_decode(file_get_contents($argv[2]), true) as [$name, $values]) {
        try {
            $results[] = run($name, $values);
        } catch (DomainException | RuntimeException $error) {
            $results[] = get_class($error) . ': ' . $error->getMessage();
        }
    }
    echo json_encode($results, JSON_THROW_ON_ERROR);
}
