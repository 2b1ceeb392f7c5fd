import java.nio.file.Files;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

class Check {
    static void expect(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    interface Request {
        Object send() throws ApiException;
    }

    /** Returns the error that a request ends with. */
    static ApiException refusal(Request request) {
        try {
            throw new IllegalStateException("not refused: " + request.send());
        } catch (ApiException refused) {
            return refused;
        }
    }

    public static void main(String[] args) throws Exception {
        ApiClient client = Library.connect(System.getenv("API"), System.getenv("KEY"));
        double price = new PlansApi(client).getPlans().getServices().get("web").getPlans().get(0).getPrice();
        expect(price == 2.49 && Math.round(price * 100) == 249, "price");
        KnowledgeBaseSearch search = new KnowledgeBaseApi(client).getKnowledgeBaseSearch();
        expect(search.getProcessTerm().contains("normalize"), "search");
        String media = Files.readString(new MediaApi(client).getMedia("covers/cover.svg", null).toPath());
        expect(media.startsWith("<svg"), "media");
        KeysApi keys = new KeysApi(client);
        expect(keys.listServers(null, null).getServers().get(0).getKind() == ServerKind.GAME, "kind");
        expect(keys.getKey().getLimits().getPower().getBurst() > 0, "limits");
        GameServersApi servers = new GameServersApi(client);
        String id = UUID.randomUUID().toString();
        expect(servers.restartGameServer("demo", id, id).getAction() == GamePowerAction.RESTART, "restart");
        while (servers.getGameServerState("demo").getState() != PowerState.RUNNING) Thread.sleep(200);
        expect(new ActivityApi(client).getAction(id).getStatus() == ActionStatus.ACCEPTED, "status");
        expect(servers.killGameServer("demo", true, null, null, null).getSuccess(), "kill");
        ApiException refused = refusal(() -> servers.startGameServer("other", null, null));
        ErrorResponse error = Library.readError(refused.getResponseBody());
        expect(refused.getCode() == 403 && error.getError().equals("forbidden"), "error");
        ApiException missing = refusal(() -> new BlogApi(client).getBlogArticle("/blog/none/none"));
        expect(missing.getCode() == 404 && missing.getResponseBody().equals("article not found\n"), "text");
    }
}
