require 'json'
require 'openapi_client'
require 'securerandom'
include OpenapiClient

def expect(holds, what)
  raise what unless holds
end

# Returns the error that a request ends with.
def refusal
  yield
  raise 'not refused'
rescue ApiError => error
  error
end

OpenapiClient.configure do |config|
  config.scheme, config.host = ENV['API'].split('://')
  config.access_token = ENV['KEY']
end
price = PlansApi.new.get_plans.services['web'].plans[0].price
expect(price == 2.49 && (price * 100).round == 249, 'price')
expect(KnowledgeBaseApi.new.get_knowledge_base_search.process_term.include?('normalize'), 'search')
expect(File.read(MediaApi.new.get_media('covers/cover.svg')).start_with?('<svg'), 'media')
expect(KeysApi.new.list_servers.servers[0].kind == ServerKind::GAME, 'kind')
expect(KeysApi.new.get_key.limits.power.burst > 0, 'limits')
servers = GameServersApi.new
id = SecureRandom.uuid
restarted = servers.restart_game_server('demo', idempotency_key: id, x_request_id: id)
expect(restarted.action == GamePowerAction::RESTART, 'restart')
sleep 0.2 until servers.get_game_server_state('demo').state == PowerState::RUNNING
expect(ActivityApi.new.get_action(id).status == ActionStatus::ACCEPTED, 'status')
expect(servers.kill_game_server('demo', force: true).success, 'kill')
refused = refusal { servers.start_game_server('other') }
error = ErrorResponse.build_from_hash(JSON.parse(refused.response_body, symbolize_names: true))
expect(refused.code == 403 && error.error == 'forbidden', 'error')
missing = refusal { BlogApi.new.get_blog_article('/blog/none/none') }
expect(missing.code == 404 && missing.response_body == "article not found\n", 'text')
