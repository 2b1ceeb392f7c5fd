package main

import (
	"check/hosting"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func expect(holds bool, what string) {
	if !holds {
		panic(what)
	}
}

func must[Value any](value Value, err error) Value {
	expect(err == nil, fmt.Sprint(err))
	return value
}

type key struct{}

func (key) ApiKey(context.Context, hosting.OperationName) (hosting.ApiKey, error) {
	return hosting.ApiKey{Token: os.Getenv("KEY")}, nil
}

func main() {
	ctx := context.Background()
	client := must(hosting.NewClient(os.Getenv("API"), key{}))
	plans := must(client.GetPlans(ctx)).(*hosting.PlanCatalogResponseHeaders).Response
	expect(plans.Services["web"].Plans[0].Price == 2.49, "price")
	search := must(client.GetKnowledgeBaseSearch(ctx)).(*hosting.KnowledgeBaseSearchHeaders).Response
	expect(strings.Contains(search.ProcessTerm, "normalize"), "search")
	media := must(client.GetMedia(ctx, hosting.GetMediaParams{Path: "covers/cover.svg"})).(*hosting.GetMediaOKHeaders)
	expect(strings.HasPrefix(string(must(io.ReadAll(media.Response.Data))), "<svg"), "media")
	servers := must(client.ListServers(ctx, hosting.ListServersParams{})).(*hosting.HostingServersResponseHeaders)
	expect(servers.Response.Servers[0].Kind == hosting.ServerKindGame, "kind")
	id := hosting.NewOptString(fmt.Sprintf("restart-%d", time.Now().UnixNano()))
	once := hosting.RestartGameServerParams{ServerID: "demo", IdempotencyKey: id, XRequestID: id}
	restarted := must(client.RestartGameServer(ctx, once)).(*hosting.GamePowerResponseHeaders).Response
	expect(restarted.Action == hosting.GamePowerActionRestart, "restart")
	for state := hosting.PowerStateUnknown; state != hosting.PowerStateRunning; time.Sleep(200 * time.Millisecond) {
		params := hosting.GetGameServerStateParams{ServerID: "demo"}
		state = must(client.GetGameServerState(ctx, params)).(*hosting.GameStateResponseHeaders).Response.State
	}
	action := must(client.GetAction(ctx, hosting.GetActionParams{RequestID: id.Value})).(*hosting.HostingActionResponseHeaders)
	expect(action.Response.Status == hosting.ActionStatusAccepted, "status")
	kill := hosting.KillGameServerParams{ServerID: "demo", Force: hosting.NewOptBool(true)}
	killed := must(client.KillGameServer(ctx, hosting.OptForceRequest{}, kill)).(*hosting.GamePowerResponseHeaders)
	expect(killed.Response.Success, "kill")
	refused := must(client.StartGameServer(ctx, hosting.StartGameServerParams{ServerID: "other"}))
	expect(refused.(*hosting.StartGameServerForbidden).Response.Error == "forbidden", "error")
	missing := must(client.GetBlogArticle(ctx, hosting.GetBlogArticleParams{Path: "/blog/none/none"}))
	text := must(io.ReadAll(missing.(*hosting.GetBlogArticleNotFoundHeaders).Response.Data))
	expect(string(text) == "article not found\n", "text")
}
