<?php

// Stands in for FOSSBilling: `php fossbilling.php FOLDER CALLS` runs the calls of a JSON file, and prints their results.

namespace FOSSBilling {
    final class InformationException extends \Exception
    {
    }
}

namespace FOSSBilling\Interfaces {
    interface WidgetProviderInterface
    {
        public function getWidgets(): array;
    }
}

namespace Pimple {
    final class Container extends \ArrayObject
    {
    }
}

namespace FOSSBilling\Api {
    abstract class AbstractApi
    {
        public function __construct(private \Pimple\Container $di, private ?object $identity)
        {
        }

        protected function checkPermissions(string $module, string $key): void
        {
            $this->identity === null || throw new \FOSSBilling\InformationException('You do not have permission');
        }

        public function getDi(): \Pimple\Container
        {
            return $this->di;
        }

        public function getService(): object
        {
            return $this->di['mod_service']('hostingapi');
        }

        public function getIdentity(): object
        {
            return $this->identity;
        }
    }
}

namespace {
    final class Box_Event
    {
        public function __construct(private \Pimple\Container $di, private array $parameters)
        {
        }

        public function getDi(): \Pimple\Container
        {
            return $this->di;
        }

        public function getParameters(): array
        {
            return $this->parameters;
        }
    }

    /** Doctrine's connection on SQLite. */
    final class Connection
    {
        private PDO $database;

        public function __construct(string $file)
        {
            $this->database = new PDO("sqlite:$file");
        }

        public function fetchAllAssociative(string $query, array $values = []): array
        {
            $statement = $this->database->prepare($query);
            $statement->execute($values);
            return $statement->fetchAll(PDO::FETCH_ASSOC);
        }

        public function executeStatement(string $query, array $values = []): int
        {
            $statement = $this->database->prepare($query);
            $statement->execute($values);
            return $statement->rowCount();
        }
    }

    final class Logger
    {
        public array $lines = [];

        public function warning(string $format, string ...$values): void
        {
            $this->lines[] = vsprintf($format, $values);
        }
    }

    foreach (['Service', 'Api/Admin', 'Api/Client'] as $file) {
        require "$argv[1]/modules/Hostingapi/$file.php";
    }
    $di = new \Pimple\Container([
        'dbal' => new Connection("$argv[1]/fossbilling.sqlite"),
        'logger' => new Logger(),
        'mod_config' => fn(string $name) => json_decode(file_get_contents("$argv[1]/config.json"), true),
    ]);
    $service = new \Box\Mod\Hostingapi\Service();
    $service->setDi($di);
    $di['mod_service'] = fn(string $name) => $service;
    $service->install();
    $di['dbal']->executeStatement(
        'CREATE TABLE IF NOT EXISTS client_order (id INTEGER PRIMARY KEY, client_id, status, config)',
    );
    foreach (json_decode(file_get_contents($argv[2]), true) as [$name, $values]) {
        try {
            $results[] = match (true) {
                $name === 'widgets' => array_map(
                    fn(array $widget) => is_file("$argv[1]/modules/Hostingapi/templates/client/widgets/{$widget['template']}.html.twig"),
                    $service->getWidgets(),
                ),
                $name === 'query' => $di['dbal']->fetchAllAssociative(...$values),
                $name === 'new_key' => (new \Box\Mod\Hostingapi\Api\Client($di, (object) ['id' => array_shift($values)]))->new_key(...$values),
                $name === 'save_server' => (new \Box\Mod\Hostingapi\Api\Admin($di, null))->save_server(...$values),
                default => [\Box\Mod\Hostingapi\Service::class, $name](new Box_Event($di, ['id' => $values[0] ?? null])),
            };
        } catch (\FOSSBilling\InformationException | PDOException $error) {
            $results[] = $error->getMessage();
        }
    }
    echo json_encode([$results, $di['logger']->lines], JSON_THROW_ON_ERROR);
}
