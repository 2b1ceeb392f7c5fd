<?php

namespace Box\Mod\Hostingapi\Api;

class Admin extends \FOSSBilling\Api\AbstractApi
{
    /** Sets the server of an order; an empty ref removes it from the order. */
    public function save_server($data): bool
    {
        $this->checkPermissions('hostingapi', 'manage_settings');
        $id = (int) $data['order_id'];
        $prefix = $this->getDi()['mod_config']('hostingapi')['prefix'] ?? '';
        $server = $data['server'] !== '' ? $data['server'] : "game:$prefix$id";
        $this->getDi()['dbal']->executeStatement('DELETE FROM mod_hostingapi WHERE service = ?', [$id]);
        $statement = 'INSERT INTO mod_hostingapi (service, server, provider, ref) VALUES (?, ?, ?, ?)';
        $values = [$id, $server, trim($data['provider']), trim($data['ref'])];
        return $values[3] === '' || $this->getDi()['dbal']->executeStatement($statement, $values) === 1;
    }
}
