package main

import (
	"bytes"
	"check/hosting"
	"context"
	"fmt"
	"net/http"
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

func main() {
	ctx, yes := context.Background(), true
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
		return nil
	}
	client := must(hosting.NewClientWithResponses(os.Getenv("API"), hosting.WithRequestEditorFn(authorize)))
	price := must(client.GetPlansWithResponse(ctx)).JSON200.Services["web"].Plans[0].Price
	expect(price == 2.49 && int64(price*100) == 249, "price")
	search := must(client.GetKnowledgeBaseSearchWithResponse(ctx)).JSON200
	expect(strings.Contains(search.ProcessTerm, "normalize"), "search")
	media := must(client.GetMediaWithResponse(ctx, "covers/cover.svg", nil)).Body
	expect(bytes.HasPrefix(media, []byte("<svg")), "media")
	servers := must(client.ListServersWithResponse(ctx, nil)).JSON200.Servers
	expect(servers[0].Kind == hosting.Game, "kind")
	expect(must(client.GetKeyWithResponse(ctx)).JSON200.Limits.Power.Burst > 0, "limits")
	id := fmt.Sprintf("restart-%d", time.Now().UnixNano())
	once := hosting.RestartGameServerParams{IdempotencyKey: &id, XRequestId: &id}
	expect(must(client.RestartGameServerWithResponse(ctx, "demo", &once)).JSON200.Success, "restart")
	for must(client.GetGameServerStateWithResponse(ctx, "demo")).JSON200.State != hosting.PowerStateRunning {
		time.Sleep(200 * time.Millisecond)
	}
	action := must(client.GetActionWithResponse(ctx, id)).JSON200
	expect(action.Status == hosting.ActionStatusAccepted, "status")
	kill := hosting.KillGameServerParams{Force: &yes}
	killed := must(client.KillGameServerWithBodyWithResponse(ctx, "demo", &kill, "application/json", nil))
	expect(killed.JSON200.Success, "kill")
	expect(must(client.StartGameServerWithResponse(ctx, "other", nil)).JSON403.Error == "forbidden", "error")
	missing := must(client.GetBlogArticleWithResponse(ctx, &hosting.GetBlogArticleParams{Path: "/blog/none/none"}))
	expect(missing.StatusCode() == 404 && string(missing.Body) == "article not found\n", "text")
}
