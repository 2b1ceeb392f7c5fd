import os
from time import sleep
from uuid import uuid4

from hosting_api_client import AuthenticatedClient
from hosting_api_client.api.activity import get_action
from hosting_api_client.api.blog import get_blog_article
from hosting_api_client.api.game_servers import (
    get_game_server_state,
    kill_game_server,
    restart_game_server,
    start_game_server,
)
from hosting_api_client.api.keys import get_key, list_servers
from hosting_api_client.api.knowledge_base import get_knowledge_base_search
from hosting_api_client.api.media import get_media
from hosting_api_client.api.plans import get_plans
from hosting_api_client.models import (
    ActionStatus,
    ErrorResponse,
    GamePowerResponse,
    GameStateResponse,
    HostingActionResponse,
    HostingServersResponse,
    KeyResponse,
    KnowledgeBaseSearch,
    PlanCatalogResponse,
    PowerState,
    ServerKind,
)
from hosting_api_client.types import File

client = AuthenticatedClient(os.environ["API"], token=os.environ["KEY"])
plans = get_plans.sync(client=client)
assert isinstance(plans, PlanCatalogResponse) and plans.services["web"].plans[0].price == 2.49
search = get_knowledge_base_search.sync(client=client)
assert isinstance(search, KnowledgeBaseSearch) and "normalize" in search.process_term
media = get_media.sync("covers/cover.svg", client=client)
assert isinstance(media, File) and media.payload.read().startswith(b"<svg")
servers = list_servers.sync(client=client)
assert isinstance(servers, HostingServersResponse) and servers.servers[0].kind == ServerKind.GAME
key = get_key.sync(client=client)
assert isinstance(key, KeyResponse) and key.limits.power.burst > 0
id = str(uuid4())
restarted = restart_game_server.sync("demo", client=client, idempotency_key=id, x_request_id=id)
assert isinstance(restarted, GamePowerResponse)
while True:
    state = get_game_server_state.sync("demo", client=client)
    if isinstance(state, GameStateResponse) and state.state == PowerState.RUNNING:
        break
    sleep(0.2)
action = get_action.sync(id, client=client)
assert isinstance(action, HostingActionResponse) and action.status == ActionStatus.ACCEPTED
assert isinstance(kill_game_server.sync("demo", client=client, force=True), GamePowerResponse)
refused = start_game_server.sync_detailed("other", client=client)
assert refused.status_code == 403 and isinstance(refused.parsed, ErrorResponse) and refused.parsed.error == "forbidden"
missing = get_blog_article.sync_detailed(client=client, path="/blog/none/none")
assert missing.status_code == 404 and missing.parsed == "article not found\n"
