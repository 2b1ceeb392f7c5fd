<?php

namespace Box\Mod\Hostingapi\Api;

class Client extends \FOSSBilling\Api\AbstractApi
{
    /** Returns a new key for an active order of the client. Its text is stored nowhere. */
    public function new_key($data): string
    {
        $client = $this->getIdentity();
        $clientId = method_exists($client, 'getId') ? $client->getId() : $client->id;
        $order = $this->getService()->readOrders((int) ($data['order_id'] ?? 0))[0] ?? null;
        if ($order === null || $order['status'] !== 'active' || (int) $order['client_id'] !== (int) $clientId) {
            throw new \FOSSBilling\InformationException('Order not found');
        }
        $call = [(string) $order['service'], $order['server'], !empty($data['leaked'])];
        return $this->getService()->run(fn(\HostingApi $api) => $api->newKey(...$call))
            ?? throw new \FOSSBilling\InformationException(\HostingApiError::FOR_CUSTOMERS);
    }
}
