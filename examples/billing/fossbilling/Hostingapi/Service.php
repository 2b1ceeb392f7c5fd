<?php

namespace Box\Mod\Hostingapi;
require_once __DIR__ . '/HostingApi.php';

/** Supplies the orders with a server, and calls the port: as a hint at events, and for all orders at each cron run. */
class Service implements \FOSSBilling\Interfaces\WidgetProviderInterface
{
    protected ?\Pimple\Container $di = null;

    public function setDi(\Pimple\Container $di): void
    {
        $this->di = $di;
    }

    public function getModulePermissions(): array
    {
        return ['manage_settings' => []];
    }

    public function install(): void
    {
        $this->di['dbal']->executeStatement('CREATE TABLE IF NOT EXISTS mod_hostingapi (service INT PRIMARY KEY,'
            . ' server VARCHAR(133) NOT NULL UNIQUE, provider VARCHAR(100) NOT NULL, ref VARCHAR(255) NOT NULL)');
    }

    public function getWidgets(): array
    {
        return [['slot' => 'client.order.manage.service.after', 'template' => 'mod_hostingapi_key']];
    }

    public static function onAfterAdminOrderActivate(\Box_Event $event): void
    {
        $service = $event->getDi()['mod_service']('hostingapi');
        $orders = $service->readOrders((int) $event->getParameters()['id']);
        $service->run(fn(\HostingApi $api) => array_map($api->bringOne(...), $orders));
    }

    public static function onAfterAdminOrderSuspend(\Box_Event $event): void
    {
        self::onAfterAdminOrderActivate($event);
    }

    public static function onAfterAdminOrderUnsuspend(\Box_Event $event): void
    {
        self::onAfterAdminOrderActivate($event);
    }

    public static function onAfterAdminCronRun(\Box_Event $event): void
    {
        $service = $event->getDi()['mod_service']('hostingapi');
        $service->run(function (\HostingApi $api, string $prefix) use ($service): void {
            array_map($service->warn(...), $api->bring($service->readOrders(), $prefix)['notes']);
        });
    }

    /** Returns the orders with a server, or one of them; provider and ref come from a table that only staff write. */
    public function readOrders(?int $id = null): array
    {
        $query = 'SELECT m.*, o.status, o.client_id FROM mod_hostingapi m JOIN client_order o ON o.id = m.service'
            . " WHERE o.status IN ('active', 'suspended')" . ($id === null ? '' : ' AND o.id = ?');
        $rows = $this->di['dbal']->fetchAllAssociative($query, $id === null ? [] : [$id]);
        return array_map(fn(array $row) => $row + ['suspended' => $row['status'] === 'suspended'], $rows);
    }

    /** Runs calls and returns their result. Failures are logged for staff; a later cron run repairs them. */
    public function run(callable $work): mixed
    {
        $settings = $this->di['mod_config']('hostingapi') + ['url' => '', 'token' => '', 'prefix' => ''];
        try {
            return $work(new \HostingApi($settings['url'], $settings['token']), $settings['prefix']);
        } catch (\HostingApiError $error) {
            return $this->warn($error->getMessage());
        }
    }

    public function warn(string $note): void
    {
        $this->di['logger']->warning('Hosting API: %s', $note);
    }
}
